import math
from types import SimpleNamespace

import numpy as np
import pytest

from soft_arm_description.poses import PoseError, pose_matrix, tracked_pose

HALF = math.sqrt(0.5)


def point(x, y, z):
    return SimpleNamespace(x=x, y=y, z=z)


def quaternion(x, y, z, w):
    return SimpleNamespace(x=x, y=y, z=z, w=w)


@pytest.mark.parametrize(
    ('q_xyzw', 'R'),
    [
        ((HALF, 0.0, 0.0, HALF), [[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
        ((0.0, HALF, 0.0, HALF), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
        ((0.0, 0.0, HALF, HALF), [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
    ],
    ids=['90 deg about x', '90 deg about y', '90 deg about z'],
)
def test_quaternions_are_x_y_z_w_and_turn_counter_clockwise(q_xyzw, R):
    T = pose_matrix(point(1.0, 2.0, 3.0), quaternion(*q_xyzw))
    np.testing.assert_allclose(T[:3, :3], R, atol=1e-12)
    assert T[:3, 3].tolist() == [1.0, 2.0, 3.0] and T[3].tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ('place', 'turn', 'words'),
    [
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), 'no unit quaternion'),
        ((0.1, 0.0, 0.0), (0.0, 0.0, 0.0, 1.1), 'no unit quaternion'),
        ((math.nan, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 'not finite'),
        ((0.1, 0.0, 0.0), (0.0, math.inf, 0.0, 1.0), 'not finite'),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 'not tracked'),
    ],
)
def test_what_is_no_pose_of_a_tracked_body_is_named(place, turn, words):
    pose = SimpleNamespace(position=point(*place), orientation=quaternion(*turn))
    with pytest.raises(PoseError, match=words):
        tracked_pose(pose)


def test_quaternions_of_single_precision_are_units():
    turn = np.float32([0.1, 0.2, 0.3, 0.927])
    T = tracked_pose(
        SimpleNamespace(position=point(0.0, 0.0, 0.0), orientation=quaternion(*turn.tolist()))
    )
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-12)
