"""Cramer-Rao bound of a ring's centre: the least error of any unbiased estimate in one frame."""

import numpy as np

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cylinder import cross, perpendiculars
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.outline import Outline, mask_edges, outline_residual
from soft_arm_vision.ring.ray_cylinder import ring_depths
from soft_arm_vision.tolerances import TOLERANCES

STRIDE_PX = 2  # between the pixels used; closer ones are correlated
MIN_INCIDENCE = 0.1  # cosine; more grazing rays give flying pixels


def centre_bound_m(
    T_optical_ring: np.ndarray,
    mask: np.ndarray,
    depth_m: np.ndarray,
    ring: Ring,
    intrinsics: Intrinsics,
    sensor: DepthSensor,
) -> float:
    """Return the root of the trace of the centre block of the inverse Fisher information [m].

    It is infinite if one of the five unknowns is unobservable.

    Information I = J' C^-1 J of the depth plus 12 K' K of the outline. J: derivative of each
    pixel's depth with respect to the pose. C: s_i s_j times the correlation of the sensor's noise,
    plus the variance of its rounding on the diagonal, approximated as Gaussian. K: derivative of
    each edge point of the mask [px]; the exact mask locates it to the pixel grid, 1 / sqrt(12) px.
    Holes are excluded; flying pixels and errors of the mask are neglected, so that this bounds
    estimates from depth and mask. Grey levels at an edge, which the detector also uses, are not
    included.

    Args:
        T_optical_ring: True pose, z the axis, shape (4, 4).
        mask: True visible pixels, shape (h, w), bool.
        depth_m: Measured depth, 0 where it is missing, shape (h, w); it selects the pixels with
            depth and the edges at the arm.
        ring: The ring.
        intrinsics: Of both images.
        sensor: The camera.
    """
    centre, axis = T_optical_ring[:3, 3], T_optical_ring[:3, 2]
    axes = *perpendiculars(axis), axis
    grid = np.zeros_like(mask)
    grid[::STRIDE_PX, ::STRIDE_PX] = True
    v, u = np.nonzero(mask & grid & (depth_m > 0))
    pixels = np.column_stack([u, v]).astype(float)
    z, jacobian = wall_depths(intrinsics.rays(pixels), centre, axes, ring)
    seen = np.isfinite(z)
    pixels, z, jacobian = pixels[seen], z[seen], jacobian[seen]
    sigma_m = sensor.sigma_m(z)
    apart_px = np.sqrt(np.square(pixels[:, None] - pixels[None]).sum(axis=-1))
    noise = np.outer(sigma_m, sigma_m) * sensor.correlation(apart_px)
    noise += np.diag(np.square(sensor.rounding_m(z)))
    information = jacobian.T @ np.linalg.solve(noise, jacobian) if len(z) else np.zeros((5, 5))
    edges, step_m = mask_edges(mask, depth_m, ring.radius_m)
    outline = Outline(
        intrinsics.rays(edges),
        step_m < TOLERANCES.arm_gap * ring.radius_m,
        2 / (intrinsics.fx + intrinsics.fy),
    )
    edge = outline_residual(outline, centre, axis, ring.radius_m, ring.height_m, ring.thickness_m)
    turned, g = cross(edge.contact - centre, edge.gradient), edge.gradient
    by_pose = (
        np.column_stack([g @ axes[0], g @ axes[1], g @ axis, turned @ axes[1], -(turned @ axes[0])])
        / outline.pixel
    )
    information = information + 12 * by_pose.T @ by_pose
    if np.linalg.cond(information) > 1e14:  # e.g. the position along the axis, without an edge
        return float('inf')
    return float(np.sqrt(np.trace(np.linalg.inv(information)[:3, :3])))


def wall_depths(
    rays: np.ndarray, centre: np.ndarray, axes: tuple[np.ndarray, ...], ring: Ring
) -> tuple[np.ndarray, np.ndarray]:
    """Return depths of the intersections of rays with the wall, and their derivatives by the pose.

    Args:
        rays: Normalised coordinates (x/z, y/z), shape (n, 2).
        centre: Centre of the ring [m], shape (3,).
        axes: Three orthogonal unit vectors; the last one is the ring's axis.
        ring: The ring.

    Returns:
        Depths [m] (n,), NaN where a ray misses the wall or grazes it, and their derivatives
        (n, 5) by the centre along the three axes [1] and by the tilt of the axis towards the first
        two [m].
    """
    e1, e2, axis = axes
    z = ring_depths(rays, centre, axis, ring)
    rays = np.column_stack([rays, np.ones(len(rays))])
    with np.errstate(invalid='ignore', divide='ignore'):
        offset = rays * z[:, None] - centre
        height = offset @ axis
        normal = offset - np.outer(height, axis)
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        cosine = np.einsum('ni,ni->n', normal, rays)
        on_wall = np.abs(height) < (0.5 - 1e-9) * ring.height_m  # not on the flat end
        steep = np.abs(cosine) >= MIN_INCIDENCE * np.linalg.norm(rays, axis=1)
        n1, n2 = normal @ e1, normal @ e2
        jacobian = np.column_stack([n1, n2, 0.0 * n1, height * n1, height * n2]) / cosine[:, None]
    return np.where(on_wall & steep, z, np.nan), jacobian
