"""Meshes of simple shapes, and the parts that they make."""

import numpy as np

from soft_arm_twin.errors import SceneError
from soft_arm_twin.parts.urdf_model import UrdfModel
from soft_arm_twin.scene import Part

CORNERS = 24  # of a circle
Mesh = tuple[np.ndarray, np.ndarray]  # vertices [m] (n, 3), triangles (m, 3)


def box(size_m: np.ndarray) -> Mesh:
    """Return a box with these edges [m], (3,), centred on the origin; its faces share no vertex."""
    vertices, triangles = [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3] * sign
            centre = sign * np.eye(3)[axis]
            first = len(vertices)
            vertices += [centre - u - v, centre + u - v, centre + u + v, centre - u + v]
            triangles += [[first, first + 1, first + 2], [first, first + 2, first + 3]]
    return np.array(vertices) * np.asarray(size_m) / 2.0, np.array(triangles)


def tube(radii_m: np.ndarray, z_m: np.ndarray) -> Mesh:
    """Return a body of revolution about z: one radius [m] at each height [m], (n,) each."""
    angles = 2.0 * np.pi * np.arange(CORNERS) / CORNERS
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rings = np.asarray(radii_m)[:, None, None] * circle
    heights = np.broadcast_to(np.asarray(z_m)[:, None, None], (len(rings), CORNERS, 1))
    vertices = np.concatenate([rings, heights], axis=2).reshape(-1, 3)
    corner, ring = np.meshgrid(np.arange(CORNERS), np.arange(len(rings) - 1))
    a = (ring * CORNERS + corner).ravel()
    b = (ring * CORNERS + (corner + 1) % CORNERS).ravel()
    up, across = CORNERS, np.stack([a, b, b + CORNERS], axis=1)
    return vertices, np.concatenate([across, np.stack([a, b + up, a + up], axis=1)])


def cylinder(radius_m: float, length_m: float) -> Mesh:
    """Return a cylinder about z, centred on the origin, with its ends; edges are sharp."""
    h, r = length_m / 2.0, radius_m
    return tube(np.array([0.0, r, r, r, r, 0.0]), np.array([-h, -h, -h, h, h, h]))


def sphere(radius_m: float) -> Mesh:
    """Return a sphere, centred on the origin."""
    polar = np.linspace(0.0, np.pi, CORNERS // 2 + 1)
    return tube(radius_m * np.sin(polar), -radius_m * np.cos(polar))


def ring(radius_m: float, height_m: float, thickness_m: float) -> Mesh:
    """Return a hollow cylinder about z, centred on the origin; the radius is the outer one."""
    h, inner_m = height_m / 2.0, radius_m - thickness_m
    radii_m = np.array([inner_m, radius_m, radius_m, radius_m, radius_m, inner_m, inner_m, inner_m])
    return tube(radii_m, np.array([-h, -h, -h, h, h, h, h, -h]))


def shape_mesh(shape: str, size_m: tuple[float, ...]) -> Mesh:
    """Return the mesh of a shape by its name; sizes as in robot, world and URDF files.

    Raises:
        SceneError: If there is no such shape.
    """
    if shape == 'box':
        return box(np.array(size_m))
    if shape == 'cylinder':
        return cylinder(size_m[0], size_m[1])
    if shape == 'sphere':
        return sphere(size_m[0])
    raise SceneError(f'shape {shape!r}: draw a box, a cylinder or a sphere')


def cross(reach_m: float) -> np.ndarray:
    """Return the points (9, 3) [m] of a line that draws three crossed axes."""
    origin = np.zeros(3)
    ends = [sign * reach_m * axis for axis in np.eye(3) for sign in (-1.0, 1.0)]
    return np.array([p for end in ends for p in (origin, end)] + [origin])


def visual_parts(
    model: UrdfModel, group: str, first: int, source: str, opacity: float = 1.0
) -> list[Part]:
    """Return the parts of a robot description's visuals.

    Args:
        model: The robot description.
        group: Group of the parts; their names begin with it.
        first: Frame of the first link; the others follow in their order.
        source: Name of the age of the joint values.
        opacity: Of all parts.
    """
    parts = []
    for number, visual in enumerate(model.visuals):
        vertices_m, triangles = shape_mesh(visual.shape, visual.size_m)
        T = visual.T_link_shape
        parts.append(
            Part.rigid(
                f'{group}/{model.links[visual.link]}/{number}',
                group,
                visual.colour_rgb,
                first + visual.link,
                vertices_m @ T[:3, :3].T + T[:3, 3],
                triangles,
                opacity=opacity,
                source=source,
            )
        )
    return parts
