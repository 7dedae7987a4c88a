"""Smooth skins of segments, for pictures: surfaces that bend with the sections under them.

A skin is given on the straight segment. Each vertex lies between the ends of two sections and
follows both, each by its nearness. Skins have no mass and touch nothing.
"""

from dataclasses import dataclass

import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_description.segments import BellowsSegment, Segment, TorqueSegment

RINGS_PER_SECTION = 6
CORNERS = 24  # of a ring
BOX_ROUNDNESS = 8.0  # power of the superellipse that stands for a box
FOLD_DEPTH = 0.12  # of bellows, of their radius
BODY_COLOUR_RGB = (0.87, 0.80, 0.62)
BELLOWS_COLOUR_RGB = (0.30, 0.32, 0.36)

_Colour = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Skin:
    """A surface around a straight segment of N sections that starts at the origin, along z.

    Attributes:
        colour_rgb: Its colour, 0..1 each.
        vertices_m: (n, 3) [m].
        triangles: (m, 3) vertices of each, counter-clockwise from outside.
        below: (n,) the section end below each vertex, 0..N - 1; the segment starts at end 0.
        above_share: (n,) how much of a vertex follows the next section end, 0..1.
    """

    colour_rgb: _Colour
    vertices_m: np.ndarray
    triangles: np.ndarray
    below: np.ndarray
    above_share: np.ndarray


def segment_skins(robot: Robot, number: int) -> list[Skin]:
    """Return the skins of a robot's segment: one of its body, or one of each of its bellows."""
    return [_tube(robot, number, *tube) for tube in _outlines(robot.segments[number])]


def plain_skin(robot: Robot, number: int, thickness: float = 1.0) -> Skin:
    """Return a round skin of few triangles without folds, for a ghost of a robot's segment.

    Args:
        robot: The robot file.
        number: Of the segment.
        thickness: Of the skin, in thicknesses of the segment.
    """
    segment = robot.segments[number]
    share = np.linspace(0.0, 1.0, segment.sections + 1)
    outline = thickness * segment.radius_m(share)[:, None, None] * _circle(12)
    return _tube(robot, number, outline, BODY_COLOUR_RGB)


def _circle(corners: int) -> np.ndarray:
    angle = 2.0 * np.pi * np.arange(corners) / corners
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _outlines(segment: Segment) -> list[tuple[np.ndarray, _Colour]]:
    """Return outlines at the rings along the segment, (rings, corners, 2), and their colours."""
    rings = RINGS_PER_SECTION * segment.sections + 1
    share, circle = np.linspace(0.0, 1.0, rings), _circle(CORNERS)
    if isinstance(segment, BellowsSegment):
        a = segment.actuators
        folds = 1.0 - FOLD_DEPTH * (1.0 + np.cos(2.0 * np.pi * segment.sections * share)) / 2.0
        ring = a.radius_m * folds[:, None, None] * circle
        middles = [a.centre_radius_m * np.array([np.cos(x), np.sin(x)]) for x in a.angles_rad]
        return [(ring + middle, BELLOWS_COLOUR_RGB) for middle in middles]
    if isinstance(segment, TorqueSegment) and segment.section_shape == 'box':
        shape = circle / (np.abs(circle) ** BOX_ROUNDNESS).sum(axis=1)[:, None] ** (
            1.0 / BOX_ROUNDNESS
        )
        outline = shape * np.array(segment.section_size_m) / 2.0
        return [(np.tile(outline + segment.link_offset_m[:2], (rings, 1, 1)), BODY_COLOUR_RGB)]
    offset = segment.link_offset_m[:2] if isinstance(segment, TorqueSegment) else (0.0, 0.0)
    return [(segment.radius_m(share)[:, None, None] * circle + offset, BODY_COLOUR_RGB)]


def _tube(robot: Robot, number: int, outline: np.ndarray, colour_rgb: _Colour) -> Skin:
    """Return the tube of an outline (rings, corners, 2); its ends are closed where they show."""
    segment, last = robot.segments[number], number == len(robot.segments) - 1
    has_disc = segment.disc is not None
    rings, corners = outline.shape[:2]
    z = np.linspace(0.0, segment.natural_length_m, rings)
    middle = outline.mean(axis=1, keepdims=True)
    if last and robot.ring is None and not has_disc:  # half a ball
        radius_m = float(np.linalg.norm(outline[-1] - middle[-1], axis=1).min())
        above = np.clip((z - (z[-1] - radius_m)) / radius_m, 0.0, 1.0)
        outline = middle + (outline - middle) * np.sqrt(1.0 - above**2)[:, None, None]
    tube = np.concatenate([outline, np.repeat(z[:, None, None], corners, axis=1)], axis=2)
    ends = [[*middle[0, 0], z[0]], [*middle[-1, 0], z[-1]]]
    vertices_m = np.concatenate([tube.reshape(-1, 3), ends])
    place = np.clip(vertices_m[:, 2] / segment.natural_length_m, 0.0, 1.0) * segment.sections
    below = np.minimum(place.astype(int), segment.sections - 1)
    triangles = _triangles(rings, corners, number == 0 or has_disc, last or has_disc)
    return Skin(colour_rgb, vertices_m, triangles, below, place - below)


def _triangles(rings: int, corners: int, closed_below: bool, closed_above: bool) -> np.ndarray:
    """Return the triangles of a tube's rings, after which the middles of both ends stand."""
    corner, ring = np.meshgrid(np.arange(corners), np.arange(rings - 1))
    a = (ring * corners + corner).ravel()
    b = (ring * corners + (corner + 1) % corners).ravel()
    faces = [
        np.stack([a, b, b + corners], axis=1),
        np.stack([a, b + corners, a + corners], axis=1),
    ]
    first, second = np.arange(corners), (np.arange(corners) + 1) % corners
    last = (rings - 1) * corners
    bottom, top = rings * corners, rings * corners + 1
    if closed_below:
        faces.append(np.stack([second, first, np.full(corners, bottom)], axis=1))
    if closed_above:
        faces.append(np.stack([last + first, last + second, np.full(corners, top)], axis=1))
    return np.concatenate(faces)
