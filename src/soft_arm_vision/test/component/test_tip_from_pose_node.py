"""The node in this process, fed with poses of the tracked body over DDS by a probe."""

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from scipy.spatial.transform import Rotation

from soft_arm_description.calibration import load_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_msgs.msg import TickAnswer
from soft_arm_node_kit import qos
from soft_arm_node_kit.ticker import ANSWERS_TOPIC
from soft_arm_vision.calibration.motion_capture import MotionCapture
from soft_arm_vision.ros.tip_from_pose_node import TipFromPoseNode
from system_testing.probe import Probe

NOWHERE = np.block([[np.eye(3), np.full((3, 1), np.nan)], [np.zeros((1, 3)), 1.0]])


def pose_message(T, frame, stamp):
    message = PoseStamped()
    message.header.frame_id, message.header.stamp = frame, stamp
    position, orientation = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = T[:3, 3]
    orientation.x, orientation.y, orientation.z, orientation.w = Rotation.from_matrix(
        T[:3, :3]
    ).as_quat()
    return message


class Graph(Probe):
    """The node, and a probe that plays the motion capture and hears the answers."""

    def __init__(self, **parameters):
        super().__init__('probe', '/soft_arm', [TipFromPoseNode], rig='virtual', **parameters)
        self.answers = self.listen(TickAnswer, ANSWERS_TOPIC, qos.ANSWERS)
        self.poses = self.listen(PoseWithCovarianceStamped, '/soft_arm/tip_pose', qos.STATE)
        self.listen(DiagnosticArray, '/diagnostics', qos.STATE)
        self.body = self.create_publisher(PoseStamped, '/soft_arm/body_pose', qos.STATE)

    @property
    def status(self):
        return [status for array in self.heard['/diagnostics'] for status in array.status]

    def until(self, condition, message):
        self.wait(condition, each=lambda: self.body.publish(message))


@pytest.fixture
def graph():
    with Graph() as graph:
        yield graph


@pytest.fixture
def simulated():
    with Graph(use_sim_time='true') as graph:
        yield graph


def test_tip_pose_is_in_the_base_frame_and_its_stamp_corrected_by_the_latency(graph):
    T_base_tip = np.eye(4)
    T_base_tip[:3, 3] = 0.02, -0.01, 0.24
    stamp = graph.get_clock().now().to_msg()
    calibration = load_calibration(load_rig('virtual'), MotionCapture, load_robot('two_module_arm'))
    system = calibration.values
    T_world_body = (
        np.linalg.inv(system.T_base_world.matrix)
        @ T_base_tip
        @ np.linalg.inv(system.T_body_tip.matrix)
    )
    graph.until(lambda: graph.poses, pose_message(T_world_body, 'motion_capture', stamp))
    tip = graph.poses[0]
    at = tip.pose.pose.position
    np.testing.assert_allclose([at.x, at.y, at.z], T_base_tip[:3, 3], atol=1e-6)
    assert tip.header.frame_id == 'soft_arm_base_link'
    earlier_ns = (stamp.sec - tip.header.stamp.sec) * 10**9 + stamp.nanosec
    assert earlier_ns - tip.header.stamp.nanosec == 20_000_000
    assert 1e-9 < tip.pose.covariance[0] < 1e-6


@pytest.mark.parametrize(
    ('T', 'frame', 'words'),
    [
        (np.eye(4), 'nonsense', 'calibrate this system'),
        (NOWHERE, 'motion_capture', 'not finite'),
        (np.eye(4), 'motion_capture', 'not tracked'),
    ],
)
def test_unusable_pose_is_ignored_and_reported(graph, T, frame, words):
    message = pose_message(T, frame, graph.get_clock().now().to_msg())
    graph.until(lambda: any(words in s.message for s in graph.status), message)
    assert not graph.poses
    values = {v.key: v.value for v in graph.status[-1].values}
    assert int(values['poses_left_out']) > 0


@pytest.mark.parametrize('stamp', [Time(), Time(nanosec=19_999_999), Time(sec=-5)])
def test_stamp_below_the_latency_is_ignored_and_reported(graph, stamp):
    T = np.eye(4)
    T[2, 3] = 0.2
    message = pose_message(T, 'motion_capture', stamp)
    graph.until(lambda: any('latency' in s.message for s in graph.status), message)
    assert not graph.poses


@pytest.mark.parametrize('frame', ['motion_capture', 'nonsense'])
def test_simulated_time_is_answered_whether_a_pose_can_be_used_or_not(simulated, frame):
    message = pose_message(np.eye(4), frame, Time(sec=3, nanosec=20_000_000))
    simulated.until(lambda: simulated.answers, message)
    answer = simulated.answers[0]
    assert (answer.node, answer.stamp) == ('/soft_arm/tip_tracker', message.header.stamp)
