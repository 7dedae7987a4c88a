"""The real node while somebody, or NTP, sets the clock of the system."""

from pathlib import Path

import pytest
from std_srvs.srv import Trigger

from .operators import operator_of

pytestmark = pytest.mark.watchdogs

CHAMBERS = ['m1_b1', 'm1_b2', 'm1_b3', 'm2_b1', 'm2_b2', 'm2_b3']
TARGETS = [10e3] * 6
LIBRARY = next(Path('/usr/lib').glob('*/faketime/libfaketimeMT.so.1'), None)
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


def test_a_driver_commands_vents_and_recovers_after_every_step_of_the_clock(operator, tcp_board):
    tcp_board.device.clock_rate = 0.04  # the driver vents, not the board's watchdog
    tcp_board.stop()
    operator.start(
        robot='two_module_arm', port=tcp_board.device.port, autostart=True, auto_recover=True
    )
    assert operator.state == 'unconfigured'
    for step_s in STEPS_S:
        operator.set_clock(step_s)
        tcp_board.restart()
        # The node's own timer starts it, and starts it again after the link was lost.
        operator.wait(lambda: tcp_board.plant.follows(TARGETS), command=TARGETS)
        operator.wait(lambda: tcp_board.plant.vented)  # no commands any more
        operator.wait(lambda: tcp_board.plant.follows(TARGETS), command=TARGETS)
        tcp_board.stop()
    operator.set_clock(STEPS_S[0])
    tcp_board.restart()
    operator.wait(lambda: tcp_board.plant.follows(TARGETS), command=TARGETS)
    for step_s in STEPS_S:
        operator.set_clock(step_s)
        assert operator.call(Trigger, 'vent').success and tcp_board.plant.vented
