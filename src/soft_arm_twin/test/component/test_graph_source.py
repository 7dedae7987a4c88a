"""The live twin beside a made-up rig: what it finds, shows and commands, over DDS."""

import asyncio
import subprocess
import sys
import time

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point
from lifecycle_msgs.srv import ChangeState
from rclpy.action import ActionServer, get_action_names_and_types
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from soft_arm_description.urdf import joint_names
from soft_arm_kinematics.arm import load_arm
from soft_arm_kinematics.ros.conversions import configuration_msg, joint_state_msg
from soft_arm_kinematics.segments.sections import joint_values
from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures, IkSolution
from soft_arm_msgs.srv import SolveIK
from soft_arm_node_kit import qos
from soft_arm_twin.ros.graph_source import GraphSource
from soft_arm_twin.source import Answer
from system_testing.probe import DEADLINE_S, Probe

ARM = load_arm('two_module_arm', 'virtual')
PERIOD_S = 0.05
DRIVERS_STAMP = Time(sec=41, nanosec=7)  # its clock is simulated


class Rig(Probe):
    """Stand-in for all nodes of an arm; records what it receives."""

    def __init__(self):
        super().__init__('rig', '/soft_arm')
        self.declare_parameter('robot', 'two_module_arm')
        self.vents, self.goals = 0, []
        self.answers_ik, self.ik_requests = True, 0
        low, high = ARM.pressure_limits_pa
        self.shape = ARM.at(ARM.q_at(low + 0.7 * (high - low)))
        self._configuration = self.create_publisher(ArmConfiguration, 'configuration', 1)
        self._joints = self.create_publisher(JointState, 'joint_states', qos.STATE)
        self._pressures = self.create_publisher(ChamberPressures, 'pressures', qos.STATE)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', qos.STATE)
        self._depth = self.create_publisher(Image, '/camera/c/depth/image_raw', qos.IMAGE)
        self._info = self.create_publisher(CameraInfo, '/camera/c/color/camera_info', qos.STATE)
        self._colour = self.create_publisher(Image, '/camera/c/color/image_raw', qos.IMAGE)
        self.commands = self.listen(ChamberPressures, 'pressure_command', qos.ANY_COMMAND)
        self.create_service(Trigger, 'vent', self._vent)
        self.create_service(ChangeState, 'pneumatic_driver/change_state', self._change)
        self.offer()
        self.create_timer(PERIOD_S, self._publish)
        self.spin()

    def offer(self):
        """Offer the action and the service of controller and inverse kinematics."""
        at_once = ReentrantCallbackGroup()  # also while another request is not answered
        self._solver = self.create_service(SolveIK, 'solve_ik', self._solve, callback_group=at_once)
        self._server = ActionServer(self, MoveTip, 'move_tip', self._move)

    def end_offer(self):
        self.destroy_service(self._solver)
        server, self._server = self._server, None
        server.destroy()

    def act(self, function):
        """Run a function in the thread of the executor."""
        return self.result(self._executor.create_task(function))

    def offers_in_graph(self):
        """Names of action and service that any node of the graph uses or offers."""
        known = [*get_action_names_and_types(self), *self.get_service_names_and_types()]
        return {'/soft_arm/move_tip', '/soft_arm/solve_ik'} & {name for name, _ in known}

    def close(self):
        if self._server is not None:
            self._server.destroy()  # else it keeps the node in the graph
        super().close()

    def _publish(self):
        stamp = self.get_clock().now().to_msg()
        names = joint_names(ARM.robot)
        self._configuration.publish(configuration_msg(self.shape, ARM.robot, stamp))
        self._joints.publish(joint_state_msg(names, joint_values(self.shape), stamp))
        pressures_pa = np.linspace(1e3, 6e3, 6).tolist()
        self._pressures.publish(
            ChamberPressures(
                header=Header(stamp=DRIVERS_STAMP),
                names=list(ARM.robot.chambers),
                pressures_pa=pressures_pa,
            )
        )
        remedy = KeyValue(key='remedy', value='check the compressor')
        status = DiagnosticStatus(
            name='soft_arm/driver',
            level=DiagnosticStatus.WARN,
            message='supply low',
            values=[remedy],
        )
        self._diagnostics.publish(DiagnosticArray(status=[status]))
        k = [60.0, 0.0, 32.0, 0.0, 60.0, 24.0, 0.0, 0.0, 1.0]
        self._info.publish(CameraInfo(width=64, height=48, k=k))
        size = {'width': 64, 'height': 48}
        frame = Image(encoding='rgb8', step=192, data=bytes(64 * 48 * 3), **size)
        self._colour.publish(frame)
        depth = np.full((48, 64), 700, np.uint16).tobytes()
        image = Image(encoding='16UC1', step=128, data=depth, **size)
        image.header.frame_id = ARM.robot.base.frame
        self._depth.publish(image)

    def _vent(self, _request, response):
        self.vents += 1
        response.success, response.message = True, 'vented'
        return response

    def _change(self, _request, response):
        response.success = True
        return response

    async def _solve(self, request, response):
        self.ik_requests += 1
        if not self.answers_ik:
            await Future()
        if request.target.z > 0.3:
            response.error_code = SolveIK.Response.OUTSIDE_WORKSPACE
            response.error_msg = 'target is 50 mm outside the workspace'
            response.nearest = Point(x=0.0, y=0.0, z=0.3)
            return response
        arcs = configuration_msg(self.shape, ARM.robot, self.get_clock().now().to_msg())
        response.solutions = [
            IkSolution(configuration=arcs, names=['m1_b1'], pressures_pa=[4e3], score=0.5)
        ]
        return response

    def _move(self, handle):
        p = handle.request.target.position
        self.goals.append((p.x, p.y, p.z))
        request = handle.request
        self.options = request.max_velocity_scaling_factor, request.payload_kg
        handle.abort()
        return MoveTip.Result(error_code=203, error_msg='not settled in 10 s: increase timeout_s')


class Page:
    """Stand-in for the server: it polls and commands the source."""

    def __init__(self, source):
        self.source = source

    def wait(self, condition, what):
        end_s = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < end_s, f'waited {DEADLINE_S} s for {what}'
            self.source.panel()  # as the server asks
            asyncio.run(asyncio.sleep(0.02))

    def control(self, name):
        return next((c for c in self.source.panel().controls if c.name == name), None)

    def value(self, name):
        return next((v.value for v in self.source.panel().values if v.name == name), None)

    def command(self, name, value=None):
        """The answer to a command of a page that has control."""

        async def ask():
            answer = self.source.command(name, value, True)
            return answer if isinstance(answer, Answer) else await answer

        return asyncio.run(ask())

    def drag(self, point_m):
        """Drag the target to a point in the base frame."""
        base = ARM.base_pose
        world_m = base[:3, :3] @ np.array(point_m) + base[:3, 3]
        self.command('soft_arm/target', tuple(world_m.tolist()))

    def texts(self):
        return ' '.join(line for text in self.source.panel().texts for line in text.lines)

    def events(self):
        return ' | '.join(event.text for event in self.source.panel().events)


@pytest.fixture(scope='module')
def rig(ros_domain):
    with Rig() as running:
        yield running


@pytest.fixture(scope='module')
def page(rig):
    with GraphSource() as source:
        found = Page(source)
        found.wait(lambda: found.value('tip x by model') is not None, 'the arm')
        yield found


def test_the_arm_is_found_by_its_file_and_drawn(page, rig):
    tip_mm = [page.value(f'tip {axis} by model') for axis in 'xyz']
    np.testing.assert_allclose(tip_mm, 1e3 * rig.shape.tip_m, atol=0.01)
    assert page.source.snapshot().frames.shape == (page.source.scene().n_frames, 3, 4)


def test_pressures_diagnostics_and_remedies_are_shown(page):
    page.wait(lambda: page.value('m1_b3') == pytest.approx(3.0), 'pressures')
    page.wait(lambda: page.source.panel().diagnostics, 'diagnostics')
    (found,) = page.source.panel().diagnostics
    assert (found.level, found.text, found.remedy) == (
        'warning',
        'supply low',
        'check the compressor',
    )


def test_a_vent_reaches_the_driver(page, rig):
    before = rig.vents
    assert page.control('soft_arm/vent').always
    assert page.command('soft_arm/vent') == Answer(True, 'vented')
    assert rig.vents == before + 1


def test_a_target_is_previewed_and_then_moved_to(page, rig):
    page.drag([0.01, 0.02, 0.25])
    page.wait(lambda: 'reachable: 1 solutions' in page.texts(), 'the preview')
    assert 'm1_b1 4.0 kPa' in page.texts()
    assert not page.control('soft_arm/move').reason
    assert page.command('soft_arm/velocity', 40.0).accepted
    assert page.command('soft_arm/payload', 50.0).accepted
    assert page.command('soft_arm/move').accepted
    page.wait(lambda: 'increase timeout_s' in page.events(), 'the end of the goal')
    np.testing.assert_allclose(rig.goals[-1], [0.01, 0.02, 0.25], atol=1e-9)
    np.testing.assert_allclose(rig.options, [0.4, 0.05], atol=1e-9)


def test_outside_the_workspace_the_nearest_point_is_offered(page, rig):
    page.drag([0.0, 0.0, 0.35])
    page.wait(lambda: 'outside the workspace' in page.texts(), 'the refusal')
    assert page.command('soft_arm/move').accepted
    page.wait(lambda: rig.goals and rig.goals[-1][2] == 0.3, 'the goal at the nearest point')


def test_the_preview_goes_on_after_a_request_without_an_answer(page, rig):
    before, rig.answers_ik = rig.ik_requests, False
    page.drag([0.01, 0.02, 0.26])
    page.wait(lambda: rig.ik_requests > before, 'the request')
    rig.answers_ik = True

    def asked_again():
        page.drag([0.01, 0.02, 0.25])
        return rig.ik_requests > before + 1

    page.wait(asked_again, 'the next request')
    page.wait(lambda: 'reachable: 1 solutions' in page.texts(), 'the preview')


def test_clients_of_servers_that_have_ended_leave_the_graph_and_return(page, rig):
    page.drag([0.01, 0.02, 0.25])
    page.wait(lambda: page.control('soft_arm/move').reason == '', 'the action')
    rig.act(rig.end_offer)
    page.wait(lambda: not rig.offers_in_graph(), 'the end of the clients')
    assert 'not offered' in page.control('soft_arm/move').reason
    assert not page.command('soft_arm/move').accepted
    rig.act(rig.offer)
    page.wait(lambda: page.control('soft_arm/move').reason == '', 'the action again')
    rig.goals.clear()
    assert page.command('soft_arm/move').accepted
    page.wait(lambda: rig.goals, 'the goal')


def test_pressures_by_hand_end_with_control(page, rig):
    assert page.command('soft_arm/by_hand', True).accepted
    assert page.command('soft_arm/pressure/m1_b2', 12.5).accepted
    page.wait(lambda: rig.commands and rig.commands[-1].pressures_pa[1] == 12500.0, 'commands')
    assert rig.commands[-1].header.stamp == DRIVERS_STAMP
    page.source.released()
    page.wait(lambda: not rig.count_publishers('pressure_command'), 'the end of the commands')
    assert not page.control('soft_arm/by_hand').value


def test_pressures_by_hand_end_when_the_server_hangs(page, rig):
    # The commands of the test before this one are still fresh at first.
    page.wait(lambda: page.command('soft_arm/by_hand', True).accepted, 'pressures by hand')
    page.wait(lambda: rig.count_publishers('pressure_command'), 'commands')
    # Nothing asks for the panel from now on.
    rig.wait(lambda: not rig.count_publishers('pressure_command'), 'the end of the commands')
    assert not page.control('soft_arm/by_hand').value


def test_another_who_commands_is_not_disturbed(page, rig):
    publisher = rig.create_publisher(ChamberPressures, 'pressure_command', qos.COMMAND)
    command = ChamberPressures(names=['m1_b1'], pressures_pa=[1e3], source='/soft_arm/other 12')

    def refused():
        publisher.publish(command)
        answer = page.command('soft_arm/by_hand', True)
        page.source.released()
        return not answer.accepted and '/soft_arm/other' in answer.text

    page.wait(refused, 'the refusal')
    rig.called(lambda: rig.destroy_publisher(publisher))


def test_picture_and_cloud_are_subscribed_to_only_when_chosen(page, rig):
    topics = {
        'camera/image': '/camera/c/color/image_raw',
        'camera/cloud': '/camera/c/depth/image_raw',
    }
    page.wait(lambda: page.control('camera/cloud') is not None, 'the cameras')
    assert not any(rig.count_subscribers(topic) for topic in topics.values())
    for control, topic in topics.items():
        assert page.command(control, topic).accepted
    page.wait(lambda: page.source.image() is not None, 'a picture')
    assert page.source.image().data[:2] == b'\xff\xd8'
    for control in topics:
        page.command(control, 'none')
    page.wait(lambda: not any(rig.count_subscribers(t) for t in topics.values()), 'no subscriber')


def test_an_interrupt_while_it_ends_does_not_abort(ros_domain):
    ending = """
import os, signal, threading
from soft_arm_twin.ros.graph_source import GraphSource
with GraphSource():
    threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
"""
    done = subprocess.run([sys.executable, '-c', ending], timeout=100, capture_output=True)
    assert b'KeyboardInterrupt' in done.stderr and b'abort' not in done.stderr.lower()
