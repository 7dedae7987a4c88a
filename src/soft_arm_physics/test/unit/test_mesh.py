"""Meshes are read in the frame of their file. Under 1 s."""

import numpy as np
import pytest

from soft_arm_physics import PhysicsError
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


def test_a_missing_mesh_is_an_error():
    with pytest.raises(PhysicsError, match='file not found'):
        read_mesh('nowhere.stl')
