"""The cycle without threads, without sockets and on a clock that the test moves."""

from collections.abc import Coroutine
from typing import Any

import numpy as np
import pytest

from pneumatic_driver.board import Board
from pneumatic_driver.cycle import LINK_TIMEOUT_S, Cycle
from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import CommandError
from pneumatic_driver.register_map import load_map
from soft_arm_sim.devices.direct_client import DirectClient, run_to_end
from soft_arm_sim.devices.valve_board import FUNCTIONS, HOLD, RUN, VENT, BoardLogic

PERIOD_S, COMMAND_TIMEOUT_S = 0.02, 0.5
TARGETS_PA = np.array([10e3, -10e3, 0.0, 0.0, 5e3, 0.0])


class Bench:
    """A board, the cycle that drives it, and the time of both."""

    def __init__(self):
        self.now_s, self.board, self.reasons = 0.0, BoardLogic(), []
        self.device = Board(
            load_map('valve_board'),
            clock=lambda: self.now_s,
            new_client=lambda link, trace: DirectClient(self.board, FUNCTIONS),
        )
        self.cycle = Cycle(
            self.device,
            COMMAND_TIMEOUT_S,
            on_disarm=self.reasons.append,
            clock=lambda: self.now_s,
        )

    def run(self, seconds: float, command: bool = True) -> None:
        for _ in range(round(seconds / PERIOD_S)):
            self.pass_time(PERIOD_S)
            if command:
                self.cycle.command(TARGETS_PA)
            run_to_end(self.cycle.run())

    def pass_time(self, seconds: float) -> None:
        self.now_s += seconds
        for _ in range(round(seconds / 0.005)):
            readings = [d // 10 for d in self.board.drives_pa]
            self.board.tick(5, readings, 20_000)


@pytest.fixture
def bench():
    bench = Bench()
    run_to_end(bench.cycle.connect())
    return bench


def armed(bench: Bench) -> Bench:
    run_to_end(bench.cycle.arm())
    bench.run(0.2)
    assert bench.board.mode == RUN
    return bench


def test_follows_commands(bench):
    armed(bench)
    assert bench.board.drives_pa == TARGETS_PA.astype(int).tolist()
    latest = bench.cycle.latest
    assert latest.at_s == bench.now_s and latest.round_trip_s == 0.0
    assert latest.pressures_pa == pytest.approx(TARGETS_PA)


def test_old_commands_vent_and_the_next_moves_again(bench):
    armed(bench).run(COMMAND_TIMEOUT_S - PERIOD_S, command=False)
    assert bench.board.mode == RUN
    bench.run(3 * PERIOD_S, command=False)
    assert bench.board.mode == VENT and bench.cycle.armed and bench.cycle.stale_commands == 1
    bench.run(0.2)
    assert bench.board.mode == RUN and bench.reasons == []


def test_time_that_stands_still_ages_nothing(bench):
    armed(bench)
    for _ in range(200):
        run_to_end(bench.cycle.run())
    assert bench.board.mode == RUN and bench.cycle.stale_commands == 0


def test_a_driver_that_pauses_loses_the_board_to_its_watchdog(bench):
    armed(bench).pass_time(0.4)
    assert bench.board.mode == VENT and not bench.board.held
    bench.run(2 * PERIOD_S, command=False)
    assert not bench.cycle.armed and 'watchdog' in bench.reasons[0]
    with pytest.raises(CommandError, match='activate'):
        bench.cycle.command(TARGETS_PA)
    run_to_end(bench.cycle.arm())  # clears a fault of the watchdog
    bench.run(0.2)
    assert bench.board.mode == RUN


def test_a_foreign_write_disarms(bench):
    armed(bench)
    bench.board.write(107, [0b111111, HOLD])
    bench.run(2 * PERIOD_S, command=False)
    assert not bench.cycle.armed and 'foreign_master' in bench.reasons[0]


def test_a_lost_link_disarms_and_comes_back_vented(bench):
    armed(bench)
    bench.device._modbus._client.close()
    bench.pass_time(LINK_TIMEOUT_S)  # the hold on the board ends
    bench.run(2 * PERIOD_S, command=False)
    assert not bench.cycle.armed and 'link lost' in bench.reasons[0]
    assert bench.device.connected and bench.board.mode == VENT and bench.cycle.link_error is None


def close(bench: Bench) -> None:
    bench.device.close()
    bench.pass_time(LINK_TIMEOUT_S)  # the hold on the board ends


def test_a_driver_without_a_rate_exchanges_when_it_is_asked(bench):
    close(bench)
    driver = Driver(bench.device, None, COMMAND_TIMEOUT_S, clock=lambda: bench.now_s)
    try:
        driver.exchange_now()  # not connected yet: nothing happens
        assert driver.latest is None
        driver.connect()
        driver.arm()
        for _ in range(10):
            bench.pass_time(PERIOD_S)
            driver.command(TARGETS_PA)
            driver.exchange_now()
            assert driver.latest.at_s == bench.now_s
        assert bench.board.mode == RUN
        driver.disconnect()
        driver.exchange_now()
        assert bench.board.mode == VENT and not bench.device.connected
    finally:
        driver.close()


def test_an_error_that_nobody_foresaw_vents(bench):
    def broken(_exchange) -> None:
        raise ZeroDivisionError('broken')

    close(bench)
    reasons = []
    driver = Driver(bench.device, None, COMMAND_TIMEOUT_S, broken, reasons.append)
    try:
        driver.connect()
        driver.arm()
        driver.exchange_now()
        assert bench.board.mode == VENT and not driver.armed and 'broken' in reasons[0]
    finally:
        driver.close()


def test_a_coroutine_that_waits_is_no_step():
    class Waits:
        def __await__(self):
            yield

    async def waits() -> None:
        await Waits()

    coroutine: Coroutine[Any, Any, None] = waits()
    with pytest.raises(RuntimeError, match='waits'):
        run_to_end(coroutine)
