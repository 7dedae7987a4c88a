import numpy as np
import pytest

from soft_arm_twin.errors import SceneError
from soft_arm_twin.scene import Part, Scene

TRIANGLE_M = np.eye(3)
ONE = np.array([[0, 1, 2]])


def part(name='tip', frame=0, **other):
    return Part.rigid(name, 'arm', (1, 0, 0), frame, TRIANGLE_M, ONE, **other)


def test_a_rigid_part_follows_one_frame():
    made = part(frame=3)
    assert set(made.frame_a) == set(made.frame_b) == {3}
    assert not made.share_b.any()


@pytest.mark.parametrize(
    ('triangles', 'kind', 'why'),
    [
        (np.array([[0, 1, 3]]), 'surface', 'outside of 0..2'),
        (None, 'surface', 'a surface has triangles'),
        (ONE, 'line', 'a line has none'),
        (np.zeros((1, 2)), 'surface', 'shape'),
    ],
)
def test_a_part_that_contradicts_itself_is_refused(triangles, kind, why):
    with pytest.raises(SceneError, match=why):
        Part.rigid('tip', 'arm', (1, 0, 0), 0, TRIANGLE_M, triangles, kind=kind)


def test_a_vertex_that_is_not_finite_is_refused():
    with pytest.raises(SceneError, match='not finite'):
        Part.rigid('tip', 'arm', (1, 0, 0), 0, TRIANGLE_M * np.nan, ONE)


def test_a_scene_knows_its_frames_and_names():
    assert Scene((part(), part('base', 1)), n_frames=2).n_frames == 2
    with pytest.raises(SceneError, match='frames 0..0'):
        Scene((part(frame=1),), n_frames=1)
    with pytest.raises(SceneError, match='two parts'):
        Scene((part(), part()), n_frames=1)
