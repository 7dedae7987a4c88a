"""Synthetic RGB-D frames of a ring with the D435i noise model that the bars are stated for."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_dilation, binary_erosion, gaussian_filter

from soft_arm_description.robot import load_robot
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.ray_cylinder import ring_depths

INTRINSICS = Intrinsics(640, 480, 607.3, 607.3, 320.0, 240.0)
RING_RGB, ARM_RGB, WALL_RGB = (255, 115, 13), (70, 75, 80), (170, 175, 165)


@dataclass
class Frame:
    """One frame and the truth behind it (optical frame, m)."""

    colour: np.ndarray
    depth: np.ndarray
    intrinsics: Intrinsics
    centre: np.ndarray
    axis: np.ndarray
    visible: np.ndarray  # true pixels of the ring


def render(
    centre,
    axis,
    *,
    ring=None,
    seed=0,
    noise=1.0,
    intrinsics=INTRINSICS,
    arm=True,
    wall_m=0.9,
    occluder=None,
    ring_present=True,
) -> Frame:
    """Frame of a ring.

    Args:
        centre: Of the ring [m], optical frame.
        axis: Of the ring; the arm leaves it along -axis.
        ring: Robot file's ring.
        seed: Of the noise.
        noise: Axial noise at 0.47 m [mm] (correlated over 2 px, growing with the square of depth);
            0: exact.
        intrinsics: Of both images.
        arm: Draw the module behind the ring.
        wall_m: Depth of the background.
        occluder: (first column, last column) of a bar 0.1 m in front of the ring.
        ring_present: False leaves the ring out.
    """
    ring = ring or load_robot('two_module_arm').ring
    centre, axis = np.asarray(centre, float), np.asarray(axis, float) / np.linalg.norm(axis)
    rng = np.random.default_rng(seed)
    v, u = np.mgrid[0 : intrinsics.height, 0 : intrinsics.width]
    rays = intrinsics.rays(np.column_stack([u.ravel(), v.ravel()]))
    surfaces = []
    if ring_present:
        surfaces.append((RING_RGB, ring_depths(rays, centre, axis, ring)))
    if arm:  # a solid cylinder that ends in the middle of the ring
        size = {'radius_m': 0.036, 'thickness_m': 0.036, 'height_m': 0.12}
        surfaces.append(
            (ARM_RGB, ring_depths(rays, centre - 0.06 * axis, axis, ring.model_copy(update=size)))
        )
    surfaces.append((WALL_RGB, np.full(len(rays), wall_m)))
    depths = np.stack([s[1] for s in surfaces])
    nearest = depths.argmin(axis=0)
    z = depths.min(axis=0).reshape(u.shape)
    colour = np.array([s[0] for s in surfaces], np.uint8)[nearest].reshape(*u.shape, 3)
    visible = (nearest == 0).reshape(u.shape) if ring_present else np.zeros(u.shape, bool)
    if occluder is not None:
        bar = (u >= occluder[0]) & (u <= occluder[1])
        z = np.where(bar, centre[2] - 0.1, z)
        colour = np.where(bar[..., None], np.uint8(60), colour)
        visible = visible & ~bar
    if noise > 0:
        z = _d435i(z, visible, noise, rng)
        colour = np.clip(colour + rng.normal(0, 4, colour.shape), 0, 255).astype(np.uint8)
        depth = np.round(1e3 * z).astype(np.uint16)
    else:
        depth = z.astype(np.float32)
    return Frame(colour, depth, intrinsics, centre, axis, visible)


def _d435i(z, visible, noise_mm, rng):
    """Correlated axial noise, and flying pixels on half of a border two pixels wide."""
    field = gaussian_filter(rng.normal(size=z.shape), 2.0)
    noisy = z + 1e-3 * noise_mm * (z / 0.47) ** 2 * field / field.std()
    border = (
        binary_dilation(visible, iterations=2)
        & ~binary_erosion(visible, iterations=2)
        & (rng.random(z.shape) < 0.5)
    )
    shift = rng.integers(-3, 4, size=(2, *z.shape))
    v, u = np.mgrid[0 : z.shape[0], 0 : z.shape[1]]
    other = z[np.clip(v + shift[0], 0, z.shape[0] - 1), np.clip(u + shift[1], 0, z.shape[1] - 1)]
    share = rng.random(z.shape)
    return np.where(border, share * z + (1 - share) * other, noisy)
