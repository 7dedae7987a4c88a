"""Run long work in one thread, job after job, so that it does not block the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar('T')
WORKER = 'rws beside the loop'
"""Start of the thread's name; it begins with the first long work and stays."""

_POOL = ThreadPoolExecutor(max_workers=1, thread_name_prefix=WORKER)


async def in_worker_thread(work: Callable[..., T], *arguments: object) -> T:
    """Run `work` in the thread; it must not change data that the event loop uses."""
    return await asyncio.get_running_loop().run_in_executor(_POOL, work, *arguments)
