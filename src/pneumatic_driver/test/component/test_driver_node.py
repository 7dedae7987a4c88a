"""The node in its own process with the emulated board: operators, signals and crashes."""

import signal
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import Log
from std_srvs.srv import Trigger

from soft_arm_node_kit.messages import seconds

from ..boards import wait_for
from .operators import operator_of

pytestmark = pytest.mark.watchdogs

CHAMBERS = ['m1_b1', 'm1_b2', 'm1_b3', 'm2_b1', 'm2_b2', 'm2_b3']
TARGETS = [10e3, -20e3, 30e3, -40e3, 50e3, -60e3]


@pytest.fixture
def operator(request):
    yield from operator_of(request.node.name, 'pneumatic_driver', CHAMBERS)


SLOW = 0.04  # clock rate of a board whose watchdog is not tested: it waits for 6 s


def start_and_move(operator, board, **parameters):
    operator.start(robot='two_module_arm', port=board.device.port, autostart=True, **parameters)
    operator.wait(lambda: board.plant.follows(TARGETS), command=TARGETS, what='the plant following')


def test_pressures_are_named_and_stamped_and_sigterm_vents(operator, tcp_board):
    start_and_move(operator, tcp_board)
    operator.pressures.clear()
    operator.wait(lambda: len(operator.pressures) > 25, command=TARGETS)
    assert operator.state == 'active'
    last = operator.pressures[-1]
    assert last.names == CHAMBERS
    np.testing.assert_allclose(last.pressures_pa, TARGETS, atol=10)
    stamps = [seconds(m.header.stamp) for m in operator.pressures]
    assert stamps == sorted(stamps) and len(set(stamps)) == len(stamps)
    assert abs(stamps[-1] - time.clock_gettime(time.CLOCK_REALTIME)) < 1.0
    operator.process.send_signal(signal.SIGTERM)
    assert operator.process.wait(120.0) == 0
    assert tcp_board.plant.vented
    assert tcp_board.device.logic.faults == 0  # the driver vented it, not the watchdog


def test_sigkill_is_followed_by_a_vent_of_the_board(operator, tcp_board):
    start_and_move(operator, tcp_board)
    killed_s = tcp_board.plant.device_clock_s()
    operator.process.kill()
    wait_for(lambda: tcp_board.plant.vented)
    assert tcp_board.plant.changed_device_s - killed_s <= 0.3
    assert tcp_board.device.logic.faults == 1 << 12


def test_lifecycle_by_hand_and_refused_commands(operator, tcp_board):
    logs = operator.listen(Log, '/rosout')
    operator.start(robot='two_module_arm', port=tcp_board.device.port)
    # Refused, and the node goes on.
    assert not operator.transition(Transition.TRANSITION_ACTIVATE) and not operator.transition(99)
    assert operator.state == 'unconfigured'
    tcp_board.drive_from_elsewhere()
    assert operator.call(Trigger, 'vent').success  # works before configure
    wait_for(lambda: tcp_board.plant.vented)

    assert operator.transition(Transition.TRANSITION_CONFIGURE)
    operator.wait(lambda: operator.pressures, what='pressures while inactive')
    # To the other host that vent was a foreign master's.
    assert not operator.transition(Transition.TRANSITION_ACTIVATE)
    assert operator.call(Trigger, 'clear_faults').success
    assert operator.transition(Transition.TRANSITION_ACTIVATE)
    operator.wait(lambda: tcp_board.plant.follows(TARGETS), command=TARGETS)
    changes = len(tcp_board.plant.changes)
    for names, pressures in (
        (['m9_b1', *CHAMBERS[1:]], [0.0] * 6),
        (CHAMBERS, [97e3, *TARGETS[1:]]),
        (CHAMBERS, [float('nan')] * 6),
        ([], []),
        (['x' * 100_000, *CHAMBERS[1:]], [0.0] * 6),
        (['\u00fc\n', *CHAMBERS[1:]], [0.0] * 6),
        (CHAMBERS * 500, [0.0] * 3000),
    ):
        operator.command(names, pressures)
        operator.wait(lambda: True)
    for age_s in (None, 3.0):
        operator.command(CHAMBERS, [0.0] * 6, age_s)
        operator.wait(lambda: True)
    operator.wait(lambda: [m for m in logs if m.msg.startswith('pressure_command refused: ')])
    assert all(len(m.msg) <= 300 and '\n' not in m.msg for m in logs)
    seen = len(operator.pressures)
    operator.wait(lambda: len(operator.pressures) > seen + 10, command=TARGETS)
    assert len(tcp_board.plant.changes) == changes and tcp_board.plant.follows(TARGETS)
    operator.wait(lambda: [operator.command(CHAMBERS, [0.0] * 6), tcp_board.plant.vented][1])

    assert operator.transition(Transition.TRANSITION_DEACTIVATE)
    wait_for(lambda: tcp_board.plant.vented)
    assert operator.transition(Transition.TRANSITION_CLEANUP)
    assert operator.state == 'unconfigured'
    assert operator.transition(Transition.TRANSITION_UNCONFIGURED_SHUTDOWN)
    assert operator.state == 'finalized' and operator.call(Trigger, 'vent').success


def test_autostart_does_not_undo_a_vent_by_hand(operator, tcp_board):
    tcp_board.device.clock_rate = SLOW
    logs = operator.listen(Log, '/rosout')
    start_and_move(operator, tcp_board, auto_recover=True)
    assert operator.call(Trigger, 'vent').success
    wait_for(lambda: tcp_board.plant.vented)
    assert operator.state == 'inactive'
    seen = len(operator.pressures)
    # Longer than the period of autostart.
    operator.wait(lambda: len(operator.pressures) > seen + 40, command=TARGETS)
    assert tcp_board.plant.vented and operator.state == 'inactive'
    refused = [m for m in logs if m.msg.startswith('pressure_command refused: the arm is vented')]
    assert {m.level for m in refused} == {Log.WARN}


def test_services_are_logged_and_without_a_fault_there_is_nothing_to_clear(operator, tcp_board):
    tcp_board.device.clock_rate = SLOW
    logs = operator.listen(Log, '/rosout')
    start_and_move(operator, tcp_board)
    answer = operator.call(Trigger, 'clear_faults')
    assert answer.success
    assert answer.message == 'no latched fault, nothing to clear: still active'
    assert operator.state == 'active'
    operator.wait(lambda: tcp_board.plant.follows(TARGETS), command=TARGETS)

    assert operator.call(Trigger, 'vent').success and operator.state == 'inactive'
    assert operator.call(Trigger, 'clear_faults').message.startswith('vented, faults cleared; ')
    expected = [
        'service clear_faults: no latched fault, nothing to clear: still active',
        'service vent was called while active: the driver vents',
        'service vent: vented',
        'active -> inactive',
        'service clear_faults was called while inactive: the driver vents',
        'service clear_faults: vented, faults cleared',
    ]
    operator.wait(lambda: [m.msg for m in logs if m.msg in expected] == expected)
    assert {m.level for m in logs if m.msg in expected} == {Log.INFO}


def test_a_vent_that_is_lost_is_reported_and_repeated(operator, tcp_board):
    tcp_board.device.clock_rate = SLOW  # the board's own watchdog does not help
    diagnostics = operator.listen(DiagnosticArray, '/diagnostics')
    start_and_move(operator, tcp_board)
    logic = tcp_board.device.logic
    write, logic.write = logic.write, lambda address, values: 0  # taken, without effect
    assert not operator.transition(Transition.TRANSITION_DEACTIVATE)
    answer = operator.call(Trigger, 'vent')
    assert not answer.success and answer.message.startswith('venting, not confirmed')
    assert not tcp_board.plant.vented
    diagnostics.clear()
    operator.wait(
        lambda: [
            s for m in diagnostics for s in m.status if s.message.startswith('venting, not confirm')
        ]
    )
    logic.write = write
    operator.wait(lambda: tcp_board.plant.vented, command=TARGETS)
    operator.wait(lambda: operator.state == 'inactive', command=TARGETS)
    assert tcp_board.plant.vented


def log_of(operator) -> str:
    """Return the output of the node after SIGINT."""
    operator.process.send_signal(signal.SIGINT)
    assert operator.process.wait(120.0) == 0
    return operator.output


def test_a_device_that_starts_later_is_waited_for_quietly(operator, tcp_board):
    tcp_board.stop()
    operator.start(robot='two_module_arm', port=tcp_board.device.port, autostart=True)
    assert not operator.transition(Transition.TRANSITION_CONFIGURE)
    tcp_board.restart()
    operator.wait(lambda: operator.state == 'active')
    operator.wait(lambda: tcp_board.plant.follows(TARGETS), command=TARGETS)
    said = log_of(operator)
    assert (
        said.count(f'waiting for valve_board at tcp 127.0.0.1:{tcp_board.device.port} unit 1') == 1
    )
    assert '[ERROR]' not in said and '[WARN]' not in said


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ({'robot': 'two_module_arm', 'map': 'nowhere'}, 'nowhere'),
        (
            {'robot': 'two_module_arm', 'use_sim_time': 'true', 'host': '192.0.2.1'},
            'leave use_sim_time out',
        ),
    ],
)
def test_bad_parameters_end_the_process_with_one_line(operator, parameters, words):
    operator.start(**parameters)
    assert operator.process.wait(120.0) == 2
    assert words in operator.output and len(operator.output.strip().splitlines()) == 1
