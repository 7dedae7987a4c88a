"""Meshes are read in the frame of their file. Under 1 s."""

import itertools

import numpy as np
import pytest

from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_description.world import World
from soft_arm_physics import PhysicsError, Simulation
from soft_arm_physics.model.mesh import mesh_spans, mesh_volume_m3, read_mesh

TETRAHEDRON = """v 0.3 0.1 0.2
v 0.4 0.1 0.2
v 0.3 0.3 0.2
v 0.3 0.1 0.5
f 1 3 2
f 1 2 4
f 2 3 4
f 1 4 3
"""


def test_vertices_are_where_the_file_has_them(tmp_path):
    file = tmp_path / 'body.obj'
    file.write_text(TETRAHEDRON)
    vertices_m, triangles = read_mesh(str(file))
    np.testing.assert_allclose(vertices_m.min(axis=0), [0.3, 0.1, 0.2], atol=1e-6)
    np.testing.assert_allclose(vertices_m.max(axis=0), [0.4, 0.3, 0.5], atol=1e-6)
    volume_m3 = np.linalg.det(vertices_m[triangles]).sum() / 6.0
    assert volume_m3 == pytest.approx(0.1 * 0.2 * 0.3 / 6.0, rel=1e-4)
    assert mesh_volume_m3(str(file)) == pytest.approx(volume_m3, rel=1e-4)
    spans_m, areas_m2 = mesh_spans(str(file))
    np.testing.assert_allclose(spans_m, [0.1, 0.2, 0.3], rtol=1e-4)
    np.testing.assert_allclose(areas_m2, [0.03, 0.015, 0.01], rtol=1e-4)


CORNERS_M = np.array([*itertools.product((0.0, 0.05), repeat=3)])
CUBE = np.array(
    [
        t
        for a, b, c, d in (
            (0, 1, 3, 2),
            (4, 6, 7, 5),
            (0, 4, 5, 1),
            (2, 3, 7, 6),
            (0, 2, 6, 4),
            (1, 5, 7, 3),
        )
        for t in ((a, b, c), (a, c, d))
    ]
)
TWO_M = np.concatenate([CORNERS_M, CORNERS_M + [0.05, 0.05, 0.0]])
TWO = np.concatenate([CUBE, CUBE + 8])
FLIPPED = np.concatenate([CUBE[:1, ::-1], CUBE[1:]])
WALL_M = np.array([[0.0, -0.1, 0.0], [0.0, 0.1, 0.0], [0.0, 0.1, 0.2], [0.0, -0.1, 0.2]])
BENT_M = np.array([*WALL_M[:3], WALL_M[3] + [0.05, 0.0, 0.0]])
WALL = np.array([[0, 1, 2], [0, 2, 3]])
MESHES = {
    'cube': (CORNERS_M, CUBE, None),
    'inside out': (CORNERS_M, CUBE[:, ::-1], None),
    'two cubes with a common edge': (TWO_M, TWO, None),
    'open box': (CORNERS_M, CUBE[:-2], 'is open: 4 of its edges'),
    'wall': (WALL_M, WALL, 'is open: 4 of its edges'),
    'bent wall': (BENT_M, WALL, 'is open: 4 of its edges'),
    'reversed triangle': (CORNERS_M, FLIPPED, 'has reversed triangles: along 3 of its edges'),
    'inner wall': (
        CORNERS_M,
        np.concatenate([CUBE, [[0, 1, 7], [0, 7, 6]]]),
        'has inner walls: 4 of its edges',
    ),
}


def object_of(folder, name, **more):
    vertices_m, triangles, _ = MESHES[name]
    lines = [f'v {x} {y} {z}' for x, y, z in vertices_m]
    lines += [f'f {a + 1} {b + 1} {c + 1}' for a, b, c in triangles]
    (folder / 'body.obj').write_text('\n'.join(lines))
    thing = {'name': 'thing', 'shape': 'mesh', 'mesh': str(folder / 'body.obj')}
    thing |= {'position_m': [0.3, 0.0, 0.0], **more}
    return World(schema_version=1, name='w', description='', objects=[thing])


@pytest.mark.parametrize('name', MESHES)
def test_what_moves_needs_a_closed_surface_and_its_fault_is_named(tmp_path, name):
    world, fault = object_of(tmp_path, name, mass_kg=0.1), MESHES[name][2]
    if fault is None:
        sim = Simulation('soft_finger', world)
        assert sim.model.body('thing').inertia.min() > 0.0
        return
    with pytest.raises(PhysicsError, match=fault) as caught:
        Simulation('soft_finger', world)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize('name', MESHES)
def test_what_is_fixed_needs_no_volume_and_can_be_touched(tmp_path, name):
    world = object_of(tmp_path, name, fixed=True)
    ball = {'name': 'ball', 'shape': 'sphere', 'size_m': [0.01], 'mass_kg': 0.01}
    low_m, high_m = MESHES[name][0].min(axis=0), MESHES[name][0].max(axis=0)
    above_m = np.append((low_m + high_m)[:2] / 2, high_m[2] + 0.01) + [0.3, 0.0, -1e-4]
    ball = RigidBody(**ball, position_m=above_m.tolist())
    world = world.model_copy(update={'objects': (*world.objects, ball)})
    sim = Simulation('soft_finger', world)
    touching = {frozenset((c.body_a, c.body_b)) for c in sim.contacts()}
    assert frozenset(('thing', 'ball')) in touching


def test_a_missing_mesh_is_an_error():
    with pytest.raises(PhysicsError, match='file not found'):
        read_mesh('nowhere.stl')
