"""Verify a pose: compare every measured depth around it with the ring that should be there."""

from dataclasses import dataclass

import numpy as np

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.robot import Ring
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.ray_cylinder import certain_ring_depths, ring_depths
from soft_arm_vision.tolerances import TOLERANCES


@dataclass(frozen=True)
class Evidence:
    """Depth evidence for a ring pose; occluded rays are ignored.

    Attributes:
        free_space_violation: Share of the rays to the ring that pass through it.
        visible_fraction: Share of the rays to a whole ring that end on it; rays that miss the
            image count as rays to the ring.
        beyond: Share of the visible wall past the ring's ends: a longer cylinder.
    """

    free_space_violation: float
    visible_fraction: float
    beyond: float

    @property
    def shown(self) -> float:
        """Share of what depth would show of a ring that is there."""
        seen = min(1.0, self.visible_fraction / TOLERANCES.whole_share)
        return seen * (1 - self.free_space_violation) * (1 - self.beyond)

    def score(self, edge_share: float, cut_share: float) -> float:
        """Return the verification score: the share of what a ring would show that is there.

        Args:
            edge_share: Share of the mask's edge points that lie on the ring's contour.
            cut_share: See `Outline`. It is a half for a piece of a long or wide object.
        """
        return self.shown * edge_share * max(0.0, 1 - 2 * cut_share)


def window_of(centre: np.ndarray, reach_m: float, intrinsics: Intrinsics) -> tuple[slice, slice]:
    """Return the rows and columns that a sphere about a point may reach, even off the image."""
    around = np.array([(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)]) * reach_m / centre[2]
    pixels = intrinsics.pixels(centre[:2] / centre[2] + around)
    (left, top), (right, bottom) = pixels.min(axis=0).astype(int), pixels.max(axis=0).astype(int)
    return slice(int(top), int(bottom) + 2), slice(int(left), int(right) + 2)


def clipped(window: tuple[slice, slice], shape: tuple[int, ...]) -> tuple[slice, slice]:
    """Return the part of a window that lies inside an image of this shape."""
    rows, columns = (
        slice(*(int(edge) for edge in np.clip((s.start, s.stop), 0, size)))
        for s, size in zip(window, shape, strict=False)
    )
    return rows, columns


def evidence_of(
    centre: np.ndarray,
    axis: np.ndarray,
    depth_m: np.ndarray,
    intrinsics: Intrinsics,
    ring: Ring,
    sensor: DepthSensor,
) -> Evidence:
    """Return the evidence for a ring in a pose.

    Args:
        centre, axis: Centre [m] and unit axis, shape (3,) each.
        depth_m: Depth of the whole image [m], 0 where there is none, shape (h, w).
        intrinsics: Intrinsics of the image.
        ring: Size of the ring.
        sensor: Errors of the camera.
    """
    longer, taller = (
        ring.model_copy(update={'height_m': share * ring.height_m})
        for share in (2 * TOLERANCES.beyond, TOLERANCES.beyond)
    )
    rows, columns = window_of(centre, np.hypot(ring.radius_m, longer.height_m / 2), intrinsics)
    v, u = (
        grid.ravel()
        for grid in np.meshgrid(
            np.arange(rows.start, rows.stop, TOLERANCES.cell_px),
            np.arange(columns.start, columns.stop, TOLERANCES.cell_px),
            indexing='ij',
        )
    )
    inside = (v >= 0) & (v < depth_m.shape[0]) & (u >= 0) & (u < depth_m.shape[1])
    rays = intrinsics.rays(np.column_stack([u, v]))
    expected = certain_ring_depths(rays, centre, axis, ring)
    hit = np.isfinite(expected)
    measured = np.zeros(len(u), np.float32)  # 0 is not known
    measured[inside] = depth_m[v[inside], u[inside]]
    known = measured > 0
    tolerance_m = 2 * agreement_m(centre[2], sensor)
    on_ring = hit & known & (np.abs(measured - np.where(hit, expected, 0)) < tolerance_m)
    through = hit & (measured > expected + tolerance_m)
    further = certain_ring_depths(rays, centre, axis, longer)
    off_m = np.abs(measured - np.where(np.isfinite(further), further, np.inf))
    past = known & np.isinf(ring_depths(rays, centre, axis, taller)) & (off_m < tolerance_m / 2)
    reached = int(on_ring.sum())
    if not reached:
        return Evidence(1.0, 0.0, 1.0)
    return Evidence(
        int(through.sum()) / (int(through.sum()) + reached),
        reached / int(hit.sum()),
        int(past.sum()) / (reached + int(past.sum())),
    )


def agreement_m(depth_m: float, sensor: DepthSensor) -> float:
    """Return the difference [m] within which a measured depth agrees with a surface there."""
    return TOLERANCES.outlier_sigmas * float(
        np.hypot(sensor.sigma_m(depth_m), sensor.rounding_m(depth_m))
    )
