"""Meshes of objects: read, checked to be closed, measured."""

from pathlib import Path

import mujoco
import numpy as np

from soft_arm_physics.errors import PhysicsError


def mesh_volume_m3(path: str) -> float:
    """Volume of a closed mesh [m^3].

    Raises:
        PhysicsError: If the file is missing, cannot be read, or its surface is not closed: an edge
            that does not belong to exactly two triangles of opposite sense.
    """
    if not Path(path).is_file():
        raise PhysicsError(f'mesh {path}: there is no such file; correct the path')
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(name='mesh', file=path)
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # which needs no closed surface
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname='mesh')
    try:
        model = spec.compile()
    except ValueError as error:
        text = ' '.join(str(error).split())
        raise PhysicsError(f'mesh {path} cannot be read: {text}; export it again') from error
    vertices, of_vertex = np.unique(
        np.round(model.mesh_vert, 9), axis=0, return_inverse=True
    )  # corners that are stored once per triangle
    faces = of_vertex.ravel()[model.mesh_face]
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
