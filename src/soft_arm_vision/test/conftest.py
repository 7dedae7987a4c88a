"""Synthetic RGB-D frames of a ring: rays against a hollow cylinder, and the D435i noise model that the bars are stated for."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.ndimage import binary_dilation, binary_erosion, gaussian_filter

from soft_arm_description.robot import load_robot
from soft_arm_vision.intrinsics import Intrinsics

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


def _nearest_on_wall(rays, centre, axis, radius, low, high, far_side):
    """Depth of the rays' hit on a cylinder's wall between two heights, inf where there is none."""
    cross_rays, cross_centre = rays - np.outer(rays @ axis, axis), centre - (centre @ axis) * axis
    a = np.einsum('ni,ni->n', cross_rays, cross_rays)
    b = cross_rays @ cross_centre
    root = b**2 - a * (cross_centre @ cross_centre - radius**2)
    t = (b + (1 if far_side else -1) * np.sqrt(np.maximum(root, 0))) / a
    height = t * (rays @ axis) - centre @ axis
    return np.where((root > 0) & (height >= low) & (height <= high), t, np.inf)


def _on_face(rays, centre, axis, height, inner, outer):
    """Depth of the rays' hit on a flat annulus across the axis."""
    along = rays @ axis
    t = ((centre + height * axis) @ axis) / np.where(np.abs(along) < 1e-9, 1e-9, along)
    distance = np.linalg.norm(t[:, None] * rays - centre - height * axis, axis=1)
    return np.where((distance >= inner) & (distance <= outer) & (t > 0), t, np.inf)


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
        noise: Axial noise at 0.47 m [mm] (correlated over 2 px, growing with the square of depth); 0: exact, no quantisation.
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
    rays = np.column_stack(
        [intrinsics.rays(np.column_stack([u.ravel(), v.ravel()])), np.ones(u.size)]
    )
    half, outer, inner = ring.height_m / 2, ring.radius_m, ring.radius_m - ring.thickness_m
    surfaces = []
    if ring_present:
        surfaces += [
            (RING_RGB, _nearest_on_wall(rays, centre, axis, outer, -half, half, False)),
            (RING_RGB, _nearest_on_wall(rays, centre, axis, inner, -half, half, True)),
            (RING_RGB, _on_face(rays, centre, axis, half, inner, outer)),
            (RING_RGB, _on_face(rays, centre, axis, -half, inner, outer)),
        ]
    if arm:
        surfaces += [
            (ARM_RGB, _nearest_on_wall(rays, centre, axis, 0.036, -0.12, 0.0, False)),
            (ARM_RGB, _on_face(rays, centre, axis, 0.0, 0.0, 0.036)),
        ]
    surfaces.append((WALL_RGB, np.full(len(rays), wall_m)))
    depths = np.stack([s[1] for s in surfaces])
    nearest = depths.argmin(axis=0)
    z = depths.min(axis=0).reshape(u.shape)
    colour = np.array([s[0] for s in surfaces], np.uint8)[nearest].reshape(*u.shape, 3)
    visible = (nearest < 4).reshape(u.shape) if ring_present else np.zeros(u.shape, bool)
    if occluder is not None:
        bar = (u >= occluder[0]) & (u <= occluder[1])
        z, colour, visible = (
            np.where(bar, centre[2] - 0.1, z),
            np.where(bar[..., None], np.uint8(60), colour),
            visible & ~bar,
        )
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


@pytest.fixture(scope='session')
def render_ring():
    """The renderer, `render(centre, axis, ...) -> Frame`."""
    return render


@pytest.fixture(scope='session')
def ring():
    """The ring of the paper's arm."""
    return load_robot('two_module_arm').ring
