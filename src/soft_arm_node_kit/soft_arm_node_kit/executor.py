"""Executor of a node or a program."""

import contextlib
import io

from rclpy.context import Context
from rclpy.executors import Executor, SingleThreadedExecutor

try:
    from rclpy.experimental.events_executor import EventsExecutor
except ImportError:  # rclpy before 7.1.5
    EventsExecutor = SingleThreadedExecutor


def make_executor(in_order: bool, context: Context | None = None) -> Executor:
    """Return an executor that runs one callback at a time.

    `EventsExecutor` needs a fraction of the CPU time per message, because
    `SingleThreadedExecutor` builds a wait set of all entities for each; but it has no guard
    conditions.

    Args:
        in_order: True if the order of callbacks in a wait set matters, as in simulated time, or
            guard conditions are used.
        context: Context of the nodes; None is the default one.
    """
    if not in_order:
        with contextlib.suppress(io.UnsupportedOperation):
            return EventsExecutor(context=context)  # it needs a file descriptor of stderr
    return SingleThreadedExecutor(context=context)
