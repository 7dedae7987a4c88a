"""Estimate systematic errors of a camera from a ring of known size.

The width of the ring's wall in the image, its depth and the relief of the wall in depth must agree.
Over many poses, errors of the depth scale, the focal length and the lens model can be separated.
One least-squares problem has the pose of the ring in every frame and five unknowns common to all
frames. The poses are eliminated (Schur complement), and the covariance of the rest is the sandwich
estimator of Huber (1967), clustered by frames: errors within a frame may be correlated and need not
be Gaussian.
"""

from collections import deque
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.robot import Ring
from soft_arm_vision.calibration.camera_correction import CameraCorrection
from soft_arm_vision.clouds.cylinder import cross, normal_equations, perpendiculars, tukey
from soft_arm_vision.errors import VisionError
from soft_arm_vision.ring.outline import Outline, outline_residual
from soft_arm_vision.tolerances import TOLERANCES

DEPTH_SCALE, FOCAL_LENGTH, LENS, DEPTH_OFFSET, EDGE_OFFSET = range(5)
CAUSES = (DEPTH_SCALE, FOCAL_LENGTH, LENS)
# Prior standard deviations of the relative depth scale and focal length, and of k1.
PRIOR_SD = (0.05, 0.05, 0.2)
EDGE_OFFSET_SD_PX = 0.3  # common to all edges of a mask
MIN_VIEWS, MAX_VIEWS = 30, 600
STEPS, POSE_STEPS = 3, 4
MAX_STEP = 0.2  # of a pose [m, rad]; where less of the ring is seen the fit diverges
CUT_SIGMAS, MIN_INCIDENCE = 4.7, 0.3
REACH = 0.45  # of the ring's height, from its middle: beyond are its ends
EDGE_CUT_PX = 3.0
EDGES_PER_INDEPENDENT = 30
# Systematic error floor of each cause.
SYSTEMATIC_SD = (1e-3, 2e-3, 5e-3)
MAX_CHI_SQUARE = 9.0  # one degree of freedom, 3 standard deviations
SURELY_NAMED_SIGMAS = np.sqrt(MAX_CHI_SQUARE) + 2.0  # in 98 % of the cases
NAMED = (3e-3, 5e-3, 0.015)  # least error of each cause that is reported


@dataclass(frozen=True)
class RingView:
    """The ring in one frame.

    Attributes:
        points: Points of depth on its wall [m] in the optical frame, shape (n, 3).
        outline: Edge points of its mask.
        centre, axis: Centre [m] and unit axis that were found, shape (3,) each.
    """

    points: np.ndarray
    outline: Outline
    centre: np.ndarray
    axis: np.ndarray


@dataclass(frozen=True)
class CameraErrors:
    """Errors of the camera by all frames.

    Attributes:
        values: True depth over stated depth less 1, true focal length over stated one less 1,
            radial distortion missing in the lens model, offset of depth in addition to the sensor
            model's [m], and offset of the mask's edges [px], shape (5,).
        covariance: Their covariance, shape (5, 5).
        frames: Number of frames.
    """

    values: np.ndarray
    covariance: np.ndarray
    frames: int

    def explanations(self) -> list['Explanation']:
        """Return the simplest sets of errors that the views do not contradict, likeliest first."""
        for count in range(len(CAUSES) + 1):
            found = [self.explained_by(causes) for causes in combinations(CAUSES, count)]
            kept = [e for e in found if e.contradiction < MAX_CHI_SQUARE]
            if kept:
                return sorted(kept, key=lambda e: e.contradiction)
        raise AssertionError('all causes together leave nothing unexplained')

    @property
    def unseen(self) -> np.ndarray:
        """Largest error of each of CAUSES that, alone, may not be named, shape (3,)."""
        alone = [self.explained_by((cause,)).sd[cause] for cause in CAUSES]
        return SURELY_NAMED_SIGMAS * np.array(alone)

    def explained_by(self, causes: tuple[int, ...]) -> 'Explanation':
        """Return the likeliest errors if only some of CAUSES are wrong."""
        information = np.linalg.inv(self.covariance[:3, :3] + np.diag(np.square(SYSTEMATIC_SD)))
        wanted, values, sd = list(causes), np.zeros(3), np.zeros(3)
        if wanted:
            covariance = np.linalg.inv(information[np.ix_(wanted, wanted)])
            values[wanted] = covariance @ information[wanted] @ self.values[:3]
            sd[wanted] = np.sqrt(np.diag(covariance))
        left = self.values[:3] - values
        return Explanation(values, sd, float(left @ information @ left))


@dataclass(frozen=True)
class Explanation:
    """Errors of the camera that would explain what was seen.

    Attributes:
        values, sd: Of each of CAUSES, as in `CameraErrors`, 0 if it is right; shape (3,).
        contradiction: Chi-square of what stays unexplained.
    """

    values: np.ndarray
    sd: np.ndarray
    contradiction: float

    @property
    def correction(self) -> CameraCorrection:
        """Correction of these errors."""
        scale, focal, radial = (round(float(v), 6) for v in self.values)
        return CameraCorrection(depth_scale=1 + scale, focal_length_scale=1 + focal, radial=radial)

    def __str__(self) -> str:
        said = []
        scale, focal, radial = self.values
        if scale:
            word = 'far' if scale < 0 else 'near'
            said.append(
                f'depth is stated {100 * abs(1 / (1 + scale) - 1):.2f} % too {word} '
                f'(+-{100 * self.sd[DEPTH_SCALE]:.2f})'
            )
        if focal:
            word = 'long' if focal < 0 else 'short'
            said.append(
                f'the focal length is stated {100 * abs(1 / (1 + focal) - 1):.2f} % too {word} '
                f'(+-{100 * self.sd[FOCAL_LENGTH]:.2f})'
            )
        if radial:
            said.append(
                f'the lens model lacks a radial distortion of {radial:+.3f} (+-{self.sd[LENS]:.3f})'
            )
        return ' and '.join(said) or 'depth scale, focal length and lens agree with the ring'


def trouble(errors: CameraErrors) -> str | None:
    """Return what is wrong with the camera in one line; None if nothing of any size is."""
    likeliest, *others = errors.explanations()
    if not (np.abs(likeliest.values) > NAMED).any():
        return None
    either = ', or '.join(str(e) for e in (likeliest, *others))
    more = ' (move the ring everywhere, or measure one of them otherwise)' if others else ''
    return f'{either}{more}: see `softarm calibrate camera-check`'


class CameraCheck:
    """Collect views of the ring and estimate the systematic errors of the camera.

    A view costs some milliseconds; what it says is kept as normal equations about assumed errors,
    from which errors that differ by a percent follow in one step, to a sixth of that.

    Args:
        ring: Size of the ring.
        sensor: Random errors of the camera.
        about: Assumed values of `CameraErrors`, shape (5,); None: a camera without errors.
    """

    def __init__(self, ring: Ring, sensor: DepthSensor, about: np.ndarray | None = None):
        self._ring, self._sensor = ring, sensor
        self._mean = np.zeros(5)
        self._about = self._mean if about is None else about
        self._known = np.array([*PRIOR_SD, max(sensor.bias_sd_m, 1e-5), EDGE_OFFSET_SD_PX]) ** -2.0
        self._views: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MAX_VIEWS)

    @property
    def views(self) -> int:
        """Number of views that are kept."""
        return len(self._views)

    def add(self, view: RingView) -> None:
        """Add the ring in one frame; a view in which too little of it is seen is left out."""
        # Where the assumed errors put the ring; from elsewhere its points would have no weight.
        stated_m = view.centre[2]
        (ray,), _ = _true_rays(view.centre[None, :2] / stated_m, self._about)
        depth_m = (1 + self._about[DEPTH_SCALE]) * stated_m
        view = replace(view, centre=depth_m * np.append(ray, 1.0))
        for _ in range(POSE_STEPS):
            matrix, gradient, axes = _normal_equations(view, self._about, self._ring, self._sensor)
            if not np.trace(matrix[:5, :5]) > 0:
                return
            inner = np.linalg.inv(matrix[:5, :5])
            step = inner @ gradient[:5]
            if not np.abs(step).max() < MAX_STEP:
                return
            view = _moved(view, step, axes)
        mixed = matrix[5:, :5] @ inner
        # Depth that reaches past edges bends the relief of a wall by an unknown amount.
        fattening_m = self._sensor.fattening_px / self._sensor.focal_length_px * view.centre[2]
        self._views.append(
            (
                matrix[5:, 5:] - mixed @ matrix[:5, 5:],
                gradient[5:] - mixed @ gradient[:5],
                fattening_m / self._ring.radius_m,
            )
        )

    def errors(self) -> CameraErrors:
        """Return the errors of the camera.

        Raises:
            VisionError: If there are too few views.
        """
        if len(self._views) < MIN_VIEWS:
            raise VisionError(
                f'the ring was seen in {len(self._views)} poses, {MIN_VIEWS} are needed: keep it '
                'in view and move it'
            )
        matrices, scores, relief = (np.array(part) for part in zip(*self._views, strict=True))
        covariance = np.linalg.inv(matrices.sum(axis=0) + np.diag(self._known))
        step = covariance @ (scores.sum(axis=0) + self._known * (self._mean - self._about))
        left = scores - matrices @ step
        spread = left.T @ left + np.diag(self._known)
        covariance = covariance @ spread @ covariance
        # An error of the relief acts as correlated errors of depth scale and focal length.
        covariance[:LENS, :LENS] += np.square(relief.mean())
        return CameraErrors(self._about + step, covariance, len(scores))


def camera_errors(views: list[RingView], ring: Ring, sensor: DepthSensor) -> CameraErrors:
    """Estimate the errors of a camera from all views, in several steps; see `CameraCheck`.

    Raises:
        VisionError: If there are too few views.
    """
    about: np.ndarray | None = None
    for _ in range(STEPS):
        check = CameraCheck(ring, sensor, about)
        for view in views:
            check.add(view)
        errors = check.errors()
        about = errors.values
    return errors


def _normal_equations(
    view: RingView, values: np.ndarray, ring: Ring, sensor: DepthSensor
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return matrix (10, 10) and gradient (10,) of one frame, and the axes of its pose's steps.

    The unknowns are three shifts and two tilts of the ring, and the five shared ones.
    """
    axes = (*perpendiculars(view.axis), view.axis)
    e1, e2, axis = axes
    rays, radius2 = _true_rays(view.points[:, :2] / view.points[:, 2:], values)
    stated_m = view.points[:, 2]
    directions = np.column_stack([rays, np.ones(len(rays))])
    depth_m = (1 + values[DEPTH_SCALE]) * stated_m - sensor.bias_m - values[DEPTH_OFFSET]
    points = directions * depth_m[:, None]
    spread = sensor.sigma_m(stated_m) * np.linalg.norm(directions, axis=1)
    wall, residual_m, weight, noise_m, *_ = normal_equations(
        points, np.asarray(view.centre, float), e1, e2, axis, ring.radius_m, ring.thickness_m,
        np.zeros(3), spread, CUT_SIGMAS, MIN_INCIDENCE, REACH * ring.height_m,
    )  # fmt: skip
    # Derivatives at the model's depths: those at measured ones would correlate with the residuals.
    along = wall[:, 0] * (directions @ e1) + wall[:, 1] * (directions @ e2)
    depth_m = depth_m - residual_m / np.where(np.abs(along) > MIN_INCIDENCE, along, np.inf)
    sideways = np.column_stack([rays, np.zeros(len(rays))]) * depth_m[:, None]
    moved = (directions * depth_m[:, None], -sideways, radius2[:, None] * sideways, -directions)
    rows = np.zeros((len(points), 10))
    rows[:, [0, 1, 3, 4]] = wall[:, :4]
    for k, by in enumerate(moved):
        rows[:, 5 + k] = -(wall[:, 0] * (by @ e1) + wall[:, 1] * (by @ e2))
    sure = weight / np.square(noise_m) / max(sensor.independent_px2 / TOLERANCES.cell_px**2, 1.0)
    matrix, gradient = (rows.T * sure) @ rows, (rows.T * sure) @ residual_m

    pixel = view.outline.pixel
    seen, radius2 = _true_rays(view.outline.rays, values)
    edge = outline_residual(
        replace(view.outline, rays=np.ascontiguousarray(seen)),
        view.centre,
        axis,
        ring.radius_m,
        ring.height_m,
        ring.thickness_m,
    )
    # The sides of the wall: next to the rims the shades of the ring's faces move an edge.
    axial_m = (edge.contact - view.centre) @ axis
    used = ~view.outline.arm_adjacent & (np.abs(axial_m) < REACH * ring.height_m)
    used &= np.isfinite(edge.distance)
    g, contact, radius2 = edge.gradient[used], edge.contact[used], radius2[used]
    turned, normal = cross(contact - view.centre, g), g[:, :2] * contact[:, 2:]
    outward = np.einsum('ni,ni->n', normal, contact[:, :2] / contact[:, 2:])
    rows = np.zeros((len(g), 10))
    rows[:, :5] = np.column_stack([g @ e1, g @ e2, g @ axis, turned @ e2, -(turned @ e1)])
    rows[:, 5 + FOCAL_LENGTH], rows[:, 5 + LENS] = outward, -outward * radius2
    rows /= pixel
    rows[:, 5 + EDGE_OFFSET] = 1.0
    residual_px = edge.distance[used] / pixel - values[EDGE_OFFSET]
    sure = tukey(residual_px, EDGE_CUT_PX) / sensor.edge_sd_px**2 / EDGES_PER_INDEPENDENT
    matrix += (rows.T * sure) @ rows
    matrix[:5, :5] += 1e-9 * np.trace(matrix[:5, :5]) * np.eye(5)
    return matrix, gradient + (rows.T * sure) @ residual_px, axes


def _true_rays(rays: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rays (n, 2) of a camera with these errors, and their squared radii (n,)."""
    radius2 = np.square(rays).sum(axis=1)
    return rays * ((1 + values[LENS] * radius2) / (1 + values[FOCAL_LENGTH]))[:, None], radius2


def _moved(view: RingView, step: np.ndarray, axes: tuple[np.ndarray, ...]) -> RingView:
    """Return the view with its pose after a step of three shifts [m] and two tilts."""
    axis = view.axis + step[3:] @ np.array(axes[:2])
    return replace(
        view,
        centre=view.centre + step[:3] @ np.array(axes),
        axis=axis / np.linalg.norm(axis),
    )
