"""Smooth skins of segments, for pictures: surfaces that bend with the links under them.

A vertex follows the two links between whose middles it lies, each by its nearness. Skins have no
mass and touch nothing.
"""

import mujoco
import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_description.segments import BellowsSegment, Segment, TorqueSegment

RINGS_PER_SECTION = 6
CORNERS = 24  # of a ring
BOX_ROUNDNESS = 8.0  # power of the superellipse that stands for a box
FOLD_DEPTH = 0.12  # of bellows, of their radius
BODY_COLOUR = [0.87, 0.80, 0.62, 1.0]
BELLOWS_COLOUR = [0.30, 0.32, 0.36, 1.0]


def add_skins(spec: mujoco.MjSpec, robot: Robot, prefix: str) -> list[str]:
    """Add a skin to every segment of a robot; return the names of the geoms that they stand for.

    Args:
        spec: A model that `model.world.build` has made.
        robot: The robot file.
        prefix: With which names of its bodies begin.
    """
    parent, offset_m, covered = f'{prefix}base', 0.0, []
    for number, segment in enumerate(robot.segments):
        last = number == len(robot.segments) - 1
        bodies, centres_m = _bones(parent, offset_m, segment, prefix)
        for k, (outline, colour) in enumerate(_tubes(segment)):
            skin = spec.add_skin(name=f'{prefix}{segment.name}_skin_{k}')
            skin.rgba = colour
            closed = number == 0 or segment.disc is not None, last or segment.disc is not None
            rounded = last and robot.ring is None and segment.disc is None
            _fill(skin, outline, segment.natural_length_m, closed, rounded)
            z = np.array(skin.vert).reshape(-1, 3)[:, 2]
            _attach(skin, spec, bodies, centres_m, z, segment.natural_length_m)
        names = [parent, *(f'{prefix}{segment.name}_{i}' for i in range(segment.sections + 1))]
        covered += [f'{name}/{segment.name}' for name in names]
        parent = f'{prefix}{segment.name}_{segment.sections}'
        offset_m = segment.rigid_length_m
    return covered


def _bones(
    parent: str, offset_m: float, segment: Segment, prefix: str
) -> tuple[list[str], np.ndarray]:
    """Return the bodies of the links, and where their origins are on the straight segment [m].

    Link i has its middle at i / sections of the length; the last body is the end.
    """
    n, h = segment.sections, segment.natural_length_m / segment.sections
    inner = [f'{prefix}{segment.name}_{i}' for i in range(n - 1)]
    origins_m = [-offset_m, *((i + 0.5) * h for i in range(n - 1)), n * h]
    return [parent, *inner, f'{prefix}{segment.name}_{n}'], np.array(origins_m)


def _tubes(segment: Segment) -> list[tuple[np.ndarray, list[float]]]:
    """Return outlines at the rings along the segment, (rings, corners, 2), and their colours."""
    rings = RINGS_PER_SECTION * segment.sections + 1
    share, angle = np.linspace(0.0, 1.0, rings), 2.0 * np.pi * np.arange(CORNERS) / CORNERS
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if isinstance(segment, BellowsSegment):
        a = segment.actuators
        folds = 1.0 - FOLD_DEPTH * (1.0 + np.cos(2.0 * np.pi * segment.sections * share)) / 2.0
        ring = a.radius_m * folds[:, None, None] * circle
        middles = [a.centre_radius_m * np.array([np.cos(x), np.sin(x)]) for x in a.angles_rad]
        return [(ring + middle, BELLOWS_COLOUR) for middle in middles]
    if isinstance(segment, TorqueSegment) and segment.section_shape == 'box':
        shape = circle / (np.abs(circle) ** BOX_ROUNDNESS).sum(axis=1)[:, None] ** (
            1.0 / BOX_ROUNDNESS
        )
        outline = shape * np.array(segment.section_size_m) / 2.0
        return [(np.tile(outline + segment.link_offset_m[:2], (rings, 1, 1)), BODY_COLOUR)]
    offset = segment.link_offset_m[:2] if isinstance(segment, TorqueSegment) else (0.0, 0.0)
    return [(segment.radius_m(share)[:, None, None] * circle + offset, BODY_COLOUR)]


def _fill(
    skin: mujoco.MjsSkin,
    outline: np.ndarray,
    length_m: float,
    closed: tuple[bool, bool],
    rounded: bool,
) -> None:
    """Set vertices and faces of a tube whose ends may be closed; `rounded`: by half a ball."""
    rings = len(outline)
    z = np.linspace(0.0, length_m, rings)
    middle = outline.mean(axis=1, keepdims=True)
    if rounded:
        radius_m = float(np.linalg.norm(outline[-1] - middle[-1], axis=1).min())
        above = np.clip((z - (z[-1] - radius_m)) / radius_m, 0.0, 1.0)
        outline = middle + (outline - middle) * np.sqrt(1.0 - above**2)[:, None, None]
    tube = np.concatenate([outline, np.repeat(z[:, None, None], CORNERS, axis=1)], axis=2)
    ends = [[*middle[0, 0], z[0]], [*middle[-1, 0], z[-1]]]
    skin.vert = np.concatenate([tube.reshape(-1, 3), ends]).ravel().tolist()
    corner, ring = np.meshgrid(np.arange(CORNERS), np.arange(rings - 1))
    a = (ring * CORNERS + corner).ravel()
    b = (ring * CORNERS + (corner + 1) % CORNERS).ravel()
    faces = [
        np.stack([a, b, b + CORNERS], axis=1),
        np.stack([a, b + CORNERS, a + CORNERS], axis=1),
    ]
    first, second = np.arange(CORNERS), (np.arange(CORNERS) + 1) % CORNERS
    last = (rings - 1) * CORNERS
    bottom, top = rings * CORNERS, rings * CORNERS + 1
    if closed[0]:
        faces.append(np.stack([second, first, np.full(CORNERS, bottom)], axis=1))
    if closed[1]:
        faces.append(np.stack([last + first, last + second, np.full(CORNERS, top)], axis=1))
    skin.face = np.concatenate(faces).ravel().tolist()


def _attach(
    skin: mujoco.MjsSkin,
    spec: mujoco.MjSpec,
    bodies: list[str],
    origins_m: np.ndarray,
    z: np.ndarray,
    length_m: float,
) -> None:
    """Let vertices at z [m] follow the links next to them."""
    place = np.clip(z / length_m, 0.0, 1.0) * (len(bodies) - 1)
    below = np.minimum(place.astype(int), len(bodies) - 2)
    above_share = place - below
    skin.bodyname = bodies
    skin.bindpos = np.stack([0 * origins_m, 0 * origins_m, origins_m], axis=1).ravel().tolist()
    end = spec.body(bodies[-1])
    skin.bindquat = [*np.tile([1.0, 0.0, 0.0, 0.0], len(bodies) - 1), *end.quat]
    of_link = [(np.flatnonzero((below == i) | (below == i - 1)), i) for i in range(len(bodies))]
    skin.vertid = [ids.tolist() for ids, _ in of_link]
    skin.vertweight = [
        np.where(below[ids] == i, 1.0 - above_share[ids], above_share[ids]).tolist()
        for ids, i in of_link
    ]
