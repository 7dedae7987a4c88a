"""Measure the ABB bridge against the emulated controller, for `softarm bench cell`."""

import asyncio
import secrets
from typing import Any

import numpy as np

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.credentials import Credentials
from abb_rws_bridge.dialect import RWS1
from abb_rws_bridge.monitor import LOST, UP, Monitor
from abb_rws_bridge.session import Endpoint
from abb_rws_emulator.http.server import Emulator, Options
from soft_arm_benchmarks.cell.rws_soak import soak

_REQUESTS = 1000


async def figures(watch_s: float, soak_minutes: float, seed: int) -> dict[str, Any]:
    """Start an emulated controller and measure against it.

    Args:
        watch_s: Time for which joint angles are recorded at the rate that a controller allows [s].
        soak_minutes: Duration of the soak test [min].
        seed: Seed of the random faults.

    Returns:
        frozen_peer_detect_s, controller_sessions_used (by 1,000 requests), joint_state_age_p99_s
        (age of the newest sample just before the next one arrives), joint_state_rate_hz,
        soak_minutes, soak_faults, leaks.
    """
    credentials = Credentials('bench', secrets.token_hex(8))
    async with Emulator(Options({credentials.user: credentials.password})) as emulator:
        endpoint = Endpoint('127.0.0.1', emulator.port)
        ages_s, detect_s = await _watch(emulator, Controller(endpoint, credentials, RWS1), watch_s)
        sessions = await _count_sessions(
            emulator,
            Controller(Endpoint('127.0.0.1', emulator.port, interval_s=0.0), credentials, RWS1),
        )
        controller = Controller(endpoint, credentials, RWS1)
        await controller.__aenter__()  # `soak` closes it and looks for leaks
        report = await soak(emulator, controller, 60.0 * soak_minutes, seed)
    return {
        'frozen_peer_detect_s': round(detect_s, 3),
        'controller_sessions_used': sessions,
        'joint_state_age_p99_s': round(float(np.quantile(ages_s, 0.99)), 3),
        'joint_state_rate_hz': round(len(ages_s) / watch_s, 2),
        'soak_minutes': soak_minutes,
        'soak_faults': sum(report.faults.values()),
        'leaks': report.leaks,
    }


async def _watch(
    emulator: Emulator, controller: Controller, watch_s: float
) -> tuple[list[float], float]:
    clock = asyncio.get_running_loop().time
    async with controller:
        monitor = Monitor(controller)
        running = asyncio.create_task(monitor.run())
        await monitor.wait_for(lambda known: known.ready and monitor.subscription.live, 10.0)
        monitor.known.joint_ages_s = []
        await asyncio.sleep(watch_s)
        ages_s = monitor.known.joint_ages_s
        emulator.faults.silent, began_s = True, clock()
        await monitor.wait_for(lambda known: known.link == LOST, 10.0)
        detect_s = clock() - began_s
        emulator.faults.clear()
        await monitor.wait_for(lambda known: known.link == UP, 10.0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return ages_s, detect_s


async def _count_sessions(emulator: Emulator, controller: Controller) -> int:
    before = emulator.sessions.opened
    async with controller:
        for _ in range(_REQUESTS):
            await controller.joints()
    return emulator.sessions.opened - before
