"""The actions `move_tip` and `follow_path`: a goal from the wire to the controller, feedback and result back.

Every goal is a coroutine that waits while the node's loop runs, and it ends exactly once. It may
have to wait for the inverse kinematics before it can start; meanwhile it can be cancelled like any
other. The newest goal that can be taken wins: when it starts, the one under way and all older ones
that still wait end as cancelled. A goal that cannot be taken changes nothing.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

from soft_arm_control.errors import (
    DriverLostError,
    GoalError,
    IkUnavailableError,
    OutsideWorkspaceError,
    RingError,
    TakenError,
)
from soft_arm_control.ros import conversions
from soft_arm_control.tip.controller import Outcome, Status, TipController
from soft_arm_control.tip.goal import Goal
from soft_arm_control.tip.goal_planning import checked_point, plan
from soft_arm_kinematics.arm import BellowsArm
from soft_arm_msgs.action import FollowPath, MoveTip
from soft_arm_msgs.srv import SolveIK

FEEDBACK_TICKS = 5  # of the loop: 10 Hz
IK_TIMEOUT_S = 2.0  # until the service is there; it may just be starting
IK_ANSWER_S = 5.0
_OUTCOMES = {  # others: an invalid goal
    OutsideWorkspaceError: Outcome.OUTSIDE_WORKSPACE,
    DriverLostError: Outcome.DRIVER_LOST,
    IkUnavailableError: Outcome.IK_UNAVAILABLE,
    TakenError: Outcome.TAKEN,
    RingError: Outcome.RING_LOST,
}
REPLACED, CANCELLED = 'replaced by a newer goal', 'cancelled by the client; last pressures held'


@dataclass(eq=False)
class _Job:
    """A goal from its acceptance to its end."""

    number: int  # in the order of acceptance
    handle: object
    feedback: Callable  # Status to feedback message
    goal: Goal | None = None  # once it has started
    ended: Future | None = None  # the same; resolves to the Status that the goal ends with
    woken: Future | None = (
        None  # while it waits for the inverse kinematics; resolves to the answer, or None
    )
    asked: bool = False  # waits for the answer, not for the service
    until_s: float = 0.0


class GoalServer:
    """Serves both actions of a node; the node calls `after_tick` with every status of the controller.

    Args:
        node: The node.
        arm: The model.
        controller: What the goals are for.
        tolerance_m, timeout_s: Of goals that give none [m], [s].
        others: Tells the names of other nodes that command the same arm.
    """

    def __init__(
        self,
        node: Node,
        arm: BellowsArm,
        controller: TipController,
        tolerance_m: float,
        timeout_s: float,
        others: Callable[[], list[str]],
    ):
        self._node, self._arm, self._controller, self._others = node, arm, controller, others
        self._tolerance_m, self._timeout_s = tolerance_m, timeout_s
        self._running: _Job | None = None
        self._waiting: list[_Job] = []
        self._numbers, self._newest, self._ticks = itertools.count(1), 0, 0
        self._ik = node.create_client(SolveIK, 'solve_ik')
        accept = {
            'goal_callback': lambda _: GoalResponse.ACCEPT,
            'cancel_callback': lambda _: CancelResponse.ACCEPT,
        }
        self._servers = [
            ActionServer(node, MoveTip, 'move_tip', self._move_tip, **accept),
            ActionServer(node, FollowPath, 'follow_path', self._follow_path, **accept),
        ]

    @property
    def goal(self) -> Goal | None:
        """The goal under way."""
        return self._running.goal if self._running else None

    @property
    def ik_ready(self) -> bool:
        """Whether somebody offers inverse kinematics."""
        return self._ik.service_is_ready()

    def destroy(self) -> None:
        """Close the servers."""
        for server in self._servers:
            server.destroy()

    def after_tick(self, status: Status, now_s: float) -> None:
        """Send feedback, and end the goal when the controller or its client has ended it."""
        for job in tuple(self._waiting):
            if (
                job.handle.is_cancel_requested
                or now_s > job.until_s
                or (not job.asked and self.ik_ready)
            ):
                _wake(job, None)
        if not self._running:
            return
        self._ticks += 1
        if self._running.handle.is_cancel_requested:
            self._controller.cancel()
            self._end(
                Status(
                    'idle',
                    status.elapsed_s,
                    status.error_m,
                    status.tip_m,
                    status.waypoint,
                    Outcome.CANCELLED,
                    CANCELLED,
                )
            )
        elif status.outcome is not None:
            self._end(status)
        elif self._ticks % FEEDBACK_TICKS == 0:
            self._running.handle.publish_feedback(self._running.feedback(status))

    async def _move_tip(self, handle) -> MoveTip.Result:
        request = handle.request
        status = await self._run(
            handle,
            conversions.move_feedback,
            [request.target],
            [0.0],
            request.tolerance_m or self._tolerance_m,
            request.timeout_s or self._timeout_s,
        )
        return conversions.move_result(status, self._controller.applied_pa)

    async def _follow_path(self, handle) -> FollowPath.Result:
        status = await self._run(
            handle,
            conversions.path_feedback,
            handle.request.waypoints,
            handle.request.times_s,
            self._tolerance_m,
            self._timeout_s,
        )
        return conversions.path_result(status, self._controller.path_errors_m)

    async def _run(self, handle, feedback, targets, times_s, tolerance_m, timeout_s) -> Status:
        job = _Job(next(self._numbers), handle, feedback)
        try:
            status = await self._started(job, targets, times_s, tolerance_m, timeout_s)
        except GoalError as error:
            status = Status(
                'idle',
                0.0,
                None,
                None,
                0,
                _OUTCOMES.get(type(error), Outcome.INVALID_GOAL),
                str(error),
            )
        status = status or await job.ended
        if status.outcome is Outcome.REACHED:
            handle.succeed()
        elif handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return status

    async def _started(self, job: _Job, targets, times_s, tolerance_m, timeout_s) -> Status | None:
        """Start the goal; return a status only where it has ended before. Raises GoalError."""
        request = job.handle.request
        self._check_alone()
        points_m = [checked_point(conversions.point_from_msg(t.position)) for t in targets]
        lengths_m = [list(t.lengths_m) for t in targets]
        if points_m and not lengths_m[0] and not request.held_segments:
            answer = await self._solve_ik(job, points_m[0])
            if self._given_up(job):
                message = CANCELLED if job.handle.is_cancel_requested else REPLACED
                return Status('idle', 0.0, None, None, 0, Outcome.CANCELLED, message)
            lengths_m[0] = _best_lengths(answer)
        present_m, held = self._present_m(), list(request.held_segments)
        goal = plan(
            self._arm,
            points_m,
            lengths_m,
            times_s,
            held,
            present_m,
            tolerance_m,
            timeout_s,
            request.open_loop,
        )
        self._controller.start(goal, self._now_s())
        self._newest = job.number
        self._end(Status('idle', 0.0, None, None, 0, Outcome.CANCELLED, REPLACED))
        job.goal, job.ended = goal, Future()
        self._running = job
        for other in tuple(self._waiting):
            if other.number < job.number:
                _wake(other, None)
        return None

    def _end(self, status: Status) -> None:
        running, self._running = self._running, None
        if running:
            running.ended.set_result(status)

    def _check_alone(self) -> None:
        if others := self._others():
            raise TakenError(
                f'{others[0]} also publishes pressure_command: end it, since one node at a time may command the arm'
            )

    async def _solve_ik(self, job: _Job, point_m: np.ndarray):
        """The answer of the service, or None where the goal was given up meanwhile; it runs in another process, so the loop goes on."""
        present_m = self._present_m()
        if not self.ik_ready:
            await self._wait(job, IK_TIMEOUT_S)
            if self._given_up(job):
                return None
            if not self.ik_ready:
                raise IkUnavailableError(
                    'service solve_ik is not there: start inverse_kinematics, or wait until it has compiled (its diagnostics tell), '
                    'or give lengths_m with the target'
                )
        request = SolveIK.Request(
            target=conversions.point_message(point_m),
            present_lengths_m=present_m.tolist(),
            max_solutions=1,
        )
        future = self._ik.call_async(request)
        future.add_done_callback(
            lambda done: _wake(job, None if done.exception() else done.result())
        )
        job.asked = True
        answer = await self._wait(job, IK_ANSWER_S)
        if answer is None:
            self._ik.remove_pending_request(future)
            if not self._given_up(job):
                raise IkUnavailableError(
                    f'service solve_ik gave no answer within {IK_ANSWER_S} s: is inverse_kinematics running?'
                )
        return answer

    async def _wait(self, job: _Job, limit_s: float):
        job.woken, job.until_s = Future(), self._now_s() + limit_s
        self._waiting.append(job)
        try:
            return await job.woken
        finally:
            self._waiting.remove(job)

    def _given_up(self, job: _Job) -> bool:
        return job.handle.is_cancel_requested or job.number < self._newest

    def _present_m(self) -> np.ndarray:
        if self._controller.measured_pa is None:
            raise DriverLostError(
                'no measured pressures: start the pneumatic driver and activate it'
            )
        return self._arm.lengths(
            np.clip(self._controller.measured_pa, *self._arm.pressure_limits_pa)
        )

    def _now_s(self) -> float:
        return self._node.get_clock().now().nanoseconds * 1e-9


def _wake(job: _Job, answer) -> None:
    if job.woken and not job.woken.done():
        job.woken.set_result(answer)


def _best_lengths(answer: SolveIK.Response) -> list[float]:
    if answer.error_code != SolveIK.Response.NONE or not answer.solutions:
        raise OutsideWorkspaceError(
            answer.error_msg or 'inverse kinematics found no solution: choose another target'
        )
    return list(answer.solutions[0].lengths_m)
