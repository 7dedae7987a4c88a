"""Test the gripper controller as a process.

This file publishes a simulated finger on the topics of the driver and the finger detector.
"""

import math
import signal
import time

import pytest
from lifecycle_msgs.msg import State, TransitionEvent
from sensor_msgs.msg import JointState

from control_testing.controller_rig import ControllerRig
from soft_arm_control.grasping.gripper import PERIOD_S
from soft_arm_description.robot import load_robot
from soft_arm_msgs.action import Grasp, Release
from soft_arm_msgs.msg import ChamberPressures, GripperState
from soft_arm_node_kit import qos
from system_testing.probe import DEADLINE_S
from system_testing.processes import start_node

pytestmark = pytest.mark.watchdogs

STALE_S = 0.5  # after which the driver vents


class Rig(ControllerRig):
    """Driver, detector and client in one node."""

    def __init__(self):
        super().__init__('gripper', 'gripper_controller')
        self.robot = load_robot('four_piece_finger')
        physics = pytest.importorskip('soft_arm_physics.pneumatic_finger')  # needs MuJoCo
        self.plant = physics.PneumaticFinger(self.robot, 1)
        self.driver = True
        self.spoil_state = None
        self.command_pa, self.commanded_s, self.commands, self._ticks = 0.0, -math.inf, 0, 0
        self._state = self.create_publisher(GripperState, 'state', qos.STATE)
        self._angles = self.create_publisher(JointState, 'piece_angles', qos.STATE)
        self._transition = self.create_publisher(
            TransitionEvent, 'pcu2v_driver/transition_event', qos.STATE
        )
        self.create_subscription(
            ChamberPressures, 'pressure_command', self._on_command, qos.COMMAND
        )
        self.create_timer(PERIOD_S, self._tick)
        self.spin()

    def _on_command(self, message):
        assert list(message.names) == ['finger']
        self.command_pa = message.pressures_pa[0]
        self.commanded_s = time.monotonic()
        self.commands = self.commands + 1

    def _tick(self):
        self._ticks += 1
        u_pa = self.command_pa if time.monotonic() - self.commanded_s < STALE_S else 0.0
        stamp = self.get_clock().now().to_msg()
        if self.driver:
            message = GripperState(
                true_pressure_pa=self.plant.sensor_pressure_pa(),
                positive_trigger=u_pa > 0,
                negative_trigger=u_pa < 0,
            )
            message.header.stamp = stamp
            message.positive_target_pa, message.negative_target_pa = max(u_pa, 0.0), min(u_pa, 0.0)
            if self.spoil_state:
                self.spoil_state(message)
            self._state.publish(message)
        self.plant.advance(PERIOD_S, max(u_pa, 0.0), min(u_pa, 0.0), u_pa > 0, u_pa < 0)
        if self._ticks % 3 == 0:
            message = JointState(
                name=list(self.robot.segment_names), position=self.plant.piece_angles_rad.tolist()
            )
            message.header.stamp = stamp
            self._angles.publish(message)

    def driver_back(self):
        """The driver speaks again, and has been heard."""
        self.driver, since = True, self._ticks
        self.wait(lambda: self._ticks > since + 25, 'pressures are published')

    def driver_state(self, state):
        message = TransitionEvent()
        label = 'active' if state == State.PRIMARY_STATE_ACTIVE else 'inactive'
        message.goal_state.id, message.goal_state.label = state, label
        self._transition.publish(message)

    def send(self, name, goal):
        return self.send_to(Grasp if name == 'grasp' else Release, name, goal)

    def act(self, name, goal):
        return self.ended(self.send(name, goal))


@pytest.fixture(scope='module')
def process(ros_domain):
    module, given = 'soft_arm_control.ros.gripper_controller_node', ('rig:=virtual',)
    process = start_node(module, 'robot:=four_piece_finger', *given, namespace='/gripper')
    yield process
    process.kill()
    process.communicate()


@pytest.fixture(scope='module')
def rig(process):
    with Rig() as rig:
        yield rig


@pytest.fixture
def free(rig):
    """A rig with nothing between the fingers, in which everything works."""
    rig.plant.place_object(None)
    rig.driver_back()
    rig.act('release', Release.Goal())
    return rig


def test_nothing_is_commanded_before_a_goal_and_a_first_goal_needs_pressures(rig):
    rig.driver = False
    result = rig.act('grasp', Grasp.Goal())
    assert (result.error_code, result.end_state) == (
        Grasp.Result.DRIVER_LOST,
        Grasp.Result.NOTHING_COMMANDED,
    )
    assert 'no measured pressures' in result.error_msg and rig.commands == 0


def test_a_grasp_tells_what_it_did_and_holds_until_the_release(rig):
    rig.driver_back()
    rig.plant.place_object(0.010)
    sent = rig.send('grasp', Grasp.Goal(squeeze_pa=12e3))
    result, feedback = rig.ended(sent), sent[2]
    assert (result.error_code, result.error_msg, result.contact) == (Grasp.Result.NONE, '', True)
    assert result.end_state == Grasp.Result.HOLDING and result.seen_by != 0
    assert {f.phase for f in feedback} == {'open', 'close', 'squeeze'}
    assert rig.command_pa == pytest.approx(result.contact_pa + 12e3, abs=1.0)
    before = rig.commands
    rig.wait(lambda: rig.commands > before + 20, 'the set point is repeated while it holds')
    refused = rig.act('grasp', Grasp.Goal())
    assert refused.error_code == Grasp.Result.INVALID_GOAL and 'release' in refused.error_msg
    assert refused.end_state == Grasp.Result.HOLDING
    released = rig.act('release', Release.Goal())
    assert (released.error_code, released.end_state) == (0, Release.Result.VENTED)
    assert released.pressure_pa == pytest.approx(-60e3, abs=5e3)
    rig.wait(lambda: rig.command_pa == 0.0, 'it vents')


@pytest.mark.parametrize('goal', [Grasp.Goal(grip_pa=math.nan), Grasp.Goal(evidence=9)])
def test_goals_that_cannot_be_taken_move_nothing(free, goal):
    result = free.act('grasp', goal)
    assert result.error_code == Grasp.Result.INVALID_GOAL and result.error_msg
    assert free.command_pa == 0.0  # of the release before


def closing(free):
    """Return a grasp that is closing."""
    sent = free.send('grasp', Grasp.Goal())
    free.wait(lambda: any(f.phase == 'close' for f in sent[2]), 'it closes')
    return sent


def test_a_newer_goal_takes_over(free):
    first = closing(free)
    second = free.send('release', Release.Goal())
    result = free.ended(first)
    assert (result.error_code, result.end_state) == (Grasp.Result.REPLACED, Grasp.Result.OTHER_GOAL)
    assert free.ended(second).error_code == 0


def test_a_driver_that_is_lost_or_inactive_is_not_commanded_on(free):
    sent = closing(free)
    free.driver = False
    result = free.ended(sent)
    assert (result.error_code, result.end_state) == (
        Grasp.Result.DRIVER_LOST,
        Grasp.Result.NOTHING_COMMANDED,
    )
    free.driver_back()
    sent = closing(free)
    free.driver_state(State.PRIMARY_STATE_INACTIVE)
    result = free.ended(sent)
    assert result.error_code == Grasp.Result.DRIVER_LOST and 'inactive' in result.error_msg
    free.driver_state(State.PRIMARY_STATE_ACTIVE)


@pytest.mark.parametrize(
    ('spoil', 'words'),
    [
        (lambda m: setattr(m, 'true_pressure_pa', 1e300), 'check the sensor'),
        (lambda m: setattr(m, 'positive_target_pa', math.inf), 'finite'),
        (lambda m: setattr(m.header.stamp, 'sec', 0), 'old'),
    ],
)
def test_a_state_that_cannot_be_used_is_ignored_and_reported(free, process, spoil, words):
    free.spoil_state = spoil
    try:
        free.reports('no measured pressures', 'state ignored', words)
        lost = free.act('grasp', Grasp.Goal()).error_code == Grasp.Result.DRIVER_LOST
        assert process.poll() is None and lost
    finally:
        free.spoil_state = None


def test_sigterm_ends_it_clean(rig, process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_S) == 0
    rig.wait(
        lambda: time.monotonic() - rig.commanded_s > STALE_S, 'a stopped node commands nothing'
    )
