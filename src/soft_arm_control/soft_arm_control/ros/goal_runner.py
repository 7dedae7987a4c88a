"""Run the goals of all actions of a node with the same rules.

Every goal is accepted and ends exactly once. One goal at a time is active, and the newest valid
goal wins: when it starts, the active goal and all older goals that still wait end ABORTED with the
code REPLACED. An invalid goal ends ABORTED with the reason and changes nothing else. A goal that
its client cancels ends CANCELED, also while it still waits.

The coroutine of a goal is resumed at each tick of the control loop; rclpy itself would poll a
waiting coroutine in a busy loop. Until a goal ends its state is therefore ACCEPTED.
"""

import itertools
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.task import Future

from soft_arm_control.errors import GoalError
from soft_arm_control.outcome import Outcome
from soft_arm_node_kit.node import Node

FEEDBACK_TICKS = 5  # ticks of the control loop between two feedback messages: 10 Hz
SUCCESSES = Outcome.REACHED, Outcome.NO_CONTACT, Outcome.CANCELLED
REPLACED = 'replaced by a newer goal'
CANCELLED = 'cancelled by the client'


@dataclass(frozen=True)
class Action:
    """One action of a node.

    Attributes:
        kind, name: Type and name of the action.
        start: Coroutine that starts the goal on the controller. It may wait with `Job.until`, and
            raises GoalError if the goal is invalid.
        result, feedback: Convert a controller's status to the messages.
    """

    kind: type
    name: str
    start: Callable[['Job'], Awaitable[None]]
    result: Callable[[Any], Any]
    feedback: Callable[[Any], Any]


class _AbandonedError(Exception):
    """A waiting goal was cancelled or replaced."""


class Job:
    """One goal from its acceptance to its end."""

    def __init__(self, number: int, handle, action: Action, now_s: Callable[[], float]):
        self.number = number
        self.handle = handle
        self.action = action
        self._now_s = now_s
        self.ended: Future = Future()  # resolves to the status that the goal ends with
        self.coroutine: Coroutine  # returns that status
        self.replaced = False
        self._waiting: tuple[Callable[[], bool], float, Future] | None = None

    @property
    def abandoned(self) -> bool:
        """Return whether the goal was cancelled or replaced before it started."""
        return self.replaced or self.handle.is_cancel_requested

    async def until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Wait until a condition holds, while the loop runs; return False after the limit."""
        if not condition():
            self._waiting = condition, self._now_s() + limit_s, Future()
            await self._waiting[2]
        if self.abandoned:
            raise _AbandonedError
        return condition()

    def poll(self, now_s: float) -> None:
        """End the wait if its condition holds, its time is over or the goal was abandoned."""
        if self._waiting:
            condition, until_s, woken = self._waiting
            if self.abandoned or now_s > until_s or condition():
                self._waiting = None
                woken.set_result(None)


class GoalRunner:
    """Serve the actions of a node, which calls `before_tick` and `after_tick` at each control tick.

    Args:
        node: The node.
        actions: Actions of the node.
        refused: Returns the status of a goal that does not start, from an outcome and a message.
        cancel: Cancels the controller's goal at a time [s] and returns the status.

    Attributes:
        failure: Outcome and message of the last goal if it failed, else empty.
    """

    def __init__(
        self,
        node: Node,
        actions: list[Action],
        refused: Callable[[Outcome, str], Any],
        cancel: Callable[[float], Any],
    ):
        self._node = node
        self._refused = refused
        self._cancel = cancel
        self.failure = ''
        self._running: Job | None = None
        self._starting: list[Job] = []
        self._status = refused(Outcome.REPLACED, REPLACED)  # until the first tick
        self._numbers = itertools.count(1)
        self._ticks = 0
        self._servers = [
            ActionServer(
                node,
                action.kind,
                action.name,
                _no_goal_ends_here,
                goal_callback=lambda _: GoalResponse.ACCEPT,
                handle_accepted_callback=partial(self._accept, action),
                cancel_callback=lambda _: CancelResponse.ACCEPT,
            )
            for action in actions
        ]

    def destroy(self) -> None:
        """Close the action servers."""
        for server in self._servers:
            server.destroy()

    def before_tick(self, now_s: float) -> None:
        """End the goal if its client cancels it, before the controller computes a command."""
        if self._running is not None and self._running.handle.is_cancel_requested:
            self._end(self._cancel(now_s))

    def after_tick(self, status, now_s: float) -> None:
        """Send feedback or end the goal by the controller's status, then start waiting goals."""
        self._status = status
        if status.outcome is not None:
            self._record_failure(status)
        job = self._running
        if job is not None:
            self._ticks += 1
            if status.outcome is not None:
                self._end(status)
            elif self._ticks % FEEDBACK_TICKS == 0:
                job.handle.publish_feedback(job.action.feedback(status))
        for waiting in tuple(self._starting):  # not covered by the status yet
            waiting.poll(now_s)
            self._resume(waiting)

    def _record_failure(self, status) -> None:
        failed = status.outcome not in SUCCESSES
        self.failure = f'{status.outcome.value}: {status.message}' if failed else ''
        if failed:
            self._node.get_logger().warning(self.failure)

    def _accept(self, action: Action, handle) -> None:
        job = Job(next(self._numbers), handle, action, self._node.now_s)
        job.coroutine = self._run(job)
        self._resume(job)

    async def _run(self, job: Job):
        return await self._start(job) or await job.ended

    def _resume(self, job: Job) -> None:
        """Continue the coroutine of a goal; when it returns, send the result."""
        try:
            job.coroutine.send(None)
            return
        except StopIteration as returned:
            end = partial(_end_with, job.action, returned.value)
        except Exception as error:
            end = partial(_raise, error)
        job.handle.execute(end)

    async def _start(self, job: Job):
        """Start a goal; return its last status if it does not start, else None."""
        self._starting.append(job)
        try:
            await job.action.start(job)
        except GoalError as error:
            return self._refused(error.outcome, str(error))
        except _AbandonedError:
            if job.handle.is_cancel_requested:
                return self._refused(Outcome.CANCELLED, CANCELLED)
            return self._refused(Outcome.REPLACED, REPLACED)
        finally:
            self._starting.remove(job)
        if self._running:
            self._end(replace(self._status, outcome=Outcome.REPLACED, message=REPLACED))
        self._running = job
        for other in self._starting:
            other.replaced = other.replaced or other.number < job.number
        return None

    def _end(self, status) -> None:
        job, self._running = self._running, None
        job.ended.set_result(status)
        self._resume(job)


def _end_with(action: Action, status, handle):
    """Set the final state of a goal, and return its result."""
    if status.outcome is Outcome.REACHED:
        handle.succeed()
    elif status.outcome is Outcome.CANCELLED:
        handle.canceled()
    else:
        handle.abort()
    return action.result(status)


def _raise(error: Exception, _handle):
    """Let rclpy log an error of a goal and abort it."""
    raise error


def _no_goal_ends_here(_handle):
    raise AssertionError('goals end through their Job')
