"""The actions `grasp` and `release`: a goal from the wire to the gripper, feedback and result back.

A goal is a coroutine that waits while the node's loop runs. A newer goal takes over from the one
under way, if it can be taken.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

from soft_arm_control.errors import DriverLostError, GoalError, TakenError
from soft_arm_control.grasping.gripper import (
    EndState,
    GraspGoal,
    Gripper,
    GripStatus,
    Outcome,
    ReleaseGoal,
)
from soft_arm_control.ros import grip_conversions as conversions
from soft_arm_msgs.action import Grasp, Release

FEEDBACK_TICKS = 5  # of the loop: 10 Hz
_OUTCOMES = {
    DriverLostError: Outcome.DRIVER_LOST,
    TakenError: Outcome.TAKEN,
}  # others: an invalid goal


@dataclass
class _Running:
    handle: object
    feedback: Callable  # status to feedback message
    ended: Future  # resolves to the status that the goal ends with


class GripServer:
    """Serves both actions of a node; the node calls `after_tick` with every status of the gripper.

    Args:
        grasp_goal: Makes the gripper's goal of a Grasp request; may raise GoalError.
        release_goal: The same of a Release request.
        others: Tells the names of other nodes that command the same finger.
    """

    def __init__(
        self,
        node: Node,
        gripper: Gripper,
        grasp_goal: Callable[[Grasp.Goal], GraspGoal],
        release_goal: Callable[[Release.Goal], ReleaseGoal],
        others: Callable[[], list[str]],
    ):
        self._node, self._gripper = node, gripper
        self._grasp_goal, self._release_goal, self._others = grasp_goal, release_goal, others
        self._running: _Running | None = None
        self._ticks = 0
        accept = {
            'goal_callback': lambda _: GoalResponse.ACCEPT,
            'cancel_callback': lambda _: CancelResponse.ACCEPT,
        }
        self._servers = [
            ActionServer(node, Grasp, 'grasp', self._grasp, **accept),
            ActionServer(node, Release, 'release', self._release, **accept),
        ]

    def destroy(self) -> None:
        """Close the servers."""
        for server in self._servers:
            server.destroy()

    def after_tick(self, status: GripStatus, now_s: float) -> None:
        """Send feedback, and end the goal when the gripper or its client has ended it."""
        if not self._running:
            return
        self._ticks += 1
        if status.outcome is not None:
            self._end(status)
        elif self._running.handle.is_cancel_requested:
            self._end(self._gripper.cancel(now_s))
        elif self._ticks % FEEDBACK_TICKS == 0:
            self._running.handle.publish_feedback(self._running.feedback(status))

    async def _grasp(self, handle) -> Grasp.Result:
        return conversions.grasp_result(
            await self._run(handle, self._grasp_goal, conversions.grasp_feedback)
        )

    async def _release(self, handle) -> Release.Result:
        return conversions.release_result(
            await self._run(handle, self._release_goal, conversions.release_feedback)
        )

    async def _run(self, handle, make_goal, feedback) -> GripStatus:
        now_s = self._node.get_clock().now().nanoseconds * 1e-9
        before = self._gripper.status(now_s)
        try:
            if others := self._others():
                raise TakenError(
                    f'{others[0]} also publishes pressure_command: end it, since one node at a time may command the finger'
                )
            self._gripper.start(make_goal(handle.request), now_s)
        except GoalError as error:
            handle.abort()
            outcome = _OUTCOMES.get(type(error), Outcome.INVALID_GOAL)
            return GripStatus(
                'idle', 0.0, before.pressure_pa, outcome, str(error), self._gripper.end_state
            )
        self._end(
            replace(
                before,
                outcome=Outcome.REPLACED,
                message='replaced by a newer goal',
                end_state=EndState.OTHER_GOAL,
            )
        )
        self._running = _Running(handle, feedback, Future())
        status = await self._running.ended
        if status.outcome is Outcome.DONE:
            handle.succeed()
        elif status.outcome is Outcome.CANCELLED:
            handle.canceled()
        else:
            handle.abort()
        return status

    def _end(self, status: GripStatus) -> None:
        running, self._running = self._running, None
        if running:
            running.ended.set_result(status)
