"""Node `limb_controller`: moves the tips of an assembly's arms of tendons to points.

In: the action `ROBOT/move_tip` of each robot of the assembly whose segments all have tendons;
`limb_configuration`, the present commands; /tf of the robots' tips, the measured tips that correct
what inverse kinematics do not know. Without it a goal stays open loop, and its result says so. Out:
`limb_configuration` (ArmConfiguration) at 50 Hz during a goal, else nothing. A goal ends when
another node commands the same segments. At start the workspace tables are built;
/diagnostics says so.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from std_msgs.msg import Header

from soft_arm_control.errors import (
    FrameError,
    GoalError,
    IkUnavailableError,
    OutsideWorkspaceError,
)
from soft_arm_control.outcome import Outcome
from soft_arm_control.ros import conversions
from soft_arm_control.ros.goal_runner import Action, GoalRunner, Job
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.controller import Status
from soft_arm_control.tip.goal_planning import checked_point
from soft_arm_control.tip.limb_move import LimbMove
from soft_arm_description.assembly import load_assembly
from soft_arm_description.assembly_frames import (
    WORLD_FRAME,
    robots_with_frames,
    segment_tip_frame,
)
from soft_arm_description.robot import Robot
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ros.conversions import arcs_from_msg
from soft_arm_kinematics.ros.target_frames import TargetFrameError, TargetFrames
from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import ArmConfiguration
from soft_arm_node_kit import diagnostics, qos
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run

TF_WAIT_S = 1.0  # for the transform of a target's frame
TIP_AGE_S = 0.5  # an older tip is not measured
IK_WAIT_S = 5.0  # for the solver; it may just be loading


@dataclass(frozen=True)
class LimbControllerParameters:
    """Parameters of the node."""

    assembly: str = parameter(description='assembly file: shipped name or path')
    tolerance_m: float = parameter(
        0.005, 'tolerance of a goal without one [m]', minimum=1e-4, maximum=1.0
    )
    timeout_s: float = parameter(
        30.0, 'time to settle of a goal without one [s]', minimum=0.1, maximum=600.0
    )


class TendonArm:
    """One arm: its action, its goal and its present command."""

    def __init__(
        self,
        node: Node,
        name: str,
        robot: Robot,
        parameters: LimbControllerParameters,
        frames: TargetFrames,
        send: Callable[[Arm, np.ndarray], None],
    ):
        self.arm, self.solver = Arm(robot), None  # the solver is loaded in another thread
        self.command = self.arm.rest_actuation
        self.taken = ''  # why the goal must end
        self._node, self._defaults, self._send = node, parameters, send
        self._move: LimbMove | None = None
        self._frames = TargetFrames(node, robot.base.frame, frames)
        self._tip = Header(frame_id=segment_tip_frame(robot, robot.segment_names[-1]))
        self._status = _idle()
        action = Action(
            MoveTip,
            f'{name}/move_tip',
            self._start,
            lambda status: conversions.move_result(status, None),
            conversions.move_feedback,
        )
        self.goals = GoalRunner(node, [action], _refused, self._cancel)

    def hear(self, arcs: list[tuple[str, float, float, float]]) -> None:
        """Record what another node commands; it ends the goal."""
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
        status = _idle()
        if self._move:
            command, status = self._move.step(now_s, self.tip_m())
            if self.taken:
                status = Status(
                    'idle',
                    status.elapsed_s,
                    status.error_m,
                    status.tip_m,
                    0,
                    Outcome.TAKEN,
                    self.taken,
                )
            else:
                self.command = command
                self._send(self.arm, command)
            if status.outcome is not None:
                self._move = None
        self._status = status
        self.goals.after_tick(status, now_s)

    def tip_m(self) -> np.ndarray | None:
        """Return the measured tip in the base frame [m], (3,); None if tf has no recent one."""
        now_s = self._node.get_clock().now().nanoseconds * 1e-9
        try:
            if now_s - self._frames.newest_s(self._tip.frame_id) > TIP_AGE_S:
                return None
            return self._frames.to_base(self._tip, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))[0]
        except TargetFrameError:
            return None

    async def _start(self, job: Job) -> None:
        request, p = job.handle.request, self._defaults
        target = request.target
        if len(target.lengths_m):
            raise GoalError('lengths_m are of bellows, this arm has tendons: leave them empty')
        if request.tolerance_m < 0.0 or not math.isfinite(request.tolerance_m):
            raise GoalError(f'tolerance_m = {request.tolerance_m}: give a finite value >= 0')
        if request.timeout_s < 0.0 or not math.isfinite(request.timeout_s):
            raise GoalError(f'timeout_s = {request.timeout_s}: give a finite value >= 0')
        await job.until(lambda: self._frames.known(target.header), TF_WAIT_S)
        position, axis = target.position, target.axis
        try:
            point_m, direction = self._frames.to_base(
                target.header, (position.x, position.y, position.z), (axis.x, axis.y, axis.z)
            )
        except TargetFrameError as error:
            raise FrameError(str(error)) from error
        point_m = checked_point(point_m)
        if not await job.until(lambda: self.solver is not None, IK_WAIT_S):
            raise IkUnavailableError(
                'inverse kinematics is being prepared: wait until the diagnostics say it is ready'
            )
        goal = self._solve(point_m, direction, list(request.held_segments))
        tolerance_m = None if request.open_loop else request.tolerance_m or p.tolerance_m
        self.taken = ''
        self._move = LimbMove(
            self.arm,
            self.command,
            goal,
            point_m,
            tolerance_m,
            request.timeout_s or p.timeout_s,
            self._node.get_clock().now().nanoseconds * 1e-9,
            np.isin(self.arm.robot.segment_names, request.held_segments),
        )

    def _solve(self, point_m: np.ndarray, axis: np.ndarray, held: list[str]) -> np.ndarray:
        try:
            found = self.solver.solve(
                point_m, axis if np.any(axis) else None, self.command, 1, held
            )
        except KinematicsError as error:
            raise GoalError(str(error)) from error
        if not found.solutions:
            sag = '' if found.reachable else '; its weight may keep the limb from there'
            raise OutsideWorkspaceError(f'{found.message}{sag}')
        return found.solutions[0].actuation

    def _cancel(self, now_s: float) -> Status:
        self._move = None
        last = self._status
        message = 'cancelled by the client; the limb keeps its shape'
        return Status(
            'idle', last.elapsed_s, last.error_m, last.tip_m, 0, Outcome.CANCELLED, message
        )


class LimbControllerNode(Node):
    """Connects `soft_arm_control.tip.limb_move` to topics and actions."""

    def __init__(self):
        super().__init__('limb_controller')
        p = declare(self, LimbControllerParameters)
        assembly = load_assembly(p.assembly)
        robots = {
            name: robot
            for name, robot in robots_with_frames(assembly).items()
            if all(segment.kind == 'tendon' for segment in robot.segments)
        }
        if not robots:
            raise KinematicsError(f'assembly {assembly.name} has no robot with tendons only')
        self._publisher = self.create_publisher(
            ArmConfiguration, 'limb_configuration', qos.ANY_COMMAND
        )
        frames = TargetFrames(self, WORLD_FRAME)
        self._arms = {
            name: TendonArm(self, name, robot, p, frames, self._send)
            for name, robot in robots.items()
        }
        self.create_subscription(
            ArmConfiguration, 'limb_configuration', self._on_configuration, qos.STATE
        )
        self.create_timer(PERIOD_S, self._tick)
        self._failed: Exception | None = None
        self._start_s = time.monotonic()
        diagnostics.Reporter(self, assembly.name, self._report)
        threading.Thread(target=self._prepare, daemon=True).start()

    def destroy_node(self) -> None:
        """Close the actions with the node."""
        for arm in self._arms.values():
            arm.goals.destroy()
        super().destroy_node()

    def _prepare(self) -> None:
        from soft_arm_kinematics.ik.inverse import InverseKinematics  # it loads the compiler

        try:
            for arm in self._arms.values():
                solver = InverseKinematics(arm.arm)
                solver.prepare()
                arm.solver = solver
        except Exception as error:
            self._failed = error

    def _send(self, arm: Arm, actuation: np.ndarray) -> None:
        stamp = self.get_clock().now().to_msg()
        theta, phi, ell = np.array([actuation[columns] for columns in arm.columns]).T
        self._publisher.publish(
            ArmConfiguration(
                header=Header(stamp=stamp, frame_id=self.get_fully_qualified_name()),
                segments=list(arm.robot.segment_names),
                theta_rad=theta.tolist(),
                phi_rad=phi.tolist(),
                ell_m=ell.tolist(),
            )
        )

    def _on_configuration(self, message: ArmConfiguration) -> None:
        if message.header.frame_id == self.get_fully_qualified_name():
            return
        try:
            arcs = arcs_from_msg(message)
        except KinematicsError:
            return  # what moves the limbs says why it ignores it
        for arm in self._arms.values():
            arm.hear(arcs)

    def _tick(self) -> None:
        if self._failed:
            raise self._failed
        now_s = self.get_clock().now().nanoseconds * 1e-9
        for arm in self._arms.values():
            arm.tick(now_s)

    def _report(self) -> tuple[bytes, str, dict]:
        waiting = [name for name, arm in self._arms.items() if arm.solver is None]
        if waiting:
            elapsed_s = time.monotonic() - self._start_s
            text = f'preparing inverse kinematics of {", ".join(waiting)}'
            return diagnostics.WARN, text, {'elapsed_s': elapsed_s, 'ready': False}
        unseen = [name for name, arm in self._arms.items() if arm.tip_m() is None]
        if unseen:
            text = f'no recent pose of the tip of {", ".join(unseen)}: goals stay open loop'
            return diagnostics.WARN, text, {}
        return diagnostics.OK, 'ready', {}


def _idle() -> Status:
    return Status('idle', 0.0, None, None, 0)


def _refused(outcome: Outcome, message: str) -> Status:
    """Return the status of a goal that has not started."""
    return Status('idle', 0.0, None, None, 0, outcome, message)


def main() -> int:
    """Run the node."""
    return run(LimbControllerNode)
