"""Waiting in a callback of the node for work in another thread, while the node goes on."""

import concurrent.futures

from rclpy.guard_condition import GuardCondition


class Answer:
    """Awaitable in a coroutine callback; resumes with the future's result or exception.

    Args:
        wake: Guard condition of the node; without it the executor would look again only at its next event.
    """

    def __init__(self, future: concurrent.futures.Future, wake: GuardCondition):
        self._future = future
        future.add_done_callback(lambda _: wake.trigger())

    def __await__(self):
        while not self._future.done():
            yield
        return self._future.result()
