"""Surfaces of simple shapes, as in robot, assembly and world files: vertices and triangles.

Vertices are in metres about the shape's centre, triangles counter-clockwise from outside. Flat
faces have separate vertices, so that edges are drawn sharp.
"""

import numpy as np

CIRCLE_CORNERS = 32
Surface = tuple[np.ndarray, np.ndarray]
"""Vertices (n, 3) [m] and triangles (m, 3)."""


def shape_surface(shape: str, size_m: tuple[float, ...]) -> Surface:
    """Return the surface of a `box`, `sphere`, `cylinder` or `capsule`.

    Args:
        shape: The shape.
        size_m: As `size_m` of a rigid body: see `soft_arm_description.shapes.SIZES`.
    """
    if shape == 'box':
        return box(size_m)
    if shape == 'sphere':
        return _turned(*_arc(size_m[0], -0.5 * np.pi, 0.5 * np.pi, 0.0))
    if shape == 'cylinder':
        return cylinder(*size_m)
    radius_m, length_m = size_m
    middle_m = length_m / 2.0 - radius_m
    below = _arc(radius_m, -0.5 * np.pi, 0.0, -middle_m)
    above = _arc(radius_m, 0.0, 0.5 * np.pi, middle_m)
    return _turned(*np.concatenate([below, above], axis=1))


def box(size_m: tuple[float, ...]) -> Surface:
    """Return the surface of a box with edges x, y, z [m]."""
    vertices: list[list[np.ndarray]] = []
    triangles: list[list[int]] = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
            normal = side * np.eye(3)[axis]
            first = 4 * len(vertices)
            vertices.append([normal + a * u + b * side * v for a, b in _SQUARE])
            triangles += [[first, first + 1, first + 2], [first, first + 2, first + 3]]
    return np.concatenate(vertices) * np.array(size_m) / 2.0, np.array(triangles)


_SQUARE = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))


def cylinder(radius_m: float, length_m: float) -> Surface:
    """Return the surface of a cylinder along z."""
    half_m = length_m / 2.0
    edges = np.array([[0.0, radius_m, radius_m, radius_m, radius_m, 0.0], [-1, -1, -1, 1, 1, 1]])
    return _turned(edges[0], edges[1] * half_m)


def tube(radius_m: float, thickness_m: float, length_m: float) -> Surface:
    """Return the surface of a ring: a tube along z with a wall of a thickness."""
    inner_m, half_m = radius_m - thickness_m, length_m / 2.0
    r = [inner_m, radius_m, radius_m, radius_m, radius_m, inner_m, inner_m, inner_m]
    z = np.array([-1, -1, -1, 1, 1, 1, 1, -1]) * half_m
    return _turned(np.array(r), z)


def _arc(radius_m: float, low_rad: float, high_rad: float, z_m: float) -> np.ndarray:
    steps = round((high_rad - low_rad) / (2.0 * np.pi) * CIRCLE_CORNERS)
    angle = np.linspace(low_rad, high_rad, steps + 1)
    return np.array([radius_m * np.cos(angle), z_m + radius_m * np.sin(angle)])


def _turned(r_m: np.ndarray, z_m: np.ndarray) -> Surface:
    """Revolve an outline (radii and heights, upwards on the outside) about z.

    A place that the outline has twice is a sharp edge.
    """
    n = len(r_m)
    angle = 2.0 * np.pi * np.arange(CIRCLE_CORNERS) / CIRCLE_CORNERS
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(CIRCLE_CORNERS)], axis=1)
    vertices = np.concatenate([r * circle + [0.0, 0.0, z] for r, z in zip(r_m, z_m, strict=True)])
    first, second = np.arange(CIRCLE_CORNERS), (np.arange(CIRCLE_CORNERS) + 1) % CIRCLE_CORNERS
    triangles = []
    for ring in range(n - 1):
        a, b = ring * CIRCLE_CORNERS, (ring + 1) * CIRCLE_CORNERS
        if r_m[ring] == r_m[ring + 1] and z_m[ring] == z_m[ring + 1]:
            continue
        if r_m[ring] > 1e-9:
            triangles.append(np.stack([a + first, a + second, b + second], axis=1))
        if r_m[ring + 1] > 1e-9:
            triangles.append(np.stack([a + first, b + second, b + first], axis=1))
    return vertices, np.concatenate(triangles)
