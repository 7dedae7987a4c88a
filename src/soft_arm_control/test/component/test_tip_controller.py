"""Test the tip controller as a process.

This file simulates the driver, the camera, the ring detector and the inverse kinematics.
"""

import json
import math
import signal
import subprocess
import sys

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, PoseWithCovarianceStamped, TransformStamped
from lifecycle_msgs.msg import State, TransitionEvent
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from sensor_msgs.msg import CameraInfo
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from tf2_ros import StaticTransformBroadcaster

from soft_arm_control.cli import move, vent
from soft_arm_control.ros.conversions import target_marker
from soft_arm_control.ros.tip_goals import IK_TIMEOUT_S
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_kinematics.arm import load_arm
from soft_arm_msgs.action import FollowPath, MoveTip
from soft_arm_msgs.msg import ChamberPressures, IkSolution, TipTarget
from soft_arm_msgs.srv import SolveIK
from soft_arm_node_kit import qos
from soft_arm_node_kit.testing import DEADLINE_S, SpinningNode

START = 'import sys; from soft_arm_control.ros.tip_controller_node import main; sys.exit(main())'
PARAMETERS = ['-p', 'robot:=two_module_arm', '-p', 'rig:=virtual']
TARGET = Point(x=0.0, y=0.0, z=0.2)
NEVER_M = 1e-6  # a tolerance that this arm does not reach


def start(namespace):
    arguments = ['--ros-args', '-r', f'__ns:={namespace}', *PARAMETERS]
    return subprocess.Popen(
        [sys.executable, '-c', START, *arguments], stderr=subprocess.PIPE, text=True
    )


class Rig(SpinningNode):
    """Driver, camera, ring detector, inverse kinematics and client in one node; the arm rests."""

    def __init__(self):
        super().__init__('rig', 'soft_arm')
        self.arm = load_arm()
        self.tip_m = self.arm.tip(self.arm.lengths([0.0] * 6)).tolist()
        self.commands, self.questions, self._service, self._offer, self.status = (
            [],
            [],
            None,
            None,
            DiagnosticStatus(),
        )
        self._held, self._foreign = None, None
        self._pressures = self.create_publisher(ChamberPressures, 'pressures', qos.STATE)
        self._ring = self.create_publisher(PoseWithCovarianceStamped, 'ring_pose', qos.STATE)
        self._camera = self.create_publisher(CameraInfo, 'color/camera_info', qos.STATE)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', qos.STATE)
        self.transitions = self.create_publisher(
            TransitionEvent, 'pneumatic_driver/transition_event', qos.STATE
        )
        self.tf = StaticTransformBroadcaster(self)
        self.create_subscription(
            ChamberPressures, 'pressure_command', self.commands.append, qos.COMMAND
        )
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, qos.STATE)
        self.move_tip, self.follow_path = (
            ActionClient(self, MoveTip, 'move_tip'),
            ActionClient(self, FollowPath, 'follow_path'),
        )
        self.pressures_pa, self.spoil_ring, self.spoil_pressures = [0.0] * 6, None, None
        self.create_timer(PERIOD_S, self._tick)
        self.spin()

    def _on_diagnostics(self, message):
        for status in message.status:
            if status.name == 'soft_arm/tip_controller':
                self.status = status

    def values(self):
        return {value.key: value.value for value in self.status.values}

    def _tick(self):
        message, ring, camera = (
            ChamberPressures(names=list(self.arm.robot.chambers)),
            PoseWithCovarianceStamped(),
            CameraInfo(),
        )
        message.pressures_pa = self.pressures_pa
        pose = ring.pose.pose
        ring.header.frame_id, pose.orientation.w = self.arm.robot.base.frame, 1.0
        pose.position.x, pose.position.y, pose.position.z = self.tip_m
        for each in (message, ring, camera):
            each.header.stamp = self.get_clock().now().to_msg()
        if self.spoil_ring:
            self.spoil_ring(ring)
        if self.spoil_pressures:
            self.spoil_pressures(message)
        self._pressures.publish(message)
        self._ring.publish(ring)
        self._camera.publish(camera)

    def driver_says_active(self):
        message = DiagnosticArray(status=[DiagnosticStatus(name='soft_arm/pneumatic_driver')])
        message.header.stamp = self.get_clock().now().to_msg()
        message.status[0].values = [KeyValue(key='state', value='active')]
        self._diagnostics.publish(message)

    def detector_says(self, text):
        self._diagnostics.publish(
            DiagnosticArray(status=[DiagnosticStatus(name='soft_arm/ring_detector', message=text)])
        )

    def offer_ik(self, after_s=0.0):
        self._offer = self.create_timer(after_s, self._offer_now)

    def _offer_now(self):
        self._offer.cancel()
        self._service = self.create_service(
            SolveIK, 'solve_ik', self._solve, callback_group=ReentrantCallbackGroup()
        )

    def hold_answers(self, wanted):
        held, self._held = self._held, Future() if wanted else None
        if held:
            held.set_result(None)

    async def _solve(self, request, response):
        self.questions.append(request)
        if self._held:
            await self._held
        response.solutions = [IkSolution(lengths_m=[0.1] * 6, names=list(self.arm.robot.chambers))]
        return response

    def also_command(self, wanted):
        if wanted:
            self._foreign = self.create_publisher(ChamberPressures, 'pressure_command', qos.COMMAND)
        else:
            self.destroy_publisher(self._foreign)

    def send(
        self, timeout_s=1.0, open_loop=True, lengths_m=(), point=TARGET, tolerance_m=0.0, frame=''
    ):
        goal = MoveTip.Goal(
            target=TipTarget(header=Header(frame_id=frame), position=point, lengths_m=lengths_m),
            timeout_s=timeout_s,
            open_loop=open_loop,
        )
        goal.tolerance_m = tolerance_m
        return self.send_to(self.move_tip, goal)

    def send_to(self, client, goal):
        self.wait(client.server_is_ready, 'the action is offered')
        sent = self.called(lambda: client.send_goal_async(goal))
        self.wait(sent.done, 'the goal is answered')
        return sent.result(), self.called(sent.result().get_result_async)

    def result(self, sent):
        _, ended = sent
        self.wait(ended.done, 'the goal ends')
        return ended.result().result

    def cancel(self, sent):
        cancelled = self.called(sent[0].cancel_goal_async)
        self.wait(cancelled.done, 'the cancellation is answered')

    def move(self, **goal):
        return self.result(self.send(**goal))


@pytest.fixture(scope='module')
def process(ros_domain):
    process = start('/soft_arm')
    yield process
    process.kill()
    process.communicate()


@pytest.fixture(scope='module')
def rig(process):
    rclpy.init()
    rig = Rig()
    yield rig
    rig.close()
    rclpy.shutdown()


def is_ok(rig):
    return rig.status.level == DiagnosticStatus.OK and rig.status.message


def test_a_goal_without_inverse_kinematics_is_refused_and_nothing_moves(rig):
    result = rig.move()
    assert (
        result.error_code == MoveTip.Result.IK_UNAVAILABLE
        and 'solve_ik is not available' in result.error_msg
    )
    assert not rig.commands
    rig.wait(
        lambda: (
            rig.status.level == DiagnosticStatus.WARN and 'inverse_kinematics' in rig.status.message
        ),
        'diagnostics tell',
    )


def test_goals_that_wait_for_inverse_kinematics_end_once_each_and_the_newest_wins(rig):
    first, second, third = (
        rig.send(timeout_s=30.0, tolerance_m=NEVER_M, open_loop=False) for _ in range(3)
    )
    rig.cancel(second)
    assert 'cancelled by the client' in rig.result(second).error_msg
    rig.offer_ik(IK_TIMEOUT_S / 4)
    assert rig.result(first).error_code == MoveTip.Result.REPLACED
    rig.wait(lambda: rig.commands, 'the newest commands')
    assert not third[1].done()
    rig.cancel(third)
    assert rig.result(third).error_code == MoveTip.Result.CANCELLED
    rig.wait(lambda: is_ok(rig), 'diagnostics tell that a goal can be taken')


def test_an_older_goal_does_not_start_after_a_newer_one_that_needed_no_inverse_kinematics(rig):
    rig.called(lambda: rig.hold_answers(True))
    older = rig.send(timeout_s=30.0)
    newer = rig.send(timeout_s=30.0, tolerance_m=NEVER_M, open_loop=False, lengths_m=[0.1] * 6)
    rig.called(lambda: rig.hold_answers(False))
    assert rig.result(older).error_code == MoveTip.Result.REPLACED
    before = len(rig.questions)
    path = FollowPath.Goal(waypoints=[TipTarget(position=TARGET)] * 2, times_s=[1.0, 0.0])
    assert rig.result(rig.send_to(rig.follow_path, path)).error_code == MoveTip.Result.INVALID_GOAL
    assert (
        len(rig.questions) == before + 1 and not newer[1].done()
    )  # a goal that cannot be taken changes nothing
    rig.cancel(newer)
    assert rig.result(newer).error_code == MoveTip.Result.CANCELLED


def test_a_goal_waits_for_inverse_kinematics_and_commands_what_it_answers(rig):
    result = rig.move()
    assert 'solve_ik' not in result.error_msg
    commanded_pa = rig.commands[
        -1
    ].pressures_pa  # vacuum, the same in all bellows: they are to be equal and shorter than at rest
    assert max(commanded_pa) < 0.0 and max(commanded_pa) - min(commanded_pa) < 1.0


def test_a_target_in_another_frame_is_transformed_and_an_unknown_frame_is_refused(rig):
    robot_base = rig.arm.robot.base.frame
    transform = TransformStamped(child_frame_id='camera_of_the_test')
    transform.header.frame_id = robot_base
    turn, origin = transform.transform.rotation, transform.transform.translation
    turn.x, turn.w, origin.z = 1.0, 0.0, 0.5  # upside down, 0.5 m above the base
    rig.tf.sendTransform(transform)
    rig.move(point=Point(x=0.01, y=0.02, z=0.3), frame='camera_of_the_test')
    asked = rig.questions[-1].target
    assert [asked.x, asked.y, asked.z] == pytest.approx([0.01, -0.02, 0.2])
    assert rig.questions[-1].header.frame_id == ''
    before = len(rig.questions)
    result = rig.move(frame='nowhere')
    assert result.error_code == MoveTip.Result.TF_ERROR and "'nowhere'" in result.error_msg
    assert len(result.error_msg) <= 300 and len(rig.questions) == before


def test_a_transition_event_that_is_garbage_or_contradicted_by_the_driver_does_no_harm(rig):
    rig.wait(lambda: is_ok(rig), 'a goal can be taken')
    garbage = TransitionEvent()
    garbage.goal_state.id = 77
    rig.transitions.publish(garbage)
    inactive = TransitionEvent()
    inactive.goal_state.id, inactive.goal_state.label = State.PRIMARY_STATE_INACTIVE, 'inactive'
    rig.transitions.publish(inactive)
    rig.wait(lambda: 'the driver is inactive' in rig.status.message, 'it is believed')
    rig.driver_says_active()
    rig.wait(lambda: is_ok(rig), 'the driver says that it is active')


def position(x):
    return lambda ring: setattr(ring.pose.pose.position, 'x', x)


def covariance(index, value):
    def spoil(ring):
        ring.pose.covariance[index] = value

    return spoil


@pytest.mark.parametrize(
    ('spoil', 'words'),
    [
        (position(math.nan), 'not finite'),
        (position(math.inf), 'not finite'),
        (covariance(0, math.nan), 'not finite'),
        (covariance(35, math.inf), 'not finite'),
        (covariance(0, -1.0), 'semidefinite'),
        (lambda ring: setattr(ring.pose.pose.orientation, 'w', 0.0), 'quaternion'),
        (lambda ring: setattr(ring.header, 'frame_id', 'nonsense'), "'nonsense'"),
        (lambda ring: setattr(ring.header.stamp, 'sec', 0), 'old'),
        (
            lambda ring: setattr(ring.header.stamp, 'sec', ring.header.stamp.sec + 3600),
            'in the future',
        ),
    ],
)
def test_a_ring_pose_that_cannot_be_used_is_ignored_and_told(rig, process, spoil, words):
    rig.wait(lambda: is_ok(rig), 'a goal can be taken')
    rig.spoil_ring = spoil
    try:
        told = ('no ring detected', 'ring_pose ignored', words)
        rig.wait(
            lambda: all(word in rig.status.message for word in told), f'diagnostics tell {words}'
        )
        assert process.poll() is None
        result = rig.move(open_loop=False)
        assert result.error_code == MoveTip.Result.RING_LOST and len(result.error_msg) <= 300
    finally:
        rig.spoil_ring = None
    rig.wait(lambda: 'no ring' not in rig.status.message, 'the ring counts again')
    assert rig.move().error_code in (MoveTip.Result.NONE, MoveTip.Result.TIMEOUT)


@pytest.mark.parametrize(
    ('spoil', 'words'),
    [
        (lambda m: setattr(m, 'pressures_pa', [math.nan] * 6), 'no finite pressure'),
        (lambda m: setattr(m, 'pressures_pa', [1e300] * 6), 'check its sensor'),
        (lambda m: setattr(m, 'pressures_pa', [0.0] * 5), 'no finite pressure'),
        (lambda m: setattr(m, 'names', ['a' * 1000] * 1000), 'no finite pressure'),
        (lambda m: setattr(m.header.stamp, 'sec', 0), 'old'),
        (lambda m: setattr(m.header.stamp, 'sec', m.header.stamp.sec + 3600), 'in the future'),
    ],
)
def test_pressures_that_cannot_be_used_are_ignored_and_told(rig, process, spoil, words):
    rig.spoil_pressures = spoil
    try:
        told = ('no measured pressures', 'pressures ignored', words)
        rig.wait(
            lambda: all(word in rig.status.message for word in told), f'diagnostics tell {words}'
        )
        assert process.poll() is None and rig.move().error_code == MoveTip.Result.DRIVER_LOST
    finally:
        rig.spoil_pressures = None
    rig.wait(lambda: 'pressures' not in rig.status.message, 'they count again')


def test_a_ring_where_this_arm_cannot_be_refuses_the_goal(rig):
    rig.spoil_ring = position(5.0)
    try:
        rig.wait(lambda: "from the model's" in rig.status.message, 'diagnostics tell')
        result = rig.move(open_loop=False)
    finally:
        rig.spoil_ring = None
    assert result.error_code == MoveTip.Result.RING_LOST and result.error_msg.endswith(
        'goal refused'
    )
    assert (
        "measured tip is 5.00 m from the model's" in result.error_msg
        and 'extrinsics' in result.error_msg
    )
    rig.wait(lambda: 'model' not in rig.status.message, 'the ring counts again')


def test_a_lost_ring_is_told_with_what_the_detector_says(rig):
    rig.spoil_ring = lambda ring: setattr(ring.header, 'frame_id', '')
    rig.detector_says('ring lost: the wall found is 104.6 mm high')
    rig.wait(lambda: '104.6 mm' in rig.status.message, 'diagnostics tell')
    result = rig.move(open_loop=False)
    rig.spoil_ring = None
    assert (
        'no ring detected' in result.error_msg
        and '104.6 mm high' in result.error_msg
        and 'robot file' in result.error_msg
    )


@pytest.mark.parametrize('number', [math.nan, math.inf, -1.0])
def test_goals_that_make_no_sense_are_refused(rig, number):
    for goal in (
        {'point': Point(x=number * math.nan)},
        {'tolerance_m': number},
        {'timeout_s': number},
        {'lengths_m': [number] * 6},
    ):
        result = rig.move(**goal)
        assert result.error_code == MoveTip.Result.INVALID_GOAL and result.error_msg


def test_beside_another_node_that_commands_no_goal_is_taken(rig):
    rig.called(lambda: rig.also_command(True))
    try:
        rig.wait(
            lambda: '/soft_arm/rig also publishes pressure_command' in rig.status.message,
            'diagnostics tell',
        )
        before = len(rig.commands)
        result = rig.move(timeout_s=5.0, lengths_m=[0.09] * 6)
        assert result.error_code == MoveTip.Result.ARM_TAKEN and '/soft_arm/rig' in result.error_msg
        assert (
            len({tuple(c.pressures_pa) for c in rig.commands[before:]}) <= 1
        )  # it holds what it held
    finally:
        rig.called(lambda: rig.also_command(False))
    rig.wait(lambda: 'also publishes' not in rig.status.message, 'it is alone again')


def test_the_command_moves_the_tip_and_says_how_near(rig, capsys):
    rig.wait(lambda: is_ok(rig), 'a goal can be taken')
    x, y, z = (f'{v:.4f}' for v in rig.tip_m)
    assert (
        move.main([x, y, z, '--tolerance-m', '0.1']) == 0
    )  # the arm stands still here, within 0.1 m of every target
    assert 'reached: tip' in capsys.readouterr().out
    assert move.main([x, y, z, '--tolerance-m', '0.1', '--json']) == 0
    assert json.loads(capsys.readouterr().out)['error_code'] == 0
    assert move.main(['0', '-0.01', '0.2', '--timeout-s', '0.5', '--tolerance-m', '1e-6']) == 1
    error = capsys.readouterr().err
    assert 'mm away' in error and error.splitlines()[-1].endswith('(code 203)')


def test_the_command_follows_a_path(rig, tmp_path, capsys):
    path = tmp_path / 'path.csv'
    path.write_text('time_s,x_m,y_m,z_m\n0.2,0,0,0.2\n0.6,0,0.001,0.2\n')
    assert move.main(['--path', str(path)]) == 1  # the arm stands still, 1 mm is not reached
    assert 'waypoint' in capsys.readouterr().err


def test_an_interrupt_cancels_the_goal_of_the_command(rig):
    command = subprocess.Popen(
        ['softarm', 'move', '0', '0', '0.2', '--timeout-s', '60', '--tolerance-m', '1e-6'],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert 'mm away' in command.stderr.readline()
        command.send_signal(signal.SIGINT)
        error = command.communicate(timeout=DEADLINE_S)[1]
    finally:
        command.kill()
    assert command.returncode == 1 and 'cancelled by the client' in error.splitlines()[-1]


def test_commands_without_a_rig_say_what_to_start(ros_domain, capsys):
    for main, arguments in ((move.main, ['0', '0', '0.2']), (vent.main, [])):
        assert main([*arguments, '--namespace', 'nobody']) == 2
        error = capsys.readouterr().err
        assert (
            ' for /nobody/' in error
            and 'softarm launch launch/sim.launch.xml' in error
            and error.count('\n') == 1
        )


def test_the_arm_is_vented_by_the_command(rig, capsys):
    vented = []

    def on_vent(_, response):
        vented.append(True)
        response.success, response.message = True, 'vented; activate the node to move again'
        return response

    service = rig.called(lambda: rig.create_service(Trigger, 'vent', on_vent))
    try:
        assert vent.main([]) == 0 and vented and 'vented' in capsys.readouterr().out
    finally:
        rig.called(lambda: rig.destroy_service(service))


def test_a_second_controller_ends_and_names_the_first(rig, process):
    second = start('/soft_arm')
    error = second.communicate(timeout=DEADLINE_S)[1]
    assert second.returncode == 1 and error.count('\n') == 1
    assert '/soft_arm/tip_controller already publishes /soft_arm/pressure_command' in error
    assert process.poll() is None and rig.move().error_code != MoveTip.Result.ARM_TAKEN


def test_of_two_controllers_that_start_together_one_goes_on(rig):
    pair = [start('/elsewhere'), start('/elsewhere')]
    move_tip = ActionClient(rig, MoveTip, '/elsewhere/move_tip')
    try:
        rig.wait(lambda: any(p.poll() is not None for p in pair), 'one ends')
        rig.wait(move_tip.server_is_ready, 'the other takes goals')
        codes = [p.poll() for p in pair]
        assert sorted(codes, key=str) == [1, None]
        assert '/elsewhere/tip_controller' in pair[codes.index(1)].stderr.read()
    finally:
        rig.called(move_tip.destroy)
        for p in pair:
            p.kill()
            p.wait()
            p.stderr.close()


def test_the_target_is_seen_outside_the_ring():
    robot = load_arm().robot
    marker = target_marker(np.array([0.01, 0.0, 0.2]), robot, Time())
    reaches_m = np.abs([[p.x, p.y, p.z] for p in marker.points]).max(axis=0)
    assert (reaches_m > max(robot.ring.radius_m, robot.ring.height_m / 2)).all()
