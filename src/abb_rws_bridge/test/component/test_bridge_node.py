"""Bridge node and emulated controller, each in a separate process."""

import math
import os
import signal

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from std_srvs.srv import SetBool, Trigger

from abb_rws_bridge import irb120
from abb_rws_bridge.errors import ConfigurationError
from abb_rws_bridge.ros import conversions
from rws_testing.bridge_operator import CONFIGURE, DEACTIVATE, Operator
from rws_testing.emulator_process import EmulatorProcess
from soft_arm_msgs.action import MoveJoints
from soft_arm_msgs.srv import GetRapidData, SetIo, SetRapidData, SetSpeedRatio

pytestmark = pytest.mark.watchdogs

TARGET_DEG = [20.0, 10.0, -10.0, 5.0, 45.0, 90.0]


@pytest.fixture(scope='module')
def shared_peer():
    running = EmulatorProcess()
    yield running
    running.end()


@pytest.fixture
def peer(shared_peer):
    """Controller in automatic mode, motors off, at the home position."""
    shared_peer.spoil()
    shared_peer.act('expire_sessions')
    shared_peer.act('operation_mode', mode='MANR')
    shared_peer.act('operation_mode', mode='AUTO')
    shared_peer.act('emergency_stop', pressed=False)
    shared_peer.act('guard_stop', open_door=False)
    shared_peer.act('speed', percent=100)
    shared_peer.act('place', joints_deg=[0, 0, 0, 0, 30, 0])
    return shared_peer


@pytest.fixture(scope='module')
def shared_operator(shared_peer):
    running = Operator(f'/bridge_{os.getpid()}', shared_peer.port)
    yield running
    running.close()


@pytest.fixture
def operator(peer, shared_operator):
    """Operator of the unconfigured node."""
    shared_operator.rest()
    o = shared_operator
    for messages in (o.joints, o.states, o.io, o.events, o.diagnostics):
        messages.clear()
    return shared_operator


def value(status: DiagnosticStatus, key: str) -> str:
    return {pair.key: pair.value for pair in status.values}[key]


def rotations(message):
    """Quaternions of the transforms, (7, 4)."""
    turns = [transform.transform.rotation for transform in message.transforms]
    return np.array([[q.x, q.y, q.z, q.w] for q in turns])


def test_a_move_and_its_topics(operator, peer):
    operator.start()
    not_ready = operator.move(TARGET_DEG)
    assert not_ready.error_code == MoveJoints.Result.NOT_READY and 'motors' in not_ready.error_msg
    operator.motors_on()
    operator.feedback.clear()
    names = [f'abb_joint_{i}' for i in (6, 5, 4, 3, 2, 1)]
    moved = operator.move(TARGET_DEG[::-1], names)  # in any order
    assert moved.error_code == MoveJoints.Result.NONE, moved.error_msg
    np.testing.assert_allclose(np.rad2deg(moved.position_rad), TARGET_DEG, atol=0.2)
    assert moved.error_rad <= 0.002 and moved.duration_s > 0.1
    assert operator.feedback and all(f.age_s >= 0.0 for f in operator.feedback)
    operator.wait(
        lambda: np.allclose(np.rad2deg(operator.joints[-1].position), TARGET_DEG, atol=0.2)
    )
    assert list(operator.joints[-1].name) == [f'abb_joint_{i}' for i in range(1, 7)]
    assert operator.transforms[-1].transforms[-1].child_frame_id == 'abb_tool0'
    assert operator.descriptions[-1].data == irb120.urdf('abb_')
    expected = [q_xyzw for _, q_xyzw in irb120.link_transforms(np.deg2rad(TARGET_DEG))]
    operator.wait(lambda: np.allclose(rotations(operator.transforms[-1]), expected, atol=2e-3))
    assert peer.state()['running'] is False and peer.state()['sessions'] == 1


def test_a_newer_valid_goal_replaces_the_current_move(operator, peer):
    _, slow = operator.begin_slow_move(peer)
    assert operator.move([0, 0, 71, 0, 0, 0]).error_code == MoveJoints.Result.INVALID_GOAL
    assert not slow.done() and peer.state()['running']
    _, replaced = operator.send_move([150, 0, 0, 0, 0, 0])
    _, reached = operator.send_move([0, 0, 0, 0, 30, 0])
    operator.wait(reached.done, what='the result of the newest goal')
    for end in (slow, replaced):
        assert end.result().status == GoalStatus.STATUS_ABORTED
        assert end.result().result.error_code == MoveJoints.Result.REPLACED
    assert reached.result().status == GoalStatus.STATUS_SUCCEEDED
    np.testing.assert_allclose(peer.state()['joints_deg'], [0, 0, 0, 0, 30, 0], atol=0.2)
    assert peer.state()['running'] is False


def test_a_stop_ends_a_goal_waiting_to_replace_the_move(operator, peer):
    operator.begin_slow_move(peer)
    peer.spoil(latency_s=0.4)  # the newer goal waits for the stop
    _, waiting = operator.send_move(TARGET_DEG)
    assert operator.call(Trigger, 'stop').success
    assert operator.result(waiting).result.error_code == MoveJoints.Result.CANCELLED
    assert peer.state()['running'] is False


@pytest.mark.parametrize('end', ['cancel', 'deactivate'])
def test_a_cancelled_or_deactivated_move_has_stopped_the_robot(operator, peer, end):
    handle, result = operator.begin_slow_move(peer)
    if end == 'cancel':
        handle.cancel_goal_async()
    else:
        assert operator.transition(DEACTIVATE)
    operator.wait(result.done)
    assert peer.state()['running'] is False
    assert result.result().result.error_code == MoveJoints.Result.CANCELLED
    assert np.rad2deg(result.result().result.position_rad[0]) < 160.0


def test_data_signals_and_speed_are_written_and_published(operator, peer):
    operator.start()
    symbol = 'T_ROB1/Module1/test_var_num'
    assert operator.call(SetRapidData, 'set_rapid_data', symbol=symbol, literal='4.5').success
    read = operator.call(GetRapidData, 'get_rapid_data', symbol=symbol)
    assert read.success and read.literal == '4.5'
    refused = operator.call(GetRapidData, 'get_rapid_data', symbol='T_ROB1/none')
    assert not refused.success and refused.literal == '' and 'not found' in refused.message.lower()
    assert operator.call(SetIo, 'set_io', signal='DO_01', value=1.0).success
    operator.wait(
        lambda: (
            operator.io
            and dict(zip(operator.io[-1].names, operator.io[-1].values, strict=True)).get('DO_01')
            == 1.0
        )
    )
    assert operator.call(SetIo, 'set_io', signal='DO_01', value=0.0).success
    assert operator.call(SetSpeedRatio, 'set_speed_ratio', speed_ratio=0.5).success
    operator.wait(
        lambda: (
            operator.states[-1].speed_ratio == 0.5 and operator.states[-1].speed_ratio_age_s < 2.0
        )
    )


def test_a_frozen_controller_is_reported_and_nothing_stale_is_published(operator, peer):
    operator.start()
    operator.wait(
        lambda: operator.diagnostics and operator.diagnostics[-1].level == DiagnosticStatus.OK
    )
    os.kill(peer.process.pid, signal.SIGSTOP)
    operator.wait_a_little(0.2)
    operator.joints.clear()
    count = len(operator.diagnostics)
    operator.wait(lambda: operator.diagnostics[-1].level == DiagnosticStatus.ERROR)
    # diagnostics at 1 Hz; lost within 1 s (see test_peer_loss)
    assert len(operator.diagnostics) - count <= 3
    assert operator.joints == []
    assert value(operator.diagnostics[-1], 'link') == 'lost'
    assert 'check that the controller is on' in operator.diagnostics[-1].message
    os.kill(peer.process.pid, signal.SIGCONT)
    operator.wait(lambda: operator.joints)
    operator.wait(lambda: operator.age_s(operator.joints[-1].header.stamp) < 0.3)
    operator.wait(lambda: operator.diagnostics[-1].level == DiagnosticStatus.OK)


def test_commands_need_the_active_state_but_a_stop_does_not(operator, peer):
    assert operator.transition(CONFIGURE)
    before = peer.state()['writes']
    for kind, name, fields in (
        (Trigger, 'start', {}),
        (Trigger, 'reset_pointer', {}),
        (SetBool, 'set_motors', {'data': True}),
        (SetSpeedRatio, 'set_speed_ratio', {}),
        (SetRapidData, 'set_rapid_data', {'symbol': 'T_ROB1/Module1/test_var_num', 'literal': '1'}),
        (SetIo, 'set_io', {'signal': 'DO_01'}),
    ):
        answer = operator.call(kind, name, **fields)
        assert not answer.success and 'activate' in answer.message
    assert operator.move(TARGET_DEG).error_code == MoveJoints.Result.NOT_ACTIVE
    assert peer.state()['writes'] == before
    assert operator.call(Trigger, 'stop').success
    assert operator.call(SetBool, 'set_motors', data=False).success


def test_a_signal_during_a_move_stops_the_robot_and_logs_out():
    peer = EmulatorProcess(0, '--generation', '2')
    running = Operator(f'/mortal_{os.getpid()}', peer.port, generation=2)
    try:
        running.begin_slow_move(peer)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(30.0) == 0
        state = peer.state()
        assert state['running'] is False and state['sessions'] == 0
        assert set(state['masters'].values()) == {None}
    finally:
        running.close()
        peer.end()


def test_the_base_frame_in_the_world():
    stamp = Time(sec=1)
    placed = conversions.base_transform([0.8, 0.0, 0.1], math.pi / 2, stamp, 'abb_')
    assert (placed.header.frame_id, placed.child_frame_id) == ('world', 'abb_base_link')
    at, turn = placed.transform.translation, placed.transform.rotation
    np.testing.assert_allclose([at.x, at.y, at.z], [0.8, 0.0, 0.1])
    np.testing.assert_allclose([turn.x, turn.y, turn.z, turn.w], [0, 0, 0.5**0.5, 0.5**0.5])
    with pytest.raises(ConfigurationError, match='base_position_m'):
        conversions.base_transform([0.8], 0.0, stamp, 'abb_')


def test_an_unconfirmed_stop_is_reported_on_rosout(operator, peer):
    _, result = operator.begin_slow_move(peer)
    peer.spoil(html_500=True, only='/rw/rapid/execution')
    assert not operator.call(Trigger, 'stop').success
    operator.wait(lambda: any('stop was not confirmed' in text for text in operator.logs))
    peer.spoil()
    operator.wait(result.done)
    assert result.result().result.error_code != MoveJoints.Result.NONE
    operator.wait(lambda: not peer.state()['running'])
    assert operator.call(Trigger, 'stop').success
