"""The actions `move_tip` and `follow_path`: a goal from the wire to the controller, feedback and result back.

A goal is a coroutine that waits while the node's loop runs. A newer goal takes over from the one under way, which ends as cancelled.
"""

from dataclasses import dataclass

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

from soft_arm_control.controller import Outcome, Status, TipController
from soft_arm_control.errors import DriverLostError, GoalError, OutsideWorkspaceError
from soft_arm_control.goal import Goal
from soft_arm_control.goal_planning import checked_point, plan
from soft_arm_control.ros import conversions
from soft_arm_kinematics.arm import Arm
from soft_arm_msgs.action import FollowPath, MoveTip
from soft_arm_msgs.srv import SolveIK

FEEDBACK_TICKS = 5  # of the loop: 10 Hz
IK_TIMEOUT_S = 2.0
_OUTCOMES = {OutsideWorkspaceError: Outcome.OUTSIDE_WORKSPACE, DriverLostError: Outcome.DRIVER_LOST}  # others: an invalid goal


@dataclass
class _Running:
    handle: object
    feedback: object  # Status to feedback message
    goal: Goal
    ended: Future  # resolves to the Status that the goal ends with


class GoalServer:
    """Serves both actions of a node; the node calls `after_tick` with every status of the controller."""

    def __init__(self, node: Node, arm: Arm, controller: TipController, tolerance_m: float, timeout_s: float):
        self._node, self._arm, self._controller = node, arm, controller
        self._tolerance_m, self._timeout_s = tolerance_m, timeout_s
        self._running: _Running | None = None
        self._coming: tuple[Future, float] | None = None  # the inverse kinematics is waited for, until
        self._waiting: tuple[Future, float] | None = None  # and then its answer, until
        self._ticks = 0
        self._ik = node.create_client(SolveIK, 'solve_ik')
        accept = {'goal_callback': lambda _: GoalResponse.ACCEPT, 'cancel_callback': lambda _: CancelResponse.ACCEPT}
        self._servers = [
            ActionServer(node, MoveTip, 'move_tip', self._move_tip, **accept),
            ActionServer(node, FollowPath, 'follow_path', self._follow_path, **accept),
        ]

    @property
    def goal(self) -> Goal | None:
        """The goal under way."""
        return self._running.goal if self._running else None

    def destroy(self) -> None:
        """Close the servers."""
        for server in self._servers:
            server.destroy()

    def after_tick(self, status: Status, now_s: float) -> None:
        """Send feedback, and end the goal when the controller or its client has ended it."""
        if self._coming and (self._ik.service_is_ready() or now_s > self._coming[1]):
            (future, _), self._coming = self._coming, None
            future.set_result(None)
        if self._waiting and now_s > self._waiting[1]:
            self._ik.remove_pending_request(self._waiting[0])
            self._waiting[0].set_result(None)
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
                    'cancelled by the client; last pressures held',
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
            handle, conversions.path_feedback, handle.request.waypoints, handle.request.times_s, self._tolerance_m, self._timeout_s
        )
        return conversions.path_result(status, self._controller.path_errors_m)

    async def _run(self, handle, feedback, targets, times_s, tolerance_m, timeout_s) -> Status:
        request = handle.request
        try:
            points_m = [checked_point(conversions.point_from_msg(t.position)) for t in targets]
            lengths_m = [list(t.lengths_m) for t in targets]
            if points_m and not lengths_m[0] and not request.held_segments:
                lengths_m[0] = await self._solve_ik(points_m[0])
            goal = plan(
                self._arm,
                points_m,
                lengths_m,
                times_s,
                list(request.held_segments),
                self._present_m(),
                tolerance_m,
                timeout_s,
                request.open_loop,
            )
            self._controller.start(goal, self._now_s())
        except GoalError as error:
            handle.abort()
            return Status('idle', 0.0, None, None, 0, _OUTCOMES.get(type(error), Outcome.INVALID_GOAL), str(error))
        self._end(Status('idle', 0.0, None, None, 0, Outcome.CANCELLED, 'replaced by a newer goal'))
        self._running = _Running(handle, feedback, goal, Future())
        status = await self._running.ended
        if status.outcome is Outcome.REACHED:
            handle.succeed()
        elif handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return status

    def _end(self, status: Status) -> None:
        running, self._running = self._running, None
        if running:
            running.ended.set_result(status)

    async def _solve_ik(self, point_m: np.ndarray) -> list[float]:
        """Lengths of the best solution; the service runs in another process, so the loop goes on."""
        if not self._ik.service_is_ready():  # it may just be starting
            self._coming = Future(), self._now_s() + IK_TIMEOUT_S
            await self._coming[0]
            if not self._ik.service_is_ready():
                raise GoalError('service solve_ik is not there: start inverse_kinematics, or give lengths_m with the target')
        request = SolveIK.Request(target=conversions.point_message(point_m), present_lengths_m=self._present_m().tolist(), max_solutions=1)
        future = self._ik.call_async(request)
        self._waiting = (future, self._now_s() + IK_TIMEOUT_S)
        response = await future
        self._waiting = None
        if response is None:
            raise GoalError(f'service solve_ik gave no answer within {IK_TIMEOUT_S} s: is inverse_kinematics running?')
        if response.error_code != SolveIK.Response.NONE:
            raise OutsideWorkspaceError(response.error_msg)
        return list(response.solutions[0].lengths_m)

    def _present_m(self) -> np.ndarray:
        if self._controller.measured_pa is None:
            raise DriverLostError('no measured pressures: start the pneumatic driver and activate it')
        return self._arm.lengths(np.clip(self._controller.measured_pa, *self._arm.pressure_limits_pa))

    def _now_s(self) -> float:
        return self._node.get_clock().now().nanoseconds * 1e-9
