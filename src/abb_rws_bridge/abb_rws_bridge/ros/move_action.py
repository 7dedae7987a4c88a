"""Action `move_joints`: joint move by the RAPID program, which is stopped however the move ends."""

import concurrent.futures
import contextlib
import math
import time
from collections.abc import Callable, Coroutine

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.errors import ConfigurationError, Rejected, RwsError, WrongMode, WrongState
from abb_rws_bridge.link import Job, Link
from abb_rws_bridge.monitor import UP, Monitor
from abb_rws_bridge.ros import conversions
from abb_rws_bridge.ros.answer import Answer
from abb_rws_bridge.ros.bridge_parameters import BridgeParameters
from abb_rws_bridge.sequence import Arrival, MoveFailed, move_to
from soft_arm_msgs.action import MoveJoints


class MoveAction:
    """Action server with the goal policy common to all actions.

    Every goal is accepted and ends exactly once. A newer valid goal replaces the current move,
    which is stopped and ends ABORTED with the code REPLACED. An invalid goal ends ABORTED with its
    reason and leaves the current move running.

    Attributes:
        active: Set by the node with its lifecycle state; goals are executed only while active.
    """

    def __init__(
        self,
        node: Node,
        link: Link,
        wake: GuardCondition,
        group: CallbackGroup,
        parameters: BridgeParameters,
    ):
        self.active = False
        self._link, self._wake, self._settings = link, wake, parameters
        self._job: Job | None = None
        self._newest: ServerGoalHandle | None = None
        self._error_rad: float | None = None
        self._server = ActionServer(
            node,
            MoveJoints,
            'move_joints',
            self._execute,
            callback_group=group,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def cancel(self) -> None:
        """End the current move, which stops its program, and a goal waiting to replace it."""
        self._newest = None
        if self._job is not None:
            self._job.cancel()

    def destroy(self) -> None:
        """Close the server."""
        self._server.destroy()

    async def _execute(self, handle: ServerGoalHandle) -> MoveJoints.Result:
        began_s = time.monotonic()
        result = MoveJoints.Result(error_rad=math.nan)
        try:
            arrival = await self._move(handle)
        except RwsError as error:
            result.error_code, result.error_msg = self._code(error), str(error)
            handle.abort()
        except concurrent.futures.CancelledError:
            replaced = self._newest is not None and self._newest is not handle
            if replaced and not handle.is_cancel_requested:
                result.error_code = MoveJoints.Result.REPLACED
                result.error_msg = 'replaced by a newer goal; the program was stopped'
            else:
                result.error_code = MoveJoints.Result.CANCELLED
                result.error_msg = 'cancelled; the program was stopped'
            handle.canceled() if handle.is_cancel_requested else handle.abort()
        else:
            result.position_rad = arrival.position_rad.tolist()
            result.error_rad, result.duration_s = arrival.error_rad, arrival.duration_s
            handle.succeed()
            return result
        self._fill_last_position(result, began_s)
        return result

    async def _move(self, handle: ServerGoalHandle) -> Arrival:
        """Check the goal, end the current move, then execute this one.

        Raises:
            RwsError: If the goal is invalid, or its move failed.
            CancelledError: If the goal was cancelled or replaced.
        """
        work = self._work(handle.request)
        self._newest = handle
        if self._job is not None:
            self._job.cancel()
            with contextlib.suppress(RwsError, concurrent.futures.CancelledError):
                await Answer(self._job, self._wake)
        if handle.is_cancel_requested or self._newest is not handle:
            raise concurrent.futures.CancelledError
        self._error_rad = None
        job = self._job = self._link.submit(work)
        return await Answer(job, self._wake, lambda: self._meanwhile(handle, job))

    def _work(
        self, request: MoveJoints.Goal
    ) -> Callable[[Controller, Monitor], Coroutine[None, None, Arrival]]:
        """Return the coroutine function of the move of a goal.

        Raises:
            RwsError: If the goal is invalid or the node is not active.
        """
        if not self.active:
            raise NotActive('the node is not active: activate it first')
        target_rad = conversions.joints_from(
            request.names, request.position_rad, self._settings.frame_prefix
        )
        tolerance_rad, timeout_s = conversions.move_limits(
            request, self._settings.move_tolerance_rad, self._settings.move_timeout_s
        )
        return lambda controller, monitor: move_to(
            controller,
            monitor,
            target_rad,
            symbol=self._settings.target_symbol,
            tolerance_rad=tolerance_rad,
            timeout_s=timeout_s,
            progress=self._on_progress,
        )

    def _on_progress(self, error_rad: float) -> None:
        """Record a new sample; runs in the thread of the link."""
        self._error_rad = error_rad
        self._wake.trigger()

    def _meanwhile(self, handle: ServerGoalHandle, job: Job) -> None:
        if handle.is_cancel_requested:
            job.cancel()
        error_rad, self._error_rad = self._error_rad, None
        if error_rad is not None:
            age_s = conversions.age_s(self._link.known.joints)
            handle.publish_feedback(MoveJoints.Feedback(error_rad=error_rad, age_s=age_s))

    def _fill_last_position(self, result: MoveJoints.Result, began_s: float) -> None:
        joints = self._link.known.joints
        result.duration_s = time.monotonic() - began_s
        if joints is not None and joints.asked_s > began_s:
            result.position_rad = joints.value.tolist()

    def _code(self, error: RwsError) -> int:
        codes = MoveJoints.Result
        kinds = ((NotActive, codes.NOT_ACTIVE), (ConfigurationError, codes.INVALID_GOAL))
        for kind, code in kinds:
            if isinstance(error, kind):
                return code
        if self._link.known.link != UP:
            return codes.LINK_LOST
        if isinstance(error, MoveFailed):
            return codes.INTERRUPTED
        if error.status is None and isinstance(error, (WrongMode, WrongState)):
            return (
                codes.NOT_READY
            )  # checked by the bridge; refusals by the controller have a status
        return codes.REFUSED if isinstance(error, Rejected) else codes.LINK_LOST


class NotActive(WrongState):
    """The node is not active."""
