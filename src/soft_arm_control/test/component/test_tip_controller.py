"""Test the tip controller as a process.

`control_testing.simulated_rig` simulates driver, camera, tip tracker and inverse kinematics.
"""

import json
import math
import signal
import threading

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, TransformStamped
from lifecycle_msgs.msg import State, TransitionEvent
from std_srvs.srv import Trigger

from control_testing.simulated_rig import TARGET, Rig, start_controller
from soft_arm_control.cli import move, vent
from soft_arm_control.ros.arm_client import ArmClient, tip_target
from soft_arm_control.ros.tip_goals import IK_SERVICE_TIMEOUT_S
from soft_arm_control.tip.command_shaper import STOP_STEPS
from soft_arm_msgs.action import FollowPath, MoveTip
from soft_arm_msgs.msg import TipTarget
from soft_arm_msgs.srv import SolveIK
from system_testing.probe import DEADLINE_S

NEVER_M = 1e-6  # a tolerance that this arm does not reach


@pytest.fixture(scope='module')
def process(ros_domain):
    process = start_controller('/soft_arm')
    yield process
    process.kill()
    process.communicate()


@pytest.fixture(scope='module')
def rig(process):
    with Rig() as rig:
        yield rig


def is_ok(rig):
    return rig.status.level == DiagnosticStatus.OK and rig.status.message


def test_a_goal_without_inverse_kinematics_is_refused_and_nothing_moves(rig):
    result = rig.move()
    assert result.error_code == MoveTip.Result.IK_UNAVAILABLE
    assert 'solve_ik is not available' in result.error_msg
    assert not rig.commands
    rig.wait(
        lambda: (
            rig.status.level == DiagnosticStatus.WARN and 'inverse_kinematics' in rig.status.message
        ),
        'diagnostics report it',
    )


def test_goals_that_wait_for_inverse_kinematics_end_once_each_and_the_newest_wins(rig):
    first, second, third = (
        rig.send(timeout_s=30.0, tolerance_m=NEVER_M, open_loop=False) for _ in range(3)
    )
    assert 'cancelled by the client' in rig.cancel(second).error_msg
    rig.offer_ik(IK_SERVICE_TIMEOUT_S / 4)
    assert rig.ended(first).error_code == MoveTip.Result.REPLACED
    rig.wait(lambda: rig.commands, 'the newest commands')
    assert not third[1].done()
    assert rig.cancel(third).error_code == MoveTip.Result.CANCELLED
    rig.wait(lambda: is_ok(rig), 'diagnostics tell that a goal can be taken')


def test_an_older_goal_does_not_start_after_a_newer_one_that_needed_no_inverse_kinematics(rig):
    rig.called(lambda: rig.hold_answers(True))
    older = rig.send(timeout_s=30.0)
    newer = rig.send(timeout_s=30.0, tolerance_m=NEVER_M, open_loop=False, lengths_m=[0.1] * 6)
    rig.called(lambda: rig.hold_answers(False))
    assert rig.ended(older).error_code == MoveTip.Result.REPLACED
    before = len(rig.questions)
    path = FollowPath.Goal(waypoints=[TipTarget(position=TARGET)] * 2, times_s=[1.0, 0.0])
    assert (
        rig.ended(rig.send_to(FollowPath, 'follow_path', path)).error_code
        == MoveTip.Result.INVALID_GOAL
    )
    assert len(rig.questions) == before + 1
    too_fast = rig.move(max_velocity_scaling_factor=1.5)
    assert too_fast.error_code == MoveTip.Result.INVALID_GOAL and '1.5' in too_fast.error_msg
    assert not newer[1].done()
    assert rig.cancel(newer).error_code == MoveTip.Result.CANCELLED


def test_a_goal_waits_for_inverse_kinematics_and_commands_what_it_answers(rig):
    result = rig.move()
    assert 'solve_ik' not in result.error_msg
    # The target is above the tip on the axis: vacuum, the same in all bellows of a module.
    commanded_pa = np.reshape(rig.commands[-1].pressures_pa, (2, 3))
    assert commanded_pa.max() < 0.0 and np.ptp(commanded_pa, axis=1).max() < 1.0


def test_where_solve_ik_has_no_solution_the_arm_under_gravity_may_have_one(rig):
    rig.ik_error_code = SolveIK.Response.OUTSIDE_WORKSPACE
    try:
        result = rig.move()
    finally:
        rig.ik_error_code = SolveIK.Response.NONE
    assert result.error_code != MoveTip.Result.OUTSIDE_WORKSPACE
    commanded_pa = np.reshape(rig.commands[-1].pressures_pa, (2, 3))
    assert commanded_pa.max() < 0.0 and np.ptp(commanded_pa, axis=1).max() < 1.0


def test_a_payload_needs_more_vacuum_and_one_that_is_no_mass_is_refused(rig):
    rig.move()
    without_pa = np.array(rig.commands[-1].pressures_pa)
    rig.move(payload_kg=0.5)
    assert np.all(np.array(rig.commands[-1].pressures_pa) < without_pa - 500.0)
    refused = rig.move(payload_kg=-0.5)
    assert refused.error_code == MoveTip.Result.INVALID_GOAL and '-0.5' in refused.error_msg


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


def spoil_position(tip):
    tip.pose.pose.position.x = math.nan


def test_an_invalid_tip_pose_is_ignored_and_reported(rig, process):
    rig.wait(lambda: is_ok(rig), 'a goal can be taken')
    rig.spoil_tip_pose = spoil_position
    try:
        rig.reports('the tip was not measured', 'tip_pose ignored', 'not finite')
        result = rig.move(open_loop=False)
        assert result.error_code == MoveTip.Result.TIP_LOST and len(result.error_msg) <= 300
    finally:
        rig.spoil_tip_pose = None
    assert process.poll() is None
    rig.reports_no('not measured')
    assert rig.move().error_code in (MoveTip.Result.NONE, MoveTip.Result.TIMEOUT)


def test_a_lost_tip_is_reported_with_the_trackers_reason(rig):
    rig.spoil_tip_pose = lambda tip: setattr(tip.header, 'frame_id', '')
    rig.detector_says('ring lost: the wall found is 104.6 mm high')
    rig.reports('104.6 mm')
    result = rig.move(open_loop=False)
    rig.spoil_tip_pose = None
    assert 'the tip was not measured' in result.error_msg and '104.6 mm high' in result.error_msg


def largest_change_pa(commands):
    return np.ptp([command.pressures_pa for command in commands], axis=0).max()


def test_beside_another_node_that_commands_no_goal_is_taken(rig):
    rig.move(lengths_m=[0.1] * 6)
    rig.called(lambda: rig.also_command(True))
    try:
        rig.reports('/soft_arm/rig also publishes pressure_command')
        rig.wait(lambda: largest_change_pa(rig.commands[-STOP_STEPS:]) < 1.0, 'the stop is over')
        before = len(rig.commands)
        result = rig.move(timeout_s=5.0, lengths_m=[0.09] * 6)
        assert result.error_code == MoveTip.Result.ARM_TAKEN and '/soft_arm/rig' in result.error_msg
        rig.wait(lambda: len(rig.commands) > before + 2, 'further commands')
        assert largest_change_pa(rig.commands[before - 1 :]) < 1.0
    finally:
        rig.called(lambda: rig.also_command(False))
    rig.reports_no('also publishes')


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
    x, y, z = rig.tip_m  # the arm stands still
    path.write_text(f'time_s,x_m,y_m,z_m\n0.2,{x},{y},{z}\n0.6,{x},{y},{z}\n')
    assert move.main(['--path', str(path)]) == 0
    assert 'waypoint' in capsys.readouterr().err


def test_the_marker_of_the_target_is_published_when_it_changes(rig):
    rig.wait(lambda: is_ok(rig), 'a goal can be taken')
    x, y, z = (value + 0.01 for value in rig.tip_m)
    before, commanded = len(rig.markers), len(rig.commands)
    assert rig.move(point=Point(x=x, y=y, z=z), tolerance_m=0.1).error_code == MoveTip.Result.NONE
    rig.wait(lambda: len(rig.commands) > commanded + 100, 'the arm is held for 2 s')
    assert len(rig.markers) == before + 1
    marked = rig.markers[-1].pose.position
    assert [marked.x, marked.y, marked.z] == pytest.approx([x, y, z])


def test_an_interrupt_while_a_message_is_taken_loses_nothing(rig, monkeypatch):
    """Raised there, KeyboardInterrupt becomes a TypeError, or an answer is lost."""
    make, interrupted = MoveTip.Impl.FeedbackMessage.__init__, []

    def make_interrupted(self, **fields):
        if threading.current_thread() is threading.main_thread() and not interrupted:
            interrupted.append(True)
            signal.raise_signal(signal.SIGINT)
        make(self, **fields)

    monkeypatch.setattr(MoveTip.Impl.FeedbackMessage, '__init__', make_interrupted)
    rig.wait(lambda: is_ok(rig), 'a goal can be taken')
    with ArmClient('soft_arm') as arm:
        result = arm.move(tip_target((0, 0, 0.2)), NEVER_M, 60.0, lambda *_: None)
    assert interrupted and result.error_code == MoveTip.Result.CANCELLED


def test_commands_without_a_rig_say_what_to_start(ros_domain, capsys):
    for main, arguments in ((move.main, ['0', '0', '0.2']), (vent.main, [])):
        assert main([*arguments, '--namespace', 'nobody']) == 2
        error = capsys.readouterr().err
        assert ' for /nobody/' in error
        assert 'softarm launch launch/sim.launch.xml' in error
        assert error.count('\n') == 1


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


def test_where_nothing_measures_the_tip_a_closed_loop_goal_is_refused(rig):
    process = start_controller('/unmeasured', 'measured:=false')
    try:
        feedback = '/unmeasured/move_tip/_action/feedback'
        rig.wait(lambda: rig.count_publishers(feedback), 'the action is offered')
        with ArmClient('unmeasured') as arm:
            result = arm.move(tip_target((0, 0, 0.2)), NEVER_M, 60.0, lambda *_: None)
    finally:
        process.kill()
        process.communicate()
    assert result.error_code == MoveTip.Result.INVALID_GOAL
    assert 'nothing measures the tip' in result.error_msg and 'open_loop' in result.error_msg


def test_a_second_controller_ends_and_names_the_first(rig, process):
    second = start_controller('/soft_arm')
    error = second.communicate(timeout=DEADLINE_S)[1]
    assert second.returncode == 1 and error.count('\n') == 1
    assert '/soft_arm/tip_controller already publishes /soft_arm/pressure_command' in error
    assert process.poll() is None and rig.move().error_code != MoveTip.Result.ARM_TAKEN
