"""Prepare and run goals of `move_tip` of a tendon-driven arm.

Message -> point in the arm's base frame through tf -> configuration by inverse kinematics in this
process -> `LimbMove`, which corrects it by the measured tip.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from std_msgs.msg import Header

from soft_arm_control.errors import GoalError, IkUnavailableError, OutsideWorkspaceError
from soft_arm_control.outcome import Outcome
from soft_arm_control.ros import conversions
from soft_arm_control.ros.goal_runner import Action, GoalRunner, Job
from soft_arm_control.ros.tip_targets import in_base_frame, limit, rejected, velocity_scaling
from soft_arm_control.tip.controller import Status
from soft_arm_control.tip.limb_move import LimbMove
from soft_arm_description.assembly_frames import segment_tip_frame
from soft_arm_description.robot import Robot
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ros.target_frames import TargetFrameError, TargetFrames
from soft_arm_msgs.action import MoveTip
from soft_arm_node_kit.node import Node

MAX_TIP_AGE_S = 0.5  # an older tip counts as not measured
IK_TIMEOUT_S = 5.0  # for the solver, which may be loading


class TendonArm:
    """Action, goal and last command of one arm.

    Args:
        node: The node; it calls `tick` every `PERIOD_S`.
        name: Namespace of the action.
        robot: A robot whose segments all have tendons.
        tolerance_m, timeout_s: Defaults for goals without them [m], [s].
        frames: Frames of all arms of the node.
        send: Publishes a command q of the arm.
    """

    def __init__(
        self,
        node: Node,
        name: str,
        robot: Robot,
        tolerance_m: float,
        timeout_s: float,
        frames: TargetFrames,
        send: Callable[[Arm, np.ndarray], None],
    ):
        self.arm, self.solver = Arm(robot), None  # the solver is loaded in another thread
        self.command = self.arm.rest_q
        self.taken = ''  # why the goal must end
        self._node, self._send = node, send
        self._tolerance_m, self._timeout_s = tolerance_m, timeout_s
        self._move: LimbMove | None = None
        self._frames = TargetFrames(node, robot.base.frame, frames)
        self._tip = Header(frame_id=segment_tip_frame(robot, robot.segment_names[-1]))
        self._status = Status()
        action = Action(
            MoveTip,
            f'{name}/move_tip',
            self._start,
            lambda status: conversions.move_result(status, None),
            conversions.move_feedback,
        )
        self.goals = GoalRunner(node, [action], rejected, self._cancel)

    def add_other_command(self, arcs: list[tuple[str, float, float, float]]) -> None:
        """Take the command of another node, arcs by segment; it ends the goal."""
        names = self.arm.robot.segment_names
        own = [(names.index(arc[0]), arc[1:]) for arc in arcs if arc[0] in names]
        for i, arc in own:
            if np.isfinite(arc).all():
                self.command[self.arm.columns[i]] = arc
        if own and self._move:
            self.taken = (
                f'another node publishes limb_configuration of {names[own[0][0]]}: end it, since '
                'one node at a time may command a limb'
            )

    def tick(self, now_s: float) -> None:
        """Command the next step of a goal, and end it when it is over."""
        self.goals.before_tick(now_s)
        status = Status()
        if self._move:
            command, status = self._move.step(now_s, self.tip_m())
            if self.taken:
                status = replace(status, phase='idle', outcome=Outcome.TAKEN, message=self.taken)
            else:
                self.command = command
                self._send(self.arm, command)
            if status.outcome is not None:
                self._move = None
        self._status = status
        self.goals.after_tick(status, now_s)

    def tip_m(self) -> np.ndarray | None:
        """Return the measured tip in the base frame [m], (3,); None if tf has no recent one."""
        now_s = self._node.now_s()
        try:
            if now_s - self._frames.newest_s(self._tip.frame_id) > MAX_TIP_AGE_S:
                return None
            return self._frames.to_base(self._tip, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))[0]
        except TargetFrameError:
            return None

    async def _start(self, job: Job) -> None:
        request = job.handle.request
        if len(request.target.lengths_m):
            raise GoalError('lengths_m are of bellows, this arm has tendons: leave them empty')
        if request.payload_kg:
            raise GoalError(f'payload_kg = {request.payload_kg}: only an arm of bellows takes one')
        tolerance_m = limit('tolerance_m', request.tolerance_m, self._tolerance_m)
        timeout_s = limit('timeout_s', request.timeout_s, self._timeout_s)
        scaling = velocity_scaling(request)
        (point_m,), (axis,) = await in_base_frame(job, self._frames, [request.target])
        if not await job.until(lambda: self.solver is not None, IK_TIMEOUT_S):
            raise IkUnavailableError(
                'inverse kinematics is being prepared: wait until the diagnostics say it is ready'
            )
        goal = self._solve(point_m, axis, list(request.held_segments))
        self.taken = ''
        self._move = LimbMove(
            self.arm,
            self.command,
            goal,
            point_m,
            None if request.open_loop else tolerance_m,
            timeout_s,
            self._node.now_s(),
            np.isin(self.arm.robot.segment_names, request.held_segments),
            scaling,
        )

    def _solve(self, point_m: np.ndarray, axis: np.ndarray, held: list[str]) -> np.ndarray:
        try:
            found = self.solver.solve(
                point_m, axis if np.any(axis) else None, self.command, 1, held
            )
        except KinematicsError as error:
            raise GoalError(str(error)) from error
        if not found.solutions:
            sag = '' if found.reachable else '; its weight may keep the limb away from there'
            raise OutsideWorkspaceError(f'{found.message}{sag}')
        return found.solutions[0].q

    def _cancel(self, now_s: float) -> Status:
        self._move = None
        message = 'cancelled by the client; the limb keeps its configuration'
        return replace(self._status, phase='idle', outcome=Outcome.CANCELLED, message=message)
