"""Meshes of objects: read, checked to be closed, measured."""

from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_physics.errors import PhysicsError


def read_mesh(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Read vertices (n, 3) [m] and triangles (m, 3) of a mesh file.

    Raises:
        PhysicsError: If the file is missing or cannot be read.
    """
    if not Path(path).is_file():
        raise PhysicsError(f'mesh {path}: file not found; correct the path')
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(name='mesh', file=path)
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # which needs no closed surface
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname='mesh')
    try:
        model = spec.compile()
    except ValueError as error:
        text = ' '.join(str(error).split())
        raise PhysicsError(f'mesh {path} cannot be read: {text}; export it again') from error
    # MuJoCo keeps it about its centre, along its principal axes
    turned = Rotation.from_quat(model.mesh_quat[0], scalar_first=True)
    return turned.apply(model.mesh_vert) + model.mesh_pos[0], model.mesh_face.copy()


def mesh_volume_m3(path: str) -> float:
    """Volume of a closed mesh [m^3].

    Raises:
        PhysicsError: If the file is missing, cannot be read, or its surface is not closed: an edge
            that does not belong to exactly two triangles of opposite sense.
    """
    vertices_m, triangles = read_mesh(path)
    vertices, of_vertex = np.unique(
        np.round(vertices_m, 9), axis=0, return_inverse=True
    )  # corners that are stored once per triangle
    faces = of_vertex.ravel()[triangles]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    forward, counts = np.unique(edges, axis=0, return_counts=True)
    backward = np.unique(edges[:, ::-1], axis=0)
    alone = len(set(map(tuple, forward)) - set(map(tuple, backward)))
    if alone or (counts > 1).any():
        raise PhysicsError(
            f'mesh {path} is not closed: {alone + int((counts > 1).sum())} of its edges do not '
            'belong to two triangles; fill its holes'
        )
    corners = vertices[faces]
    return float(abs(np.linalg.det(corners).sum()) / 6.0)


def mesh_spans(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Return widths [m] and areas [m^2] that a closed mesh shows along its axes, (3,) each.

    Where it is not convex, the areas of what it hides from the flow count as well.
    """
    vertices_m, triangles = read_mesh(path)
    corners_m = vertices_m[triangles]
    edges_m = corners_m[:, 1:] - corners_m[:, :1]
    normals_m2 = np.cross(edges_m[:, 0], edges_m[:, 1]) / 2.0
    return np.ptp(vertices_m, axis=0), np.abs(normals_m2).sum(axis=0) / 2.0
