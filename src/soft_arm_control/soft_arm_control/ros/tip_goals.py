"""Prepare goals of `move_tip` and `follow_path` and start them on the tip controller.

Message -> points in the arm's base frame through tf -> actuator lengths of the first point from
`solve_ik`, with the held segments -> trajectory under gravity (`plan`) -> `TipController`, which
tracks it.
"""

from collections.abc import Callable, Sequence

import numpy as np
from sensor_msgs.msg import CameraInfo
from std_msgs.msg import Header

from soft_arm_control.errors import (
    DriverLostError,
    GoalError,
    IkUnavailableError,
    OutsideWorkspaceError,
    TakenError,
)
from soft_arm_control.ros import conversions
from soft_arm_control.ros.goal_runner import Action, GoalRunner, Job
from soft_arm_control.ros.tip_controller_parameters import TipControllerParameters
from soft_arm_control.ros.tip_targets import in_base_frame, rejected, velocity_scaling
from soft_arm_control.tip.camera_view import CameraView
from soft_arm_control.tip.controller import TipController
from soft_arm_control.tip.goal import Goal
from soft_arm_control.tip.goal_planning import free_actuators, plan
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.ros.target_frames import TargetFrames
from soft_arm_msgs.action import FollowPath, MoveTip
from soft_arm_msgs.msg import TipTarget
from soft_arm_msgs.srv import SolveIK
from soft_arm_node_kit.node import Node

IK_SERVICE_TIMEOUT_S = 2.0  # for the service to appear; its node may just be starting
IK_RESPONSE_TIMEOUT_S = 5.0  # for the response of the service


class TipGoals:
    """Serve the actions `move_tip` and `follow_path` of a node.

    Set `camera_info` where the tip is measured in the images of a camera.

    Args:
        node: The node; it calls `before_tick` and `after_tick` of `runner` at each control tick.
        arm: Model of the arm.
        controller: Tracks the goals.
        parameters: Defaults for goals, and whether anything measures the tip.
        others: Returns the names of other nodes that command the same arm.
    """

    def __init__(
        self,
        node: Node,
        arm: Arm,
        controller: TipController,
        parameters: TipControllerParameters,
        others: Callable[[], list[str]],
    ):
        self._node = node
        self._arm = arm
        self._controller = controller
        self._others = others
        self._parameters = parameters
        self._frames = TargetFrames(node, arm.robot.base.frame)
        self.camera_info: CameraInfo | None = None  # of the camera that measures the tip
        self._ik = node.create_client(SolveIK, 'solve_ik')
        move_tip = Action(
            MoveTip,
            'move_tip',
            self._start_move,
            lambda status: conversions.move_result(status, controller.applied_pa),
            conversions.move_feedback,
        )
        follow_path = Action(
            FollowPath,
            'follow_path',
            self._start_path,
            lambda status: conversions.path_result(status, controller.path_errors_m),
            conversions.path_feedback,
        )
        self.runner = GoalRunner(node, [move_tip, follow_path], rejected, controller.cancel)

    @property
    def ik_ready(self) -> bool:
        """Return whether the service `solve_ik` is available."""
        return self._ik.service_is_ready()

    async def _start_move(self, job: Job) -> None:
        request = job.handle.request
        tolerance_m = request.tolerance_m or self._parameters.tolerance_m
        timeout_s = request.timeout_s or self._parameters.timeout_s
        scaling = velocity_scaling(request)
        await self._start(job, [request.target], [0.0], tolerance_m, timeout_s, scaling)

    async def _start_path(self, job: Job) -> None:
        request = job.handle.request
        tolerance_m, timeout_s = self._parameters.tolerance_m, self._parameters.timeout_s
        await self._start(job, request.waypoints, request.times_s, tolerance_m, timeout_s)

    async def _start(
        self,
        job: Job,
        targets: Sequence[TipTarget],
        times_s: Sequence[float],
        tolerance_m: float,
        timeout_s: float,
        scaling: float = 1.0,
    ) -> None:
        if others := self._others():
            raise TakenError(
                f'{others[0]} also publishes pressure_command: '
                'end it, since one node at a time may command the arm'
            )
        request = job.handle.request
        if not self._parameters.measured and not request.open_loop:
            raise GoalError(
                'nothing measures the tip, since tip_source is none: set open_loop, which '
                '`softarm move --open-loop` does, or launch with another tip_source'
            )
        # Report a wrong segment before any wait.
        free_actuators(self._arm.robot, request.held_segments)
        points_m, axes = await in_base_frame(job, self._frames, targets)
        lengths_m = [list(target.lengths_m) for target in targets]
        if any(np.any(axis) and (i > 0 or lengths_m[i]) for i, axis in enumerate(axes)):
            raise GoalError(
                'a later waypoint, or a target with lengths_m, has an axis: only inverse '
                'kinematics of the first target takes one; leave the axis zero'
            )
        start_m = self._present_m()
        if points_m and not lengths_m[0]:
            start_m = await self._solve_ik(job, points_m[0], axes[0])
        goal = plan(
            self._arm,
            points_m,
            lengths_m,
            times_s,
            request.held_segments,
            start_m,
            tolerance_m,
            timeout_s,
            request.open_loop,
            scaling,
            request.payload_kg,
        )
        self._check_view(goal)
        self._controller.start(goal, self._node.now_s())

    def _check_view(self, goal: Goal) -> None:
        info = self.camera_info
        if info is None or goal.open_loop:
            return
        camera = Header(frame_id=info.header.frame_id)
        if not self._frames.known(camera):
            return
        view = CameraView(
            self._frames.pose_in_base(camera),
            np.reshape(info.k, (3, 3)),
            info.width,
            info.height,
        )
        for point_m in goal.points_m:
            view.check(point_m)

    async def _solve_ik(self, job: Job, point_m: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """Return the best lengths [m] from `solve_ik`; the control loop continues meanwhile.

        `solve_ik` has no load. Where it has no solution, the arm under gravity may have one near
        the present lengths, which are returned then.
        """
        present_m = self._present_m()
        if not await job.until(lambda: self.ik_ready, IK_SERVICE_TIMEOUT_S):
            raise IkUnavailableError(
                'service solve_ik is not available: start inverse_kinematics, wait until it has '
                'compiled (see its diagnostics), or give lengths_m with the target'
            )
        request = SolveIK.Request(
            target=conversions.point_message(point_m),
            axis=conversions.vector_message(axis),
            present_lengths_m=present_m.tolist(),
            held_segments=job.handle.request.held_segments,
            max_solutions=1,
        )
        future = self._ik.call_async(request)
        try:
            answered = await job.until(future.done, IK_RESPONSE_TIMEOUT_S)
        finally:
            self._ik.remove_pending_request(future)
        if not answered or future.exception():
            raise IkUnavailableError(
                f'service solve_ik gave no answer within {IK_RESPONSE_TIMEOUT_S} s: '
                'is inverse_kinematics running?'
            )
        answer = future.result()
        if answer.error_code == SolveIK.Response.INVALID_TARGET:
            raise GoalError(answer.error_msg)
        outside = answer.error_code == SolveIK.Response.OUTSIDE_WORKSPACE
        if outside and not np.any(axis):
            return present_m
        if answer.error_code or not answer.solutions:
            raise OutsideWorkspaceError(
                answer.error_msg or 'inverse kinematics found no solution: choose another target'
            )
        return np.array(answer.solutions[0].lengths_m)

    def _present_m(self) -> np.ndarray:
        measured_pa = self._controller.measured_pa
        if measured_pa is None:
            raise DriverLostError(
                'no measured pressures: start the pneumatic driver and activate it'
            )
        return self._arm.lengths(np.clip(measured_pa, *self._arm.pressure_limits_pa))
