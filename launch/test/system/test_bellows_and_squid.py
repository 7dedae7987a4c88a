"""The launch files of the bellows and of the squid, started as a user starts them."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from soft_arm_description.robot import load_robot
from soft_arm_kinematics.limbs import Limbs
from soft_arm_kinematics.segments.modal import ModalModel
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures, ContactEstimate

LAUNCH = Path(__file__).parents[2]
DEADLINE_S = 300.0


class Heard:
    """A node that keeps the messages of some topics."""

    def __init__(self, topics):
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self.node, self.messages = Node('system_test', context=self._context), {}
        self.executor = SingleThreadedExecutor(context=self._context)
        self.executor.add_node(self.node)
        for topic, kind in topics.items():
            kept = self.messages.setdefault(topic, [])
            self.node.create_subscription(
                kind, topic, lambda m, kept=kept: kept.append(m), qos_profile_sensor_data
            )

    def until(self, condition, act=lambda: None):
        end_s = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < end_s, (
                f'not within {DEADLINE_S} s; '
                f'heard {[t for t, kept in self.messages.items() if kept]}'
            )
            act()
            self.executor.spin_once(timeout_sec=0.05)

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)


@pytest.fixture
def started(tmp_path):
    """Starts a launch file and gives a listener; both end with the test."""
    running = []

    def start(name, topics, *arguments):
        with (tmp_path / 'log').open('w') as out:
            command = ['softarm', 'launch', str(LAUNCH / name), *arguments]
            process = subprocess.Popen(
                command,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        heard = Heard(topics)
        heard.output = (tmp_path / 'log').read_text
        running.append((process, heard))
        return heard

    yield start
    for process, heard in running:
        heard.close()
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(DEADLINE_S) == 0


def test_four_limbs_move_and_carry_viewpoint_and_light(started):
    topics = {'/squid/joint_states': JointState, '/tf': TFMessage}
    heard = started('squid.launch.xml', topics, 'simulate:=false')
    limbs = Limbs()
    publisher = heard.node.create_publisher(ArmConfiguration, '/squid/limb_configuration', 1)
    wanted = ArmConfiguration(
        segments=['camera_1', 'light_1'],
        theta_rad=[0.8, -0.3],
        phi_rad=[0.5, 0.0],
        ell_m=[0.59, 0.6],
    )
    limbs.bend([('camera_1', 0.8, 0.5, 0.59)])
    limbs.bend([('light_1', -0.3, 0.0, 0.6)])
    values = limbs.joint_values.tolist()

    def arrived():
        states = heard.messages['/squid/joint_states']
        return states and states[-1].position.tolist() == pytest.approx(values)

    heard.until(arrived, lambda: publisher.publish(wanted))
    assert heard.messages['/squid/joint_states'][-1].name == list(limbs.joint_names)
    heard.messages['/tf'].clear()
    heard.until(lambda: heard.messages['/tf'])
    moved = {
        t.child_frame_id: t.transform.translation
        for m in heard.messages['/tf']
        for t in m.transforms
    }
    for _, frame, pose in limbs.tip_frames():
        assert [moved[frame].x, moved[frame].y, moved[frame].z] == pytest.approx(
            pose[:3, 3].tolist(), abs=1e-9
        )
    assert {'squid_camera_frame', 'squid_light_frame'} <= set(moved)
    heard.until(lambda: "ready: the squid's four limbs, 1 node," in heard.output())
    assert 'ERROR' not in heard.output()

    pid = re.findall(r'\[limb_states-1\]: process started with pid \[(\d+)\]', heard.output())[0]
    os.kill(int(pid), signal.SIGKILL)
    heard.until(lambda: heard.output().count('[limb_states-1]: process started') == 2)
    heard.messages['/squid/joint_states'].clear()
    heard.until(arrived, lambda: publisher.publish(wanted))


def test_the_bellows_contact_is_told(started):
    heard = started('bellows.launch.xml', {'/bellows/contact': ContactEstimate})
    pressures = heard.node.create_publisher(ChamberPressures, '/bellows/pressures', 10)
    poses = heard.node.create_publisher(PoseWithCovarianceStamped, '/bellows/tip_pose', 10)
    tip = ModalModel.of_segment(load_robot('modal_bellows').segments[0]).tip(0.0)

    def send():
        stamp = heard.node.get_clock().now().to_msg()
        pressure = ChamberPressures(names=['bellows'], pressures_pa=[0.0])
        pose = PoseWithCovarianceStamped()
        pressure.header.stamp = pose.header.stamp = stamp
        pose.pose.pose.position.x = float(tip[0])
        pose.pose.pose.position.z = float(tip[1])
        pose.pose.pose.orientation.w = 1.0
        pressures.publish(pressure)
        poses.publish(pose)

    heard.until(lambda: heard.messages['/bellows/contact'], send)
    heard.until(lambda: 'ready: contact of modal_bellows, 1 node,' in heard.output(), send)
    assert (
        not heard.messages['/bellows/contact'][-1].in_contact
        and heard.messages['/bellows/contact'][-1].message == 'free motion'
    )
