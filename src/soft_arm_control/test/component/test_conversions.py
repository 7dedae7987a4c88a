import math

import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseWithCovarianceStamped

from soft_arm_control.errors import MessageError
from soft_arm_control.ros.conversions import recent_s, tip_from_msg


def tip_pose():
    message = PoseWithCovarianceStamped()
    message.header.frame_id, message.pose.pose.orientation.w = 'arm_base', 1.0
    message.pose.pose.position.z = 0.2
    return message


def test_a_tip_pose_gives_position_and_covariance_with_a_floor():
    message = tip_pose()
    tip_m, covariance_m2 = tip_from_msg(message, 'arm_base')
    assert tip_m == pytest.approx([0.0, 0.0, 0.2])
    assert covariance_m2.diagonal() == pytest.approx([1e-8] * 3)


@pytest.mark.parametrize(
    ('spoil', 'words'),
    [
        (lambda m: setattr(m.pose.pose.position, 'x', math.inf), 'not finite'),
        (lambda m: m.pose.covariance.__setitem__(0, math.nan), 'not finite'),
        (lambda m: m.pose.covariance.__setitem__(35, math.inf), 'not finite'),
        (lambda m: m.pose.covariance.__setitem__(0, -1.0), 'semidefinite'),
        (lambda m: setattr(m.pose.pose.orientation, 'w', 0.0), 'quaternion'),
        (lambda m: setattr(m.pose.pose.position, 'z', 0.0), 'not tracked'),
        (lambda m: setattr(m.header, 'frame_id', 'nonsense'), "'nonsense'"),
    ],
)
def test_an_invalid_tip_pose_is_rejected_with_its_reason(spoil, words):
    message = tip_pose()
    spoil(message)
    with pytest.raises(MessageError, match=words):
        tip_from_msg(message, 'arm_base')


@pytest.mark.parametrize(('now_s', 'words'), [(103.0, 'old'), (96.0, 'in the future')])
def test_a_stamp_is_used_within_its_age_limits(now_s, words):
    assert recent_s(Time(sec=100), 100.0) == 100.0
    with pytest.raises(MessageError, match=words):
        recent_s(Time(sec=100), now_s)
