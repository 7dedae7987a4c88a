"""Random faults, seeded, in the short form (T20); the long form is `softarm bench cell`."""

import asyncio

import pytest

from rws_testing.cell import client, emulator
from soft_arm_experiments.cell.rws_soak import soak

pytestmark = pytest.mark.real_time


@pytest.mark.parametrize(('generation', 'seed'), [(1, 1), (2, 2)])
def test_nothing_is_left_behind_and_the_state_is_the_controllers(generation, seed):
    async def run():
        async with emulator(generation) as running:
            controller = client(running, interval_s=0.01, timeout_s=0.3)
            await controller.__aenter__()
            return await soak(running, controller, 6.0, seed)

    report = asyncio.run(run())
    assert report.leaks == []
    assert len(report.faults) >= 6 and report.calls >= 8
