"""Meshes of objects: read, added to models, checked to be closed, measured."""

from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_physics.errors import PhysicsError

FLAT_M = 1e-9  # standard deviation across its plane below which a mesh is flat
FLAT_HALF_M = 5e-4  # half the thickness of a flat mesh, which contacts need


def read_mesh(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Read vertices (n, 3) [m] and triangles (m, 3) of a mesh file.

    Raises:
        PhysicsError: If the file is missing or cannot be read.
    """
    if not Path(path).is_file():
        raise PhysicsError(f'mesh {path}: file not found; correct the path')
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(name='mesh', file=str(path))
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # which needs no closed surface
    shape = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname='mesh')
    shape.contype = shape.conaffinity = 0  # no contacts: a flat mesh has no convex hull
    try:
        model = spec.compile()
    except ValueError as error:
        text = ' '.join(str(error).split())
        raise PhysicsError(f'mesh {path} cannot be read: {text}; export it again') from error
    # MuJoCo keeps it about its centre, along its principal axes
    turned = Rotation.from_quat(model.mesh_quat[0], scalar_first=True)
    return turned.apply(model.mesh_vert) + model.mesh_pos[0], model.mesh_face.copy()


def add_surface(spec: mujoco.MjSpec, name: str, path: str) -> None:
    """Add the mesh of a fixed object, which may be open; a flat one is made 1 mm thick.

    Raises:
        PhysicsError: If the file is missing or cannot be read.
    """
    vertices_m, triangles = read_mesh(path)
    mesh = spec.add_mesh(name=name)
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    _, spread_m, axes = np.linalg.svd(vertices_m - vertices_m.mean(axis=0), full_matrices=False)
    if spread_m[2] < FLAT_M * np.sqrt(len(vertices_m)):
        above_m = FLAT_HALF_M * axes[2]
        triangles = np.concatenate([triangles, triangles[:, ::-1] + len(vertices_m)])
        vertices_m = np.concatenate([vertices_m + above_m, vertices_m - above_m])
    mesh.uservert, mesh.userface = vertices_m.ravel(), triangles.ravel()


def mesh_volume_m3(path: str | Path) -> float:
    """Volume of a closed mesh [m^3].

    Raises:
        PhysicsError: If the file is missing, cannot be read, or its surface is not closed: an edge
            along which not as many triangles run one way as the other.
    """
    vertices_m, triangles = read_mesh(path)
    vertices, of_vertex = np.unique(
        np.round(vertices_m, 9), axis=0, return_inverse=True
    )  # corners that are stored once per triangle
    faces = of_vertex.ravel()[triangles]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    _, edge = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    uses = np.bincount(edge.ravel())
    balance = np.bincount(edge.ravel(), weights=np.sign(edges[:, 1] - edges[:, 0]))
    for wrong, cause in (
        (uses == 1, 'is open: {} of its edges belong to one triangle; fill its holes'),
        (uses % 2 == 1, 'has inner walls: {} of its edges belong to 3 triangles; remove them'),
        (
            balance != 0,
            'has reversed triangles: along {} of its edges triangles run the same way; orient '
            'all of them outwards',
        ),
    ):
        if wrong.any():
            raise PhysicsError(f'mesh {path} {cause.format(wrong.sum())}, or make the body fixed')
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
