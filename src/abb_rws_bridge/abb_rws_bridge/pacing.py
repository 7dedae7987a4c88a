"""Rate limit of requests; a controller accepts fewer than 20 per second."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Pacer:
    """Minimum interval between requests, with a separate lane for requests that stop the robot.

    Each lane has one request in flight. The urgent lane does not wait for the normal one, so that a
    hanging read cannot delay a stop; the interval between starts holds across both lanes.
    """

    def __init__(self, interval_s: float = 0.055):
        self._interval_s = interval_s
        self._lanes = {False: asyncio.Lock(), True: asyncio.Lock()}
        self._next_start_s = 0.0
        self._urgent_waiting = 0

    @asynccontextmanager
    async def lane(self, urgent: bool) -> AsyncIterator[None]:
        """Hold a lane for one request, in order of arrival."""
        async with self._lanes[urgent]:
            yield

    async def start(self, urgent: bool) -> None:
        """Wait until a request of this lane may start; send it immediately afterwards."""
        self._urgent_waiting += urgent
        try:
            while True:
                wait_s = self._next_start_s - time.monotonic()
                if wait_s <= 0 and (urgent or not self._urgent_waiting):
                    break
                await asyncio.sleep(max(wait_s, 0.002))
            self._next_start_s = time.monotonic() + self._interval_s
        finally:
            self._urgent_waiting -= urgent
