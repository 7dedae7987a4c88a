"""Work that takes longer than an event loop may stand still.

In one thread, one after the other, so that the loop gets its turns.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar('T')
_WORKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix='rws beside the loop')


async def in_worker_thread(work: Callable[..., T], *arguments: object) -> T:
    """Carry out `work` in the thread; it must not change what the loop uses."""
    return await asyncio.get_running_loop().run_in_executor(_WORKER, work, *arguments)
