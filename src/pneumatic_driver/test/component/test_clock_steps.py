"""The node while the system clock is set."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from std_srvs.srv import Trigger

from ..boards import wait_for
from .operators import operator_of

pytestmark = pytest.mark.watchdogs

CHAMBERS = ['m1_b1', 'm1_b2', 'm1_b3', 'm2_b1', 'm2_b2', 'm2_b3']
TARGETS = [10e3] * 6
SOURCE = Path(__file__).parents[1] / 'set_clock.c'
STEPS_S = [5.0, -60.0, -3600.0]


@pytest.fixture
def operator(request, tmp_path):
    """Operator of a driver whose system clock `set_clock` sets; the steady clock is unaffected."""
    if shutil.which('cc') is None or platform.machine() != 'x86_64':
        pytest.skip('needs a C compiler (cc) on x86-64: apt-get install build-essential')
    library, file = tmp_path / 'set_clock.so', tmp_path / 'ahead_ns'
    compile_ = ['cc', '-O2', '-w', '-shared', '-fPIC', '-o', str(library), str(SOURCE), '-ldl']
    subprocess.run(compile_, check=True, timeout=60)
    file.write_bytes(bytes(8))
    for made in operator_of(request.node.name, 'pneumatic_driver', CHAMBERS):
        made.environment = {'LD_PRELOAD': str(library), 'CLOCK_AHEAD': str(file)}

        def set_clock(ahead_s: float, made=made) -> None:
            with file.open('r+b') as opened:
                opened.write(round(1e9 * ahead_s).to_bytes(8, 'little', signed=True))
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
        assert operator.call(Trigger, 'vent').success
        wait_for(lambda: tcp_board.plant.vented)
