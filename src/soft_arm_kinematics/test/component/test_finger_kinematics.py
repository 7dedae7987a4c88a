"""forward_kinematics as `finger_kinematics`: the finger's frames on the robot's flange."""

import time

import numpy as np
import pytest
import rclpy
import yaml
from rclpy.executors import SingleThreadedExecutor
from scipy.spatial.transform import Rotation
from tf2_msgs.msg import TFMessage

from soft_arm_description.robot import load_robot, shipped_robots
from soft_arm_kinematics.arm import make_arm
from soft_arm_kinematics.ros.forward_kinematics_node import ForwardKinematicsNode
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures
from soft_arm_node_kit import qos

DEADLINE_S = 300.0
PIECES = [f'piece_{i}' for i in range(1, 5)]


@pytest.fixture
def graph(ros_domain, tmp_path):
    """A finger with the paper's forced phi: probe, node, executor, messages, publisher, robot."""
    content = yaml.safe_load(shipped_robots()['four_piece_finger'].read_text())
    content['name'] = 'bent_finger'
    for segment, phi_deg in zip(content['segments'], (12.0, 8.8, 6.0, 3.3), strict=True):
        segment['phi_deg'] = phi_deg
    (tmp_path / 'finger.yaml').write_text(yaml.safe_dump(content))
    robot = ['-p', f'robot:={tmp_path / "finger.yaml"}', '-p', 'rig:=virtual']
    rclpy.init(
        args=[
            '--ros-args',
            '-r',
            '__ns:=/gripper',
            '-r',
            'forward_kinematics:__node:=finger_kinematics',
            *robot,
        ]
    )
    probe = rclpy.create_node('probe', use_global_arguments=False)
    node = ForwardKinematicsNode()
    executor = SingleThreadedExecutor()
    heard = {'tf': [], 'static': [], 'configuration': []}
    probe.create_subscription(
        TFMessage, '/tf', lambda m: heard['tf'].append(m.transforms), qos.STATE
    )
    probe.create_subscription(
        TFMessage, '/tf_static', lambda m: heard['static'].append(m.transforms), qos.LATCHED
    )
    probe.create_subscription(
        ArmConfiguration, '/gripper/configuration', heard['configuration'].append, qos.STATE
    )
    publisher = probe.create_publisher(ChamberPressures, '/gripper/pressures', qos.STATE)
    for each in (probe, node):
        executor.add_node(each)
    yield node, executor, heard, publisher, load_robot(tmp_path / 'finger.yaml')
    executor.shutdown()
    for each in (probe, node):
        each.destroy_node()
    rclpy.try_shutdown()


def until(executor, condition, each=lambda: None):
    end_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end_s, f'not within {DEADLINE_S} s'
        each()
        executor.spin_once(timeout_sec=0.1)


def matrix(message):
    T, t, q = np.eye(4), message.transform.translation, message.transform.rotation
    T[:3, :3], T[:3, 3] = Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix(), (t.x, t.y, t.z)
    return T


def test_frames_of_the_finger_hang_on_the_flange(graph):
    node, executor, heard, publisher, robot = graph
    assert node.get_fully_qualified_name() == '/gripper/finger_kinematics'
    send = lambda: publisher.publish(ChamberPressures(names=['finger'], pressures_pa=[100e3]))  # noqa: E731
    until(executor, lambda: all(heard.values()), send)
    mount = heard['static'][0][0]
    assert (mount.header.frame_id, mount.child_frame_id) == ('abb_tool0', 'soft_gripper_base_link')
    assert matrix(mount)[:3, 3] == pytest.approx(robot.base.position_m)
    frames = {t.child_frame_id: t for t in heard['tf'][-1]}
    assert list(frames) == [f'soft_gripper_{name}_tip' for name in PIECES] + [
        'soft_gripper_tip_by_model'
    ]
    assert {t.header.frame_id for t in frames.values()} == {'soft_gripper_base_link'}
    poses = make_arm(robot).at([100e3]).segment_poses
    for name, pose in zip(frames, [*poses, poses[-1]], strict=True):
        assert matrix(frames[name]) == pytest.approx(pose, abs=1e-12)
    assert np.rad2deg(heard['configuration'][-1].phi_rad) == pytest.approx([12.0, 8.8, 6.0, 3.3])
    level, text, _ = node._status()
    assert level == b'\x01' and 'nominal' in text  # no calibration of this finger


def test_a_pressure_beyond_the_range_is_said_and_its_end_used(graph):
    node, executor, heard, publisher, robot = graph
    until(
        executor,
        lambda: heard['tf'],
        lambda: publisher.publish(ChamberPressures(names=['finger'], pressures_pa=[123e3])),
    )
    tip = heard['tf'][-1][-1]
    assert matrix(tip) == pytest.approx(make_arm(robot).at([120e3]).tip_pose, abs=1e-12)
    assert '3000 Pa beyond' in node._status()[1]
