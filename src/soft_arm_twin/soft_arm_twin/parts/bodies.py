"""Rigid objects as parts: bodies of assembly and world files, the ground."""

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_twin.parts.shapes import Surface, shape_surface
from soft_arm_twin.scene import Part

BODY_COLOUR = (0.35, 0.50, 0.70)
GROUND_COLOUR = (0.60, 0.60, 0.58)
GROUND_THICKNESS_M = 1e-3


def pose(position_m: tuple[float, ...], rpy_deg: tuple[float, ...] = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Return T (4, 4) of a position [m] and roll, pitch and yaw about fixed axes [deg]."""
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler('xyz', rpy_deg, degrees=True).as_matrix()
    T[:3, 3] = position_m
    return T


def body_part(body: RigidBody, frame: int, mesh: Surface | None = None) -> Part:
    """Return a body of an assembly or an object of a world.

    Args:
        body: The body.
        frame: Index of its frame.
        mesh: Surface of its mesh in the body's frame, or None.
    """
    surface = shape_surface(body.shape, body.size_m or ()) if mesh is None else mesh
    colour = body.colour_rgb or BODY_COLOUR
    return Part.rigid(body.name, 'objects', colour, frame, *surface, selectable=True)


def ground_part(height_m: float, width_m: float, frame: int) -> Part:
    """Return a level square of ground about the z axis of a frame, with its top at a height."""
    vertices_m, triangles = shape_surface('box', (width_m, width_m, GROUND_THICKNESS_M))
    vertices_m = vertices_m + [0.0, 0.0, height_m - GROUND_THICKNESS_M / 2]
    return Part.rigid('ground', 'ground', GROUND_COLOUR, frame, vertices_m, triangles)
