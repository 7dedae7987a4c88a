"""The emulated ABB controller and its client under random faults, for a short time."""

import asyncio
import time

import pytest

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.credentials import Credentials
from abb_rws_bridge.dialect import RWS1, RWS2
from abb_rws_bridge.session import Endpoint
from abb_rws_emulator.http.server import Emulator, Options
from soft_arm_benchmarks.cell.rws_figures import figures
from soft_arm_benchmarks.cell.rws_soak import soak

pytestmark = pytest.mark.steady_clock
USER = Credentials('operator', 'secret')


@pytest.mark.parametrize(('generation', 'dialect', 'seed'), [(1, RWS1, 1), (2, RWS2, 2)])
def test_no_session_is_left_behind_and_monitor_and_controller_agree(generation, dialect, seed):
    async def run():
        options = Options({USER.user: USER.password}, generation=generation)
        async with Emulator(options, clock=time.monotonic) as emulator:
            endpoint = Endpoint('127.0.0.1', emulator.port, interval_s=0.01, timeout_s=0.3)
            controller = Controller(endpoint, USER, dialect)
            await controller.__aenter__()
            return await soak(emulator, controller, 6.0, seed)

    report = asyncio.run(run())
    assert report.leaks == []
    assert len(report.faults) >= 6 and report.calls >= 8


def test_figures_of_the_bench():
    measured = asyncio.run(figures(watch_s=2.0, soak_minutes=0.05, seed=1))
    assert measured['controller_sessions_used'] == 1 and measured['leaks'] == []
    assert measured['frozen_peer_detect_s'] < 1.0
    assert measured['joint_state_age_p99_s'] < 1.0 and measured['joint_state_rate_hz'] > 5.0
