"""Measure a depth camera on frames of a flat board of known size at several distances.

The position of the board follows from its size in the colour image (`board.find_board`), its tilt
from depth. Deviations of the depth from this plane are the camera's errors: noise is the scatter
within a frame, offset and scale are the differences between frames. Depth next to the board's edges
gives the edge width and the fattening, the colour there the gamma of the pixels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_vision.calibration.board import Board, find_board
from soft_arm_vision.calibration.pixel_response import pixel_gamma
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics

MIN_VIEWS = 8
MIN_SPREAD = 1.5  # farthest over nearest board
MARGIN_PX = 12.0  # from an edge, where depth is not mixed
MIN_PIXELS = 2000  # of such depth in one frame
ROUNDS = 3
CUT_SIGMAS = 5.0  # larger deviations are holes or objects in front of the board
EDGE_BIN_PX = 0.5
MIN_SIGNIFICANCE = 3.0  # of a constant offset, in standard deviations
WHOLE = 0.95  # density of depth, relative to that far from an edge, of complete depth
COARSE = 1.5  # ratio of mean to least step above which the disparity is quantised
MIN_BEHIND_M = 0.05  # distance of the background behind an edge
UNCORRELATED = 0.03
MAX_LAG_PX = 40
MIN_NOISE_M_PER_M2 = 1e-5
MAX_SCALE_ERROR = 0.19  # of depth; `DepthSensor` allows a quarter


@dataclass(frozen=True)
class BoardView:
    """Measurements of the board in one frame.

    Attributes:
        depth_m: True depth of the middle of the board's depth.
        offset_m: Mean of measured less true depth there.
        variance_m2: Of the noise about a plane.
        related_px2: Sum of the correlations of a pixel's noise with the noise of all others.
        step_m, least_step_m: Between the depths that occur, mean and least.
        edge_sd_px: See `Board`.
        edge_width_px, fattening_px: See `DepthSensor`; NaN where nothing is behind the edges.
        pixel_gamma: See `DepthSensor`; NaN if the edges do not determine it.
    """

    depth_m: float
    offset_m: float
    variance_m2: float
    related_px2: float
    step_m: float
    least_step_m: float
    edge_sd_px: float
    edge_width_px: float
    fattening_px: float
    pixel_gamma: float


def view_board(
    colour: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics, size_m: tuple[float, float]
) -> BoardView | None:
    """Measure one frame; return None where the board or its depth is not in view.

    Args:
        colour: RGB, shape (h, w, 3), uint8.
        depth_m: Aligned depth, 0 where there is none, shape (h, w).
        intrinsics: Of both images.
        size_m: Longer and shorter side of the board.

    Raises:
        VisionError: If the edges of the board are not straight.
    """
    board = find_board(colour, intrinsics, size_m)
    if board is None:
        return None
    rays = intrinsics.ray_grid().astype(float)
    inside_px, next_px = np.sort(board.inside(rays) * intrinsics.fx, axis=0)[:2]
    gamma = pixel_gamma(colour.mean(axis=2), np.where(next_px > MARGIN_PX, inside_px, np.nan))
    if gamma > 1:  # in light an edge is where it is, in pixels farther towards the dark side
        light = np.rint(255 * np.linspace(0, 1, 256) ** gamma).astype(np.uint8)[colour]
        board = find_board(light, intrinsics, size_m) or board
        inside_px = board.inside(rays).min(axis=0) * intrinsics.fx
    within = (inside_px > MARGIN_PX) & (depth_m > 0)
    if within.sum() < MIN_PIXELS:
        return None
    board = board.with_normal(_normal(rays[within], depth_m[within]), size_m)
    true_m = board.depth_m(rays)
    error_m = depth_m - true_m
    v, u = np.nonzero(within)
    error, kept = error_m[within], np.ones(len(u), bool)
    for _ in range(ROUNDS):
        offset_m = float(error[kept].mean())
        rest = error - offset_m
        kept = np.abs(rest) < CUT_SIGMAS * max(1.4826 * float(np.median(np.abs(rest))), 1e-5)
    middle_m = float(true_m[within][kept].mean())
    step_m, least_step_m = _steps(depth_m[within][kept])
    rounding_m2 = step_m**2 / 12
    picture = np.zeros(depth_m.shape)
    picture[v[kept], u[kept]] = rest[kept]
    used = np.zeros(depth_m.shape)
    used[v[kept], u[kept]] = 1.0
    variance_m2, related_px2 = _noise(picture, used, rounding_m2)
    tolerance_m = CUT_SIGMAS * np.sqrt(variance_m2 + rounding_m2)
    on_board = np.abs(error_m - offset_m) < tolerance_m
    width_px, fattening_px = _edges(board, inside_px, on_board & (depth_m > 0), depth_m, true_m)
    return BoardView(
        middle_m,
        offset_m,
        variance_m2,
        related_px2,
        step_m,
        least_step_m,
        board.edge_sd_px,
        width_px,
        fattening_px,
        gamma,
    )


def fit_sensor(
    views: Sequence[BoardView],
    focal_length_px: float,
    range_m: tuple[float, float],
    size_m: tuple[float, float],
    board_sd_m: float,
) -> tuple[DepthSensor, float]:
    """Fit the model of a depth camera to views of the board.

    Args:
        views: The views.
        focal_length_px: Of the images.
        range_m: Depths that the camera can report.
        size_m, board_sd_m: Longer and shorter side of the board, and their standard deviation.

    Returns:
        The model, and the standard deviation of what is left of the views' offsets relative to
        their depth.

    Raises:
        VisionError: If the views are too few or at too similar distances, or depth is off by more
            than a fifth.
    """
    if len(views) < MIN_VIEWS:
        raise VisionError(
            f'the board was found in {len(views)} frames, at least {MIN_VIEWS} are needed: show it '
            'whole, lighter or darker than what is behind it'
        )
    z = np.array([view.depth_m for view in views])
    offset = np.array([view.offset_m for view in views])
    variance = np.array([view.variance_m2 for view in views])
    if z.max() < MIN_SPREAD * z.min():
        raise VisionError(
            f'the board was seen from {z.min():.2f} to {z.max():.2f} m: show it from one distance '
            f'to at least {MIN_SPREAD} times that'
        )
    bias_m, scale, bias_sd_m, left = _offsets(z, offset)
    if abs(scale) > MAX_SCALE_ERROR:
        raise VisionError(
            f'depth is {100 * scale:+.0f} % off, at most {100 * MAX_SCALE_ERROR:.0f} % can be '
            'corrected: check the size of the board and the unit of the depth'
        )
    # Relative errors: the variance spans decades.
    (floor_m2, growth), _ = nnls(np.column_stack([1 / variance, z**4 / variance]), np.ones(len(z)))
    quantum_m, disparity = _quanta(views)
    related_px2 = float(np.median([v.related_px2 for v in views]))
    edges = np.array([(v.edge_width_px, v.fattening_px) for v in views])
    seen = edges[np.isfinite(edges).all(axis=1)]
    if not len(seen):
        raise VisionError(
            f'nothing is seen behind the edges of the board: hold it at least {MIN_BEHIND_M} m '
            'before the background'
        )
    width_px, fattening_px = np.median(seen, axis=0)
    gammas = [v.pixel_gamma for v in views if np.isfinite(v.pixel_gamma)]
    sensor = DepthSensor(
        focal_length_px=_rounded(focal_length_px),
        range_m=range_m,
        depth_scale=round(1 / (1 + scale), 6),
        noise_m_per_m2=_rounded(max(float(np.sqrt(growth)), MIN_NOISE_M_PER_M2)),
        noise_floor_m=_rounded(np.sqrt(floor_m2)),
        correlation_px=_rounded(np.sqrt(related_px2 / (4 * np.pi))),
        quantum_m=_rounded(quantum_m),
        disparity_quantum_m_per_m2=_rounded(disparity),
        bias_m=_rounded(bias_m),
        bias_sd_m=_rounded(bias_sd_m),
        scale_sd=_rounded(np.hypot(left, board_sd_m / size_m[1])),
        edge_width_px=_rounded(width_px),
        fattening_px=_rounded(fattening_px),
        edge_sd_px=_rounded(np.sqrt(np.mean(np.square([v.edge_sd_px for v in views])))),
        pixel_gamma=_rounded(np.median(gammas)) if 2 * len(gammas) > len(views) else 1.0,
    )
    return sensor, left


def _normal(rays: np.ndarray, depth_m: np.ndarray) -> np.ndarray:
    """Return the unit normal of the plane through most depths (n,) along rays (n, 2).

    The inverse depth of a plane is linear in the ray, and its noise hardly changes with depth. An
    error of scale does not turn the plane. Colour determines the tilt of a small board less well.
    """
    columns, inverse = np.column_stack([rays, np.ones(len(rays))]), 1 / depth_m
    kept = np.ones(len(rays), bool)
    for _ in range(ROUNDS):
        plane = np.linalg.lstsq(columns[kept], inverse[kept], rcond=None)[0]
        off = np.abs(inverse - columns @ plane)
        kept = off < CUT_SIGMAS * max(1.4826 * float(np.median(off)), 1e-5)
    return plane / np.linalg.norm(plane)


def _offsets(z: np.ndarray, offset: np.ndarray) -> tuple[float, float, float, float]:
    """Explain the offsets of views by a constant and a scale.

    Errors of the board's pose and of the camera grow with the distance: the fit is of the relative
    offset. A constant that the views do not show is left out, since it would only trade with the
    scale.

    Args:
        z, offset: Of each view, depth and offset [m], (n,).

    Returns:
        Constant [m] and scale; the standard deviation of the offset that they explain in the middle
        of the views [m]; and a robust one of the relative offsets that they leave.
    """
    relative = offset / z
    for columns in (np.column_stack([1 / z, np.ones(len(z))]), np.ones((len(z), 1))):
        solution, *_ = np.linalg.lstsq(columns, relative, rcond=None)
        left = relative - columns @ solution
        variance = max(float(left @ left) / (len(z) - columns.shape[1]), 1e-12)
        covariance = variance * np.linalg.inv(columns.T @ columns)
        if abs(solution[0]) > MIN_SIGNIFICANCE * np.sqrt(covariance[0, 0]):
            break
    middle = columns.mean(axis=0)
    explained_sd_m = float(z.mean() * np.sqrt(middle @ covariance @ middle))
    constant_m = float(solution[0]) if len(solution) == 2 else 0.0
    usual = 1.4826 * float(np.median(np.abs(left)))
    return constant_m, float(solution[-1]), explained_sd_m, usual


def _steps(depth_m: np.ndarray) -> tuple[float, float]:
    """Return the mean and the least step between the depths that occur [m]."""
    depth_m = depth_m.astype(float)
    low, high = np.percentile(depth_m, (2.0, 98.0))
    steps = np.diff(np.unique(np.round(depth_m[(depth_m >= low) & (depth_m <= high)], 6)))
    return (float(steps.mean()), float(steps.min())) if len(steps) else (0.0, 0.0)


def _quanta(views: Sequence[BoardView]) -> tuple[float, float]:
    """Return the quantum of the depth image [m] and of the disparity over depth squared."""
    finest_m = min(view.least_step_m for view in views)
    ordered = sorted(views, key=lambda view: view.depth_m)
    far = ordered[-max(len(views) // 3, 1) :]
    if np.median([view.step_m for view in far]) < COARSE * finest_m:
        return finest_m, 0.0
    disparity = float(np.median([view.step_m / view.depth_m**2 for view in far]))
    # Where depth itself is not rounded, the least step is one of disparity as well.
    rounded = finest_m * COARSE < disparity * ordered[0].depth_m ** 2
    return finest_m if rounded else 0.0, disparity


def _noise(picture: np.ndarray, used: np.ndarray, rounding_m2: float) -> tuple[float, float]:
    """Return the variance of the correlated noise, and the sum of a pixel's correlations [px^2].

    Args:
        picture: Noise [m], 0 where it is unknown, shape (h, w).
        used: 1 where it is known, else 0, shape (h, w).
        rounding_m2: Variance of the part that is independent from pixel to pixel.
    """
    rows, columns = np.flatnonzero(used.any(axis=1)), np.flatnonzero(used.any(axis=0))
    window = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    shape = [n + MAX_LAG_PX for n in used[window].shape]
    sums, pairs = (
        np.fft.irfft2(np.abs(np.fft.rfft2(p[window], shape)) ** 2, shape) for p in (picture, used)
    )
    lag = np.arange(-MAX_LAG_PX + 1, MAX_LAG_PX)
    block = np.ix_(lag, lag)
    covariance = sums[block] / np.maximum(pairs[block], 1.0)
    apart_px = np.hypot(lag[:, None], lag)
    centre = MAX_LAG_PX - 1
    variance_m2 = max(float(covariance[centre, centre]) - rounding_m2, 1e-12)
    covariance[centre, centre] = variance_m2
    ring = np.rint(apart_px).astype(int)
    profile = np.bincount(ring.ravel(), covariance.ravel()) / np.bincount(ring.ravel())
    low = np.flatnonzero(profile[:MAX_LAG_PX] < UNCORRELATED * variance_m2)
    reach = low[0] if len(low) else MAX_LAG_PX
    return variance_m2, float(max(covariance[ring < reach].sum() / variance_m2, 1.0))


def _edges(
    board: Board,
    inside_px: np.ndarray,
    on_board: np.ndarray,
    depth_m: np.ndarray,
    true_m: np.ndarray,
) -> tuple[float, float]:
    """Return how wide the border is in which depth is not the board's, and how far that reaches."""
    near = np.abs(inside_px) < MARGIN_PX
    behind = near & (inside_px < -0.5 * MARGIN_PX) & (depth_m > 0)
    if behind.sum() < 100 or np.median(depth_m[behind] - true_m[behind]) < MIN_BEHIND_M:
        return np.nan, np.nan
    bins = np.floor((inside_px[near] + MARGIN_PX) / EDGE_BIN_PX).astype(int)
    count = np.bincount(bins)
    share = np.bincount(bins, on_board[near]) / np.maximum(count, 1)
    outside = int(MARGIN_PX / EDGE_BIN_PX)
    whole = share[-4:].mean()
    not_whole = np.flatnonzero(share[outside:] < WHOLE * whole)
    width_px = EDGE_BIN_PX * (not_whole[-1] + 1) if len(not_whole) else 0.0
    by_chance = share[:4].mean()
    fattening_px = EDGE_BIN_PX * np.maximum(share[:outside] - by_chance, 0.0).sum() / whole
    return float(width_px), float(fattening_px)


def _rounded(value: float) -> float:
    return float(f'{value:.4g}')
