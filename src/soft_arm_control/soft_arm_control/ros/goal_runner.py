"""Runs the goals of a node's actions, by one convention for all of them.

Every goal is accepted and ends exactly once. One goal at a time is under way, and the newest that
can be taken wins: when it starts, the one under way and all older ones that still wait end ABORTED
with the code REPLACED. A goal that cannot be taken ends ABORTED with its reason and changes nothing
else. A goal that its client cancels ends CANCELED, also while it still waits for something.
"""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

from soft_arm_control.errors import GoalError
from soft_arm_control.outcome import Outcome

FEEDBACK_TICKS = 5  # of the control loop: 10 Hz
REPLACED, CANCELLED = 'replaced by a newer goal', 'cancelled by the client'


@dataclass(frozen=True)
class Action:
    """One action of a node.

    Attributes:
        kind, name: Type and name.
        start: Coroutine that hands the goal to the controller; it may wait with `Job.until` before,
            and raises GoalError where the goal cannot be taken.
        result, feedback: Make the messages of a controller's status.
    """

    kind: type
    name: str
    start: Callable[['Job'], Awaitable[None]]
    result: Callable[[Any], Any]
    feedback: Callable[[Any], Any]


class _GivenUpError(Exception):
    """The goal that waits was cancelled or replaced."""


class Job:
    """A goal from its acceptance to its end."""

    def __init__(self, number: int, handle, action: Action, now_s: Callable[[], float]):
        self.number, self.handle, self.action, self._now_s = number, handle, action, now_s
        self.ended: Future = Future()  # resolves to the status that the goal ends with
        self.replaced = False
        self._waiting: tuple[Callable[[], bool], float, Future] | None = None

    @property
    def given_up(self) -> bool:
        """Whether the goal is to end before it has started."""
        return self.replaced or self.handle.is_cancel_requested

    async def until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Wait, while the loop goes on, until a condition holds; return whether it did in time."""
        if not condition():
            self._waiting = condition, self._now_s() + limit_s, Future()
            await self._waiting[2]
        if self.given_up:
            raise _GivenUpError
        return condition()

    def poll(self, now_s: float) -> None:
        """Go on if what the goal waits for has come, or it need not wait any longer."""
        if self._waiting:
            condition, until_s, woken = self._waiting
            if self.given_up or now_s > until_s or condition():
                self._waiting = None
                woken.set_result(None)


class GoalRunner:
    """Serves the actions of a node; the node calls `after_tick` with every status of its controller.

    Args:
        node: The node.
        actions: What it offers.
        refused: Makes the status of a goal that has not started, of an outcome and a message.
        cancel: Makes the controller give up its goal at a time [s] and returns the status.
    """

    def __init__(
        self,
        node: Node,
        actions: list[Action],
        refused: Callable[[Outcome, str], Any],
        cancel: Callable[[float], Any],
    ):
        self._node, self._refused, self._cancel = node, refused, cancel
        self._running: Job | None = None
        self._starting: list[Job] = []
        self._status = refused(Outcome.REPLACED, REPLACED)  # until the first tick
        self._numbers, self._ticks = itertools.count(1), 0
        self._servers = [
            ActionServer(
                node,
                action.kind,
                action.name,
                partial(self._run, action),  # rclpy awaits no lambda
                goal_callback=lambda _: GoalResponse.ACCEPT,
                cancel_callback=lambda _: CancelResponse.ACCEPT,
            )
            for action in actions
        ]

    def destroy(self) -> None:
        """Close the action servers."""
        for server in self._servers:
            server.destroy()

    def after_tick(self, status, now_s: float) -> None:
        """Send feedback, and end the goal when the controller or its client has ended it."""
        self._status = status
        for job in tuple(self._starting):
            job.poll(now_s)
        job = self._running
        if job is None:
            return
        self._ticks += 1
        if status.outcome is not None:
            self._end(status)
        elif job.handle.is_cancel_requested:
            self._end(self._cancel(now_s))
        elif self._ticks % FEEDBACK_TICKS == 0:
            job.handle.publish_feedback(job.action.feedback(status))

    async def _run(self, action: Action, handle):
        job = Job(next(self._numbers), handle, action, self._now_s)
        status = await self._start(job) or await job.ended
        if status.outcome is Outcome.REACHED:
            handle.succeed()
        elif status.outcome is Outcome.CANCELLED:
            handle.canceled()
        else:
            handle.abort()
        return action.result(status)

    async def _start(self, job: Job):
        """Start a goal; return the status that it ends with where it does not start."""
        self._starting.append(job)
        try:
            await job.action.start(job)
        except GoalError as error:
            return self._refused(error.outcome, str(error))
        except _GivenUpError:
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

    def _now_s(self) -> float:
        return self._node.get_clock().now().nanoseconds * 1e-9
