"""Measure `softarm twin` from outside: its processor time, and when a page has what was told."""

import asyncio
import os
import random
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np

from soft_arm_twin.bench.raw_page import RawPage, raw_page
from soft_arm_twin.server.serve import PAGE

FRAMES, CLOUD = 1, 3
SETTLE_S, DRAW_S = 2.0, 8.0
STEP_RAD, STEP_PA = 0.01, 1000.0
VENT_EVERY_S = 0.02  # a page that sends more than 200 messages a second is closed
VENT = 'soft_arm/vent'


async def measure(
    url: str,
    process: int,
    step: Callable[[float, float], float],
    vented_s: Callable[[], float],
    depth_topic: str,
    tries: int,
    told: Callable[[], None],
) -> dict[str, float]:
    """Measure the twin that shows a `TwinGraph`.

    Args:
        url: Address of the page.
        process: Number of the twin's process.
        step: As `TwinGraph.step`.
        vented_s: Returns `TwinGraph.vented_s`.
        depth_topic: Depth image of which the twin draws a cloud.
        tries: Number of steps, and of vents.
        told: Is called after each of `2 * tries` measurements.

    Returns:
        Shares of one core with one and with four pages [%], rates with four pages [1/s], latencies
        [ms], lengths of the scene, and of page and scene together [bytes].
    """
    async with AsyncExitStack() as pages:
        first = await pages.enter_async_context(raw_page(url, keep=True))
        await _found(first)
        await first.send(type='take')
        await first.command('camera/cloud', depth_topic)
        await first.hear(CLOUD)
        scene = max(m.n_bytes for m in first.heard if m.kind == 'scene')
        found: dict[str, float] = {'first_load_bytes': _page_bytes() + scene, 'scene_bytes': scene}
        found['cpu_1_page_percent'], _ = await _drawing(process, [first])
        four = [first]
        for _ in range(3):
            four.append(await pages.enter_async_context(raw_page(url)))
        found['cpu_4_pages_percent'], rates = await _drawing(process, four)
        found |= {'frames_hz': min(rates[FRAMES]), 'clouds_hz': min(rates[CLOUD])}
    async with raw_page(url, keep=True) as page, raw_page(url):
        await page.hear('panel', start=0)
        found |= await _steps(page, step, tries, told)
        found |= await _vents(page, vented_s, tries, told)
    return found


async def _found(page: RawPage) -> None:
    """Wait until the twin shows the arm, the finger and the robot, and offers to vent."""

    def complete(panel: dict[str, Any]) -> bool:
        names = {control['name'] for control in panel['controls']}
        ages = [age['age_s'] for age in panel['ages']]
        return {VENT, 'camera/cloud'} <= names and sum(age is not None for age in ages) >= 4

    await page.hear('panel', complete, start=0, timeout_s=40.0)


async def _drawing(process: int, pages: list[RawPage]) -> tuple[float, dict[int, list[float]]]:
    await asyncio.sleep(SETTLE_S)
    starts = [len(page.heard) for page in pages]
    cpu_s, start_s = _cpu_s(process), time.monotonic()
    await asyncio.sleep(DRAW_S)
    cpu_s, lasted_s = _cpu_s(process) - cpu_s, time.monotonic() - start_s
    rates = {
        kind: [
            sum(m.kind == kind for m in page.heard[start:]) / lasted_s
            for page, start in zip(pages, starts, strict=True)
        ]
        for kind in (FRAMES, CLOUD)
    }
    return 100 * cpu_s / lasted_s, rates


def _cpu_s(process: int) -> float:
    """Return the processor time of a process until now [s]."""
    fields = Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def _page_bytes() -> int:
    """Return the length of all files that the page loads [bytes]."""
    endings = {'.html', '.css', '.js', '.svg'}
    return sum(p.stat().st_size for p in PAGE.rglob('*') if p.suffix in endings)


async def _steps(
    page: RawPage, step: Callable[[float, float], float], tries: int, told: Callable[[], None]
) -> dict[str, float]:
    draw, shapes_ms, pressures_ms = random.Random(1), [], []
    for number in range(tries):
        await asyncio.sleep(draw.uniform(0.1, 0.3))  # at no fixed phase of the drawing
        before = [m for m in page.heard if m.kind == FRAMES][-1].content['payload']
        target_pa = STEP_PA * (1 + number % 2)
        start = len(page.heard)
        stepped_s = step(STEP_RAD * (1 + number % 2), target_pa)

        def moved(content: dict[str, Any], before: bytes = before) -> bool:
            return content['payload'] != before

        def told_pressure(panel: dict[str, Any], kpa: float = 1e-3 * target_pa) -> bool:
            read = [v for v in panel['values'] if v['group'] == 'soft_arm pressures']
            return read[0]['value'] is not None and abs(read[0]['value'] - kpa) < 1e-6

        shape = await page.hear(FRAMES, moved, start)
        pressure = await page.hear('panel', told_pressure, start)
        shapes_ms.append(1e3 * (shape.at_s - stepped_s))
        pressures_ms.append(1e3 * (pressure.at_s - stepped_s))
        del page.heard[:start]
        told()
    return _percentiles('joints_to_page', shapes_ms) | _percentiles(
        'pressures_to_page', pressures_ms
    )


async def _vents(
    page: RawPage, vented_s: Callable[[], float], tries: int, told: Callable[[], None]
) -> dict[str, float]:
    async def once() -> float:
        start_s = time.monotonic()
        answer = await page.command(VENT)
        if not answer['accepted']:
            raise RuntimeError(f'vent was not accepted: {answer["text"]}')
        return 1e3 * (vented_s() - start_s)

    found_ms = []
    for _ in range(tries):
        await asyncio.sleep(VENT_EVERY_S)
        found_ms.append(await once())
        told()
    return _percentiles('vent_to_driver', found_ms)


def _percentiles(name: str, values_ms: list[float]) -> dict[str, float]:
    p50, p99 = np.percentile(values_ms, [50, 99])
    return {f'{name}_p50_ms': float(p50), f'{name}_p99_ms': float(p99)}
