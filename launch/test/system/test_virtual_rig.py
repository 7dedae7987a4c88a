"""The whole graph on the virtual rig, started as a user starts it, in the order of these tests."""

import os
import re
import signal
import socket
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger
from tf2_ros import Buffer, TransformListener

from soft_arm_bringup.launch_description import declared_arguments
from soft_arm_kinematics.arm import load_arm
from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures

LAUNCH = Path(__file__).parents[2]
DEADLINE_S = 60.0
NODES = ('pneumatic_driver', 'forward_kinematics', 'inverse_kinematics', 'ring_detector', 'tip_controller')
STREAMS = {
    '/soft_arm/pressures': ChamberPressures,
    '/soft_arm/configuration': ArmConfiguration,
    '/soft_arm/ring_pose': PoseWithCovarianceStamped,
    '/virtual_rig/debug/tip_truth': PoseStamped,
}
VENTED_PA = 3e3


class Rig:
    """A node that hears everything, and the launch that runs the rig."""

    def __init__(self, log: Path):
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            port = probe.getsockname()[1]
        self._log = log
        with log.open('w') as out:
            command = ['softarm', 'launch', str(LAUNCH / 'sim.launch.xml'), f'modbus_port:={port}', 'plant_seed:=7']
            self.launch = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node('system_test', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._changed = threading.Condition()
        self.latest = {}
        for name, kind in STREAMS.items():
            self.node.create_subscription(kind, name, lambda message, name=name: self._keep(name, message), qos_profile_sensor_data)
        self.node.create_subscription(DiagnosticArray, '/diagnostics', lambda array: [self._keep(s.name, s) for s in array.status], 10)
        self.buffer = Buffer()
        self._listener = TransformListener(self.buffer, self.node)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def _spin(self):
        while not self._stopping.is_set():
            self._executor.spin_once(timeout_sec=0.1)
            with self._changed:
                self._changed.notify_all()

    def _keep(self, name, message):
        with self._changed:
            self.latest[name] = message
            self._changed.notify_all()

    def wait(self, condition, what):
        with self._changed:
            assert self._changed.wait_for(condition, DEADLINE_S), f'{what}, within {DEADLINE_S} s; the launch said:\n{self.output()}'

    def result(self, future, what):
        self.wait(future.done, what)
        return future.result()

    def pressures_pa(self):
        return np.array(self.latest['/soft_arm/pressures'].pressures_pa)

    def truth_m(self):
        return xyz(self.latest['/virtual_rig/debug/tip_truth'].pose.position)

    def output(self):
        return self._log.read_text()

    def pids(self):
        return {name: int(pid) for name, pid in re.findall(r'\[(\w+)-\d+\]: process started with pid \[(\d+)\]', self.output())}

    def close(self):
        self._stopping.set()
        self._thread.join()
        self._listener.unregister()
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()
        if self.launch.poll() is None:
            os.killpg(self.launch.pid, signal.SIGINT)  # on SIGTERM ros2 launch would leave the nodes
            self.launch.wait(60)


def xyz(point):
    return np.array([point.x, point.y, point.z])


@pytest.fixture(scope='module')
def rig(tmp_path_factory, ros_domain):
    rig = Rig(tmp_path_factory.mktemp('rig') / 'launch.txt')
    yield rig
    rig.close()


def send_goal(rig, target_m, tolerance_m=0.001):
    client = ActionClient(rig.node, MoveTip, '/soft_arm/move_tip')
    rig.wait(client.server_is_ready, 'move_tip is offered')
    goal = MoveTip.Goal(tolerance_m=tolerance_m, timeout_s=40.0)
    goal.target.position.x, goal.target.position.y, goal.target.position.z = map(float, target_m)
    return rig.result(client.send_goal_async(goal), 'the goal is answered')


def move_tip(rig, target_m):
    handle = send_goal(rig, target_m)
    assert handle.accepted
    return rig.result(handle.get_result_async(), 'the goal ends').result


def bent_tip_m():
    """Somewhere well inside the workspace."""
    arm = load_arm()
    low_m, high_m = arm.length_limits_m
    return arm.tip_from_lengths(low_m + (high_m - low_m) * np.array([0.35, 0.2, 0.2, 0.35, 0.3, 0.3]))


def test_both_rigs_take_the_same_arguments():
    assert list(declared_arguments(LAUNCH / 'sim.launch.xml')) == list(declared_arguments(LAUNCH / 'rig.launch.xml'))


def test_every_node_runs(rig):
    wanted = {f'/soft_arm/{name}' for name in NODES} | {'/virtual_rig', '/camera/camera'}

    def present():
        return {f'{namespace.rstrip("/")}/{name}' for name, namespace in rig.node.get_node_names_and_namespaces()}

    rig.wait(lambda: wanted <= present() or 'process has died' in rig.output(), f'{sorted(wanted)} run')
    assert wanted <= present(), rig.output()


def test_every_stream_flows(rig):
    rig.wait(lambda: set(STREAMS) <= set(rig.latest), f'each of {sorted(STREAMS)} was received')
    assert rig.latest['/soft_arm/ring_pose'].header.frame_id == 'soft_arm_base_link'
    assert tuple(rig.latest['/soft_arm/pressures'].names) == load_arm().robot.chambers


@pytest.mark.parametrize(
    'frame',
    ['soft_arm_base_link', 'soft_arm_module_1_tip', 'soft_arm_tip_by_model', 'soft_arm_tip_by_vision', 'camera_color_optical_frame'],
)
def test_every_frame_hangs_on_the_world(rig, frame):
    rig.wait(lambda: rig.buffer.can_transform('world', frame, rclpy.time.Time()), f'{frame} is known')


def test_the_camera_sees_the_ring_where_it_is(rig):
    def error_m():
        return np.linalg.norm(xyz(rig.latest['/soft_arm/ring_pose'].pose.pose.position) - rig.truth_m())

    rig.wait(lambda: error_m() < 0.003, 'the seen ring is within 3 mm of the true one')


def hears_pressures(rig):
    """Whether the controller does, which may have found the driver later than this test."""
    status = rig.latest.get('soft_arm/tip_controller')
    return status is not None and float({v.key: v.value for v in status.values}['pressures_hz']) > 20


def test_the_tip_reaches_a_target(rig):
    rig.wait(lambda: hears_pressures(rig), 'the controller hears the driver')
    target_m = bent_tip_m()
    result = move_tip(rig, target_m)
    assert (result.error_code, result.error_msg) == (MoveTip.Result.NONE, '')
    rig.wait(lambda: np.linalg.norm(rig.truth_m() - target_m) < 0.002, 'the true tip is within 2 mm of its target')


def test_an_unreachable_target_moves_nothing(rig):
    before_m = rig.truth_m()
    result = move_tip(rig, [0.0, 0.0, 5.0])
    assert result.error_code == MoveTip.Result.OUTSIDE_WORKSPACE
    assert '5' in result.error_msg
    assert np.linalg.norm(rig.truth_m() - before_m) < 0.005


def test_a_killed_controller_leaves_a_vented_arm(rig):
    send_goal(rig, bent_tip_m(), tolerance_m=1e-4)
    rig.wait(lambda: np.abs(rig.pressures_pa()).max() > VENTED_PA, 'the arm is under pressure')
    os.kill(rig.pids()['tip_controller'], signal.SIGKILL)
    rig.wait(lambda: np.abs(rig.pressures_pa()).max() < VENTED_PA, 'the driver has vented for want of commands')


def test_vent_answers(rig):
    client = rig.node.create_client(Trigger, '/soft_arm/vent')
    rig.wait(client.service_is_ready, 'vent is offered')
    assert rig.result(client.call_async(Trigger.Request()), 'vent answers').success


def test_ctrl_c_ends_everything(rig):
    pids = rig.pids()
    assert set(pids) == {*NODES, 'virtual_rig'}
    os.killpg(rig.launch.pid, signal.SIGINT)
    assert rig.launch.wait(DEADLINE_S) == 0
    assert not any(Path(f'/proc/{pid}').exists() for pid in pids.values())
    deaths = re.findall(r'\[(\w+)-\d+\]: process has died', rig.output())
    assert deaths == ['tip_controller'], rig.output()  # the one that a test has killed
