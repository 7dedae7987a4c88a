"""The real node while somebody, or NTP, sets the clock of the system."""

from pathlib import Path

import pytest
from lifecycle_msgs.msg import Transition
from std_srvs.srv import Trigger

from ..boards import wait_for
from .operators import operator_of

pytestmark = pytest.mark.watchdogs

CHAMBERS = ['m1_b1', 'm1_b2', 'm1_b3', 'm2_b1', 'm2_b2', 'm2_b3']
BEFORE, AFTER = [10e3] * 6, [20e3] * 6
LIBRARY = next(Path('/work/scratch/devices/ft/usr/lib').glob('*/faketime/libfaketimeMT.so.1'), None)
STEPS_S = [5.0, -5.0, 60.0, -60.0, -3600.0]


@pytest.fixture
def operator(request, tmp_path):
    """An operator of a driver whose system clock `set_clock` sets; its steady clock goes on."""
    if LIBRARY is None:
        pytest.skip('needs libfaketime: apt-get install faketime')
    file = tmp_path / 'faketime'
    file.write_text('+0')
    for made in operator_of(request.node.name, 'pneumatic_driver', CHAMBERS):
        made.environment = {
            'LD_PRELOAD': str(LIBRARY),
            'FAKETIME_TIMESTAMP_FILE': str(file),
            'FAKETIME_NO_CACHE': '1',
            'FAKETIME_DONT_FAKE_MONOTONIC': '1',
        }

        def set_clock(ahead_s: float, made=made) -> None:
            new = file.with_suffix('.new')
            new.write_text(f'{ahead_s:+g}')
            new.replace(file)
            made.driver_ahead_s = ahead_s

        made.set_clock = set_clock
        yield made


@pytest.mark.parametrize('step_s', STEPS_S)
def test_commands_time_outs_and_vent_work_after_a_step_of_the_clock(operator, tcp_board, step_s):
    tcp_board.device.clock_rate = 0.04  # the driver vents, not the board's watchdog
    operator.start(robot='two_module_arm', port=tcp_board.device.port, autostart=True)
    operator.wait(lambda: tcp_board.plant.follows(BEFORE), command=BEFORE)
    operator.set_clock(step_s)
    operator.wait(lambda: tcp_board.plant.follows(AFTER), command=AFTER)
    operator.wait(lambda: tcp_board.plant.vented, 10.0)  # no commands any more
    operator.wait(lambda: tcp_board.plant.follows(BEFORE), command=BEFORE)
    assert operator.call(Trigger, 'vent').success
    wait_for(lambda: tcp_board.plant.vented)
    assert operator.transition(Transition.TRANSITION_ACTIVATE) and operator.state == 'active'


@pytest.mark.parametrize('step_s', STEPS_S)
def test_the_nodes_own_timers_go_on_after_a_step_of_the_clock(operator, tcp_board, step_s):
    tcp_board.stop()
    operator.start(robot='two_module_arm', port=tcp_board.device.port, autostart=True)
    assert operator.state == 'unconfigured'
    operator.set_clock(step_s)
    tcp_board.restart()
    operator.wait(lambda: operator.state == 'active', 30.0)
