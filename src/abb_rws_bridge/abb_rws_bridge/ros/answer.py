"""Waiting in a callback of the node for work in another thread, while the node goes on."""

from collections.abc import Callable

from rclpy.guard_condition import GuardCondition

from abb_rws_bridge.link import Job


class Answer:
    """Awaitable in a coroutine callback; resumes with the job's result or exception.

    Args:
        wake: Guard condition of the node; without it the executor would look again only at its next
            event.
        meanwhile: Called each time the executor looks.
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
