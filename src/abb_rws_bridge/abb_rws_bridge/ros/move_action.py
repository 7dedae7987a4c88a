"""The action `move_joints`.

The controller's own program takes the robot to joint angles, and is stopped however that ends.
"""

import concurrent.futures
import math
import time

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import CallbackGroup
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node

from abb_rws_bridge.errors import ConfigurationError, Rejected, RwsError, WrongMode, WrongState
from abb_rws_bridge.link import Job, Link
from abb_rws_bridge.monitor import UP
from abb_rws_bridge.ros import conversions
from abb_rws_bridge.ros.answer import Answer
from abb_rws_bridge.ros.bridge_parameters import BridgeParameters
from abb_rws_bridge.sequence import Arrival, MoveFailed, move_to
from soft_arm_msgs.action import MoveJoints


class MoveAction:
    """Serves the action of a node, one goal at a time.

    Attributes:
        active: Set by the node with its lifecycle state; goals are only taken while active.
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
        """End a move under way; its program is stopped."""
        if self._job is not None:
            self._job.cancel()

    def destroy(self) -> None:
        """Close the server."""
        self._server.destroy()

    async def _execute(self, handle) -> MoveJoints.Result:
        began_s = time.monotonic()
        result = MoveJoints.Result(error_rad=math.nan)
        try:
            self._job = self._begin(handle.request)
            arrival = await Answer(self._job, self._wake, lambda: self._meanwhile(handle))
        except RwsError as error:
            result.error_code, result.error_msg = self._code(error), str(error)
            handle.abort()
        except concurrent.futures.CancelledError:
            result.error_code, result.error_msg = (
                MoveJoints.Result.CANCELLED,
                'cancelled; the program was stopped',
            )
            handle.canceled() if handle.is_cancel_requested else handle.abort()
        else:
            self._tell_arrival(result, arrival)
            handle.succeed()
            return result
        self._tell_last(result, began_s)
        return result

    def _begin(self, request: MoveJoints.Goal) -> Job:
        if not self.active:
            raise NotActive('the node is not active: activate it first')
        if self._job is not None and not self._job.future.done():
            raise NotActive('a move is under way: stop it first')
        target_rad = conversions.joints_from(
            request.names, request.position_rad, self._settings.frame_prefix
        )
        tolerance_rad, timeout_s = conversions.move_limits(
            request, self._settings.move_tolerance_rad, self._settings.move_timeout_s
        )
        self._error_rad = None
        return self._link.submit(
            lambda controller, monitor: move_to(
                controller,
                monitor,
                target_rad,
                symbol=self._settings.target_symbol,
                tolerance_rad=tolerance_rad,
                timeout_s=timeout_s,
                progress=self._on_progress,
            )
        )

    def _on_progress(self, error_rad: float) -> None:
        """Called in the link's thread."""
        self._error_rad = error_rad
        self._wake.trigger()

    def _meanwhile(self, handle) -> None:
        if handle.is_cancel_requested:
            self._job.cancel()
        error_rad, self._error_rad = self._error_rad, None
        if error_rad is not None:
            handle.publish_feedback(
                MoveJoints.Feedback(
                    error_rad=error_rad, age_s=conversions.age_s(self._link.known.joints)
                )
            )

    def _tell_arrival(self, result: MoveJoints.Result, arrival: Arrival) -> None:
        result.position_rad, result.error_rad, result.duration_s = (
            arrival.position_rad.tolist(),
            arrival.error_rad,
            arrival.duration_s,
        )

    def _tell_last(self, result: MoveJoints.Result, began_s: float) -> None:
        joints = self._link.known.joints
        result.duration_s = time.monotonic() - began_s
        if joints is not None and joints.asked_s > began_s:
            result.position_rad = np.asarray(joints.value.position_rad).tolist()

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
            return codes.NOT_READY  # found here; a refusal by the controller has a status
        return codes.REFUSED if isinstance(error, Rejected) else codes.LINK_LOST


class NotActive(WrongState):
    """The node takes no goal now."""
