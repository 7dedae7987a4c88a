"""The virtual rig in lockstep, started by its launch file; the tests run in this order."""

import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import ListParameters
from std_srvs.srv import Trigger

from soft_arm_kinematics.arm import load_arm
from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures
from softarm_cli.launching.description import declared_arguments
from system_testing.garbage import Storm
from system_testing.launched_graph import LAUNCH, LaunchedGraph, tip_goal
from system_testing.pages import name_of, pages_of, run
from system_testing.probe import DEADLINE_S
from system_testing.processes import free_port

NODES = (
    'pneumatic_driver',
    'forward_kinematics',
    'inverse_kinematics',
    'tip_tracker',
    'tip_controller',
)
STREAMS = {
    '/soft_arm/pressures': ChamberPressures,
    '/soft_arm/configuration': ArmConfiguration,
    '/soft_arm/tip_pose': PoseWithCovarianceStamped,
    '/soft_arm/virtual_rig/debug/tip_truth': PoseStamped,
}
FRAMES = (
    'soft_arm_base_link',
    'soft_arm_module_1_tip',
    'soft_arm_tip_by_model',
    'soft_arm_tip_by_vision',
    'camera_color_optical_frame',
)
VENTED_PA = 3e3
GOALS = 3
LOST = {MoveTip.Result.DRIVER_LOST, MoveTip.Result.CAMERA_STALE, MoveTip.Result.TIP_LOST}


class Rig(LaunchedGraph):
    def __init__(self, log: Path):
        arguments = [f'modbus_port:={free_port()}', 'use_sim_time:=true']
        super().__init__(log, [str(LAUNCH / 'sim.launch.xml'), *arguments], STREAMS)

    def pressures_pa(self):
        return np.array(self.latest['/soft_arm/pressures'].pressures_pa)

    def truth_m(self):
        return xyz(self.latest['/soft_arm/virtual_rig/debug/tip_truth'].pose.position)


def xyz(point):
    return np.array([point.x, point.y, point.z])


@pytest.fixture(scope='module')
def rig(tmp_path_factory, ros_domain):
    with Rig(tmp_path_factory.mktemp('rig') / 'launch.txt') as rig:
        rig.wait_for_streams()
        yield rig


def move_tip(rig, target_m):
    """Return the result of a goal; repeat a goal that a stall of the machine has ended."""
    for _ in range(GOALS):
        rig.wait(lambda: ready(rig), 'the controller is ready')
        result = rig.act(MoveTip, '/soft_arm/move_tip', tip_goal(target_m))
        if result.error_code not in LOST and 'no answer' not in result.error_msg:
            break
        rig.latest.pop('soft_arm/tip_controller', None)
    return result


def bent_tip_m():
    """Return a tip position inside the workspace [m]."""
    arm = load_arm()
    low_m, high_m = arm.length_limits_m
    return arm.at(low_m + (high_m - low_m) * np.array([0.35, 0.2, 0.2, 0.35, 0.3, 0.3])).tip_m


def test_the_virtual_rig_takes_every_argument_of_the_real_one():
    simulated, real = (declared_arguments(LAUNCH / f'{name}.launch.xml') for name in ('sim', 'rig'))
    assert set(simulated) - set(real) == {
        'plant_seed',
        'camera_file',
        'real_time_factor',
        'delays_file',
        'program',
        'answer_timeout_s',
    }
    assert set(real) < set(simulated)


def test_every_node_runs_and_readiness_is_reported_without_errors(rig):
    wanted = {f'/soft_arm/{name}' for name in NODES} | {'/soft_arm/virtual_rig', '/camera/camera'}
    ready = 'ready: soft_arm on the virtual rig, 6 nodes'
    rig.wait(
        lambda: (wanted <= rig.node_names() and ready in rig.output()) or rig.deaths(),
        f'{sorted(wanted)} run, and the launch is ready',
    )
    start = rig.output().split('ready: soft_arm')[0]
    assert not [line for line in start.splitlines() if 'ERROR' in line or 'Traceback' in line]


def test_the_camera_measures_the_tip_and_every_frame_is_in_the_world(rig):
    def error_m():
        return np.linalg.norm(
            xyz(rig.latest['/soft_arm/tip_pose'].pose.pose.position) - rig.truth_m()
        )

    rig.wait(lambda: error_m() < 0.003, 'the measured tip is within 3 mm of the true one')
    assert rig.latest['/soft_arm/tip_pose'].header.frame_id == 'soft_arm_base_link'
    assert tuple(rig.latest['/soft_arm/pressures'].names) == load_arm().robot.chambers
    for frame in FRAMES:
        rig.wait(
            lambda frame=frame: rig.buffer.can_transform('world', frame, rclpy.time.Time()),
            f'{frame} is known',
        )


def ready(rig):
    """Return True if the controller accepts goals: pressures arrive and solve_ik is offered."""
    status = rig.latest.get('soft_arm/tip_controller')
    receives = (
        status is not None and float({v.key: v.value for v in status.values}['pressures_hz']) > 20
    )
    return receives and rig.count_services('/soft_arm/solve_ik') > 0


def test_the_tip_reaches_a_target(rig):
    target_m = bent_tip_m()
    result = move_tip(rig, target_m)
    assert (result.error_code, result.error_msg) == (MoveTip.Result.NONE, '')
    rig.wait(
        lambda: np.linalg.norm(rig.truth_m() - target_m) < 0.002,
        'the true tip is within 2 mm of its target',
    )


def test_a_target_out_of_view_is_refused_and_nothing_moves(rig):
    before_pa, before_m = rig.pressures_pa(), rig.truth_m()
    result = rig.act(MoveTip, '/soft_arm/move_tip', tip_goal((0.04, 0.04, -0.05)))
    assert result.error_code == MoveTip.Result.OUTSIDE_VIEW and 'px outside' in result.error_msg
    assert np.abs(rig.pressures_pa() - before_pa).max() < VENTED_PA
    assert np.linalg.norm(rig.truth_m() - before_m) < 0.003


@pytest.mark.parametrize('page', pages_of('rig'), ids=name_of)
def test_the_blocks_of_the_pages_run(rig, page, tmp_path):
    assert run(page, {'rig'}, tmp_path) > 0
    assert not rig.deaths(), rig.output()


def test_garbage_on_every_topic_service_and_action_ends_no_node(rig):
    rig.wait(lambda: ready(rig), 'the controller is ready')
    before = rig.pids()
    storm = Storm(rig)
    assert {'/soft_arm/pressure_command', '/soft_arm/tip_pose', '/soft_arm/pressures'} <= set(
        storm.topics
    )
    assert {'/soft_arm/solve_ik'} <= set(storm.services)
    assert {'/soft_arm/move_tip'} <= set(storm.actions)
    storm.publish()
    storm.ask()
    for name in (*(f'/soft_arm/{name}' for name in NODES), '/soft_arm/virtual_rig'):
        rig.call(ListParameters, f'{name}/list_parameters')
    assert not rig.deaths() and rig.pids() == before, rig.output()
    for service in ('vent', 'clear_faults'):
        assert rig.call(Trigger, f'/soft_arm/{service}', Trigger.Request()).success
    again = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVATE))
    assert rig.call(ChangeState, '/soft_arm/pneumatic_driver/change_state', again).success
    rig.wait(lambda: ready(rig), 'the controller is ready')
    target_m = bent_tip_m()
    result = move_tip(rig, target_m)
    assert (result.error_code, result.error_msg) == (MoveTip.Result.NONE, '')


def test_time_goes_on_without_a_stopped_controller_until_it_answers_again(rig):
    rig.wait(lambda: ready(rig), 'the controller is ready')
    rig.send_goal(MoveTip, '/soft_arm/move_tip', tip_goal(bent_tip_m(), tolerance_m=1e-4))
    rig.wait(lambda: np.abs(rig.pressures_pa()).max() > VENTED_PA, 'the arm is under pressure')
    pid = rig.pids()['tip_controller']

    def message():
        return rig.latest['soft_arm/virtual_rig'].message

    os.kill(pid, signal.SIGSTOP)
    try:
        rig.wait(
            lambda: 'without /soft_arm/tip_controller' in message(),
            'the rig names the missing node',
        )
        rig.wait(
            lambda: np.abs(rig.pressures_pa()).max() < VENTED_PA,
            'the driver has vented without commands, in simulated time',
        )
    finally:
        os.kill(pid, signal.SIGCONT)
    rig.wait(lambda: message().startswith('in lockstep'), 'the controller is waited for again')


def test_killed_nodes_are_restarted_and_work(rig):
    for name in ('tip_tracker', 'tip_controller', 'inverse_kinematics'):
        rig.kill(name)
    rig.wait(
        lambda: all(starts(rig, name) >= 2 for name in rig.killed), 'all killed nodes are restarted'
    )
    for name in rig.killed:
        rig.wait(lambda name=name: works(rig, name, rig.pids().get(name)), f'the new {name} works')
    target_m = bent_tip_m()
    assert move_tip(rig, target_m).error_code == MoveTip.Result.NONE


def starts(rig, name):
    return len(re.findall(rf'\[{name}-\d+\]: process started', rig.output()))


def works(rig, name, pid):
    status = rig.latest.get(f'soft_arm/{name}')
    values = {} if status is None else {v.key: v.value for v in status.values}
    return (
        values.get('pid') == str(pid)
        and values.get('ready') != 'False'
        and status.level == DiagnosticStatus.OK
    )


def test_vent_answers_and_ctrl_c_ends_everything(rig):
    assert rig.call(Trigger, '/soft_arm/vent', Trigger.Request()).success
    pids = rig.pids()
    assert set(pids) == {*NODES, 'virtual_rig', 'report_ready'}
    os.killpg(rig.launch.pid, signal.SIGINT)
    assert rig.launch.wait(DEADLINE_S) == 0
    assert not any(Path(f'/proc/{pid}').exists() for pid in pids.values())
    assert set(rig.deaths()) == set(rig.killed), rig.output()
    # The device serves until its driver has vented.
    assert 'not vented from here' not in rig.output()
