"""Awaitable of a job in another thread, for coroutine callbacks of a spinning node."""

from collections.abc import Callable

from rclpy.guard_condition import GuardCondition

from abb_rws_bridge.link import Job


class Answer:
    """Awaitable of a job; returns its result or raises its exception.

    Args:
        wake: Guard condition that wakes the executor when the job ends.
        meanwhile: Called each time the executor polls the coroutine.
    """

    def __init__(
        self, job: Job, wake: GuardCondition, meanwhile: Callable[[], None] = lambda: None
    ):
        self._job, self._meanwhile = job, meanwhile
        job.future.add_done_callback(lambda _: wake.trigger())

    def __await__(self):
        while not self._job.future.done():
            self._meanwhile()
            yield
        return self._job.future.result()
