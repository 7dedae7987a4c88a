"""Connection to a controller in a thread, for callers without an event loop."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Generic, TypeVar

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.errors import RwsError, Unreachable, defect
from abb_rws_bridge.monitor import UP, Knowledge, Monitor

Result = TypeVar('Result')
_CLOSE_TIMEOUT_S = 5.0


class Job(Generic[Result]):
    """Coroutine in the thread of the link.

    Attributes:
        future: Done when the coroutine has ended, `finally` blocks included, also after `cancel`.
            Its exceptions are RwsError and CancelledError.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[None, None, Result]):
        self._loop, self._cancelled = loop, False
        self._task: asyncio.Task | None = None
        self.future = asyncio.run_coroutine_threadsafe(self._run(work), loop)

    async def _run(self, work: Coroutine[None, None, Result]) -> Result:
        self._task = asyncio.current_task()
        try:
            return await work
        except RwsError:
            raise
        except Exception as error:  # must not end the node during a move
            raise defect(error, 'command') from error

    def cancel(self) -> None:
        """Cancel the coroutine once; a second time would interrupt its `finally` blocks.

        Without effect after its end.
        """
        if not self._cancelled and not self.future.done():
            self._cancelled = True
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


class Link:
    """Controller and monitor in a thread, from `open` to `close`.

    Args:
        make_controller: Called in the thread at every `open`.
        on_change: Called in the thread with the name of each refreshed value; must return at once.
    """

    def __init__(
        self,
        make_controller: Callable[[], Controller],
        on_change: Callable[[str], None],
        ping_s: float = 2.0,
    ):
        self._make_controller, self._on_change, self._ping_s = make_controller, on_change, ping_s
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._monitor: Monitor | None = None
        self._controller: Controller | None = None
        self._failure: RwsError | None = None
        self._jobs: list[Job] = []
        self._changed = threading.Condition()

    @property
    def known(self) -> Knowledge:
        """Latest values; empty before `open`."""
        return self._monitor.known if self._monitor is not None else Knowledge()

    @property
    def events_live(self) -> bool:
        """True if events arrive; otherwise all values are polled."""
        return self._monitor is not None and self._monitor.subscription.live

    @property
    def sessions_used(self) -> int:
        """Number of sessions opened since `open`."""
        return self._controller.session.generation if self._controller is not None else 0

    def open(self, timeout_s: float) -> None:
        """Connect and wait for the state of the controller.

        Raises:
            RwsError: If it is unknown after the time limit; the link is closed then.
        """
        if self._thread is not None:
            return
        self._failure = None
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._main()), name='abb_rws_bridge', daemon=True
        )
        self._thread.start()
        with self._changed:
            notified = self._changed.wait_for(
                lambda: self._failure is not None or _complete(self.known), timeout_s
            )
        if not notified or self._failure is not None:
            error = self._failure or Unreachable(
                f'controller not ready within {timeout_s} s: {self.known.error or self.known.link}'
            )
            self.close()
            raise error

    def close(self) -> None:
        """Log out and end the thread; without effect when closed."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._loop is not None and self._stop is not None and thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        thread.join(_CLOSE_TIMEOUT_S)
        self._monitor = self._controller = self._loop = None

    def submit(
        self, work: Callable[[Controller, Monitor], Coroutine[None, None, Result]]
    ) -> 'Job[Result]':
        """Start a coroutine in the thread.

        Raises:
            Unreachable: If the link is closed.
        """
        if self._loop is None or self._controller is None or self._monitor is None:
            raise Unreachable('not connected: configure first')
        job = Job(self._loop, work(self._controller, self._monitor))
        self._jobs = [*(j for j in self._jobs if not j.future.done()), job]
        return job

    async def _main(self) -> None:
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        try:
            async with self._make_controller() as controller:
                self._controller = controller
                self._monitor = Monitor(controller, self._notify, self._ping_s)
                polling = asyncio.create_task(self._monitor.run())
                await self._stop.wait()
                await self._end_jobs(polling)
        except RwsError as error:
            self._failure = error
            self._notify('link')

    async def _end_jobs(self, polling: asyncio.Task) -> None:
        """Cancel all jobs and wait for their end, so that a move stops the robot before logout."""
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(
            *(asyncio.wrap_future(job.future) for job in self._jobs), return_exceptions=True
        )
        polling.cancel()
        await asyncio.gather(
            *(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True
        )

    def _notify(self, name: str) -> None:
        with self._changed:
            self._changed.notify_all()
        self._on_change(name)


def _complete(known: Knowledge) -> bool:
    needed = (known.joints, known.control_state, known.operation_mode, known.execution, known.tasks)
    return known.link == UP and all(value is not None for value in needed)
