"""Detect the painted lines of a finger: the reference and one line at the end of each piece.

A line is two points (u, v) of the distorted image; they lie on the middle of the stripe near its
two ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.segmentation.colour_mask import colour_mask

CUT_LENGTH = (0.7, 1.4)  # of the finger's width: how long a cut line may look
REFERENCE_LENGTH = (0.7, 4.0)
WIDEST = 3.0  # of the painted width
# Distance between the middles of two lines, over the piece's length: a chord is shorter than
# its arc.
STEP = (0.75, 1.15)
MIN_AREA_PX = 12
TRIMMED_SHARE = (
    0.12  # of a line's length at each end: corners are rounded and mixed with the background
)
BESIDE_PX = 3
OUTLIER_PX = 0.75  # a middle may be wrong by half a pixel where a line is nearly level
MIN_PAINT = 0.06  # share of paint in a pixel below which it is noise


class LinesNotFound(VisionError):
    """The lines of the finger are not found in an image; the message says which are missing."""


@dataclass(frozen=True)
class _Stripe:
    """A stripe of paint [px], its depth [m], and its mask in a window of the image."""

    middle: np.ndarray
    direction: np.ndarray
    length_px: float
    width_px: float
    depth_m: float
    mask: np.ndarray
    corner: tuple[int, int]


def find_lines(
    colour: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics, robot: Robot
) -> np.ndarray:
    """Return the ends of the reference line and of every cut line, base to tip.

    Args:
        colour: RGB, shape (h, w, 3), uint8.
        depth_m: Aligned depth [m], 0 where there is none, shape (h, w).
        intrinsics: Intrinsics of both.
        robot: Robot file of the finger, with its colours and sizes.

    Returns:
        Pixels (1 + n_segments, 2, 2).

    Raises:
        LinesNotFound: If a line is hidden, or what is seen does not fit the finger's lengths.
    """
    paint, width_m = robot.cut_lines, 2 * robot.segments[0].body_radius_m
    if paint is None:
        raise LinesNotFound(f'robot {robot.name} has no cut_lines: add them to its file')
    focal = intrinsics.fx
    references = _stripes(
        colour, depth_m, paint.reference_colour_rgb, focal, width_m, REFERENCE_LENGTH, paint.width_m
    )
    if not references:
        raise LinesNotFound(
            'the reference line is not in view: clear the view, or give the lines by clicks'
        )
    cuts = _stripes(colour, depth_m, paint.colour_rgb, focal, width_m, CUT_LENGTH, paint.width_m)
    steps_m = np.array([s.length_m for s in robot.segments])  # type: ignore[union-attr]
    steps_m[0] += paint.reference_offset_m
    chains = [
        (error, [reference, *chain])
        for reference in references
        for error, chain in _chains(reference, cuts, steps_m, focal)
    ]
    if not chains:
        raise LinesNotFound(
            f"{len(cuts)} stripes of the cut lines' colour are no chain of {len(steps_m)} "
            'lines from the reference to the tip: '
            'clear the view, or give the lines by clicks'
        )
    chosen = min(chains, key=lambda found: found[0])[1]
    return np.stack([_ends(colour, stripe, intrinsics) for stripe in chosen])


def _stripes(
    colour: np.ndarray,
    depth_m: np.ndarray,
    paint_rgb: tuple[float, float, float],
    focal: float,
    finger_m: float,
    lengths: tuple[float, float],
    line_m: float,
) -> list[_Stripe]:
    """Return the stripes of a colour that have the size of a line on the finger at their depth."""
    mask = cv2.morphologyEx(
        colour_mask(colour, paint_rgb), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)
    )
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    found = []
    for label in range(1, count):
        x, y, w, h, area = stats[label]
        if area < MIN_AREA_PX:
            continue
        own = labels[y : y + h, x : x + w] == label
        depths = depth_m[y : y + h, x : x + w][own]
        depths = depths[depths > 0]
        if not depths.size:
            continue
        at_m = float(np.median(depths))
        v, u = np.nonzero(own)
        points = np.column_stack([u + x, v + y]).astype(float)
        middle = points.mean(axis=0)
        spread, directions = np.linalg.eigh(np.cov((points - middle).T) + 1e-9 * np.eye(2))
        width_px, length_px = np.sqrt(12 * spread)  # of a filled rectangle
        fits = (
            lengths[0] <= length_px * at_m / focal / finger_m <= lengths[1]
            and width_px * at_m / focal <= WIDEST * line_m
        )
        if fits and length_px > 3 * width_px:
            found.append(
                _Stripe(middle, directions[:, 1], length_px, width_px, at_m, own, (int(x), int(y)))
            )
    return found


def _chains(
    start: _Stripe, cuts: list[_Stripe], steps_m: np.ndarray, focal: float
) -> Iterator[tuple[float, list[_Stripe]]]:
    """Yield all chains of lines with the finger's lengths, as (sum of relative errors, stripes)."""
    if not len(steps_m):
        yield 0.0, []
        return
    for stripe in cuts:
        share = np.linalg.norm(stripe.middle - start.middle) * stripe.depth_m / focal / steps_m[0]
        if STEP[0] <= share <= STEP[1]:
            others = [other for other in cuts if other is not stripe]
            for error, rest in _chains(stripe, others, steps_m[1:], focal):
                yield error + abs(share - 1.0), [stripe, *rest]


def _ends(colour: np.ndarray, stripe: _Stripe, intrinsics: Intrinsics) -> np.ndarray:
    """Return the ends (2, 2) of a stripe's centre line to a tenth of a pixel.

    A straight line is fitted to its centre points without distortion.
    """
    margin = BESIDE_PX + 2
    (x, y), (h, w) = stripe.corner, stripe.mask.shape
    rows = slice(max(0, y - margin), min(colour.shape[0], y + h + margin))
    columns = slice(max(0, x - margin), min(colour.shape[1], x + w + margin))
    picture = colour[rows, columns].astype(float)
    v, u = np.mgrid[rows, columns].reshape(2, -1)
    offset = np.column_stack([u, v]) - stripe.middle
    along, across = offset @ stripe.direction, offset @ [-stripe.direction[1], stripe.direction[0]]
    inside = np.abs(along) < (0.5 - TRIMMED_SHARE) * stripe.length_px
    core = inside & (np.abs(across) < 0.25 * stripe.width_px + 0.5)
    near = inside & (np.abs(across) < 0.5 * stripe.width_px + BESIDE_PX)
    share = np.zeros(len(u))
    pixels = picture.reshape(-1, 3)
    paint = np.median(pixels[core], axis=0)
    for side in (across > 0, across <= 0):  # the body on one side, perhaps the room on the other
        ground = near & side & (np.abs(across) > 0.5 * stripe.width_px + 1.5)
        difference = paint - (np.median(pixels[ground], axis=0) if ground.any() else 0.0)
        chroma = difference - difference.mean()  # light and shade on the body are no paint
        here = near & side
        share[here] = 1.0 - (paint - pixels[here]) @ chroma / (difference @ chroma)
    weight = np.where(near & (share > MIN_PAINT), np.clip(share, 0.0, 1.0), 0.0)
    place = np.floor(along - along[near].min()).astype(int)
    place = np.where(near, place, 0)
    total = np.bincount(place, weight)
    full = total > 0.5
    middles = np.column_stack(
        [np.bincount(place, weight * values)[full] / total[full] for values in (u, v)]
    )
    if len(middles) < 4:
        raise LinesNotFound(
            f'a line of {stripe.length_px:.0f} px is too short to be measured: bring the '
            'camera nearer'
        )
    return intrinsics.pixels(_straight(intrinsics.rays(middles), OUTLIER_PX / intrinsics.fx))


def _straight(points: np.ndarray, outlier: float) -> np.ndarray:
    """Return the ends (2, 2) of the straight line through most of the points (n, 2).

    Points farther from it than `outlier` do not count.

    The paint may turn round the finger's edge, where it is another line.
    """
    first, second = np.triu_indices(len(points), len(points) // 3)
    through = points[second] - points[first]
    through /= np.linalg.norm(through, axis=1, keepdims=True)
    normals = np.column_stack([-through[:, 1], through[:, 0]])
    # Shape (points, lines).
    distance = np.abs(points @ normals.T - np.einsum('ni,ni->n', points[first], normals))
    best = np.argmin(np.minimum(distance, outlier).sum(axis=0))
    kept = distance[:, best] <= outlier
    centre = points[kept].mean(axis=0)
    direction = np.linalg.svd(points[kept] - centre, full_matrices=False)[2][0]
    along = (points - centre) @ direction
    return centre + np.array([along.min(), along.max()])[:, None] * direction
