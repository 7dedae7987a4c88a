"""Targets of goals in the base frame of an arm; the first steps of every goal of a tip."""

import math
from collections.abc import Sequence

import numpy as np

from soft_arm_control.errors import FrameError, GoalError
from soft_arm_control.outcome import Outcome
from soft_arm_control.ros.goal_runner import Job
from soft_arm_control.tip.controller import Status
from soft_arm_control.tip.goal_planning import checked_point
from soft_arm_kinematics.ros.target_frames import TargetFrameError, TargetFrames
from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import TipTarget

TF_TIMEOUT_S = 1.0  # for the transform of a target's frame


def rejected(outcome: Outcome, message: str) -> Status:
    """Return the status of a goal that has not started."""
    return Status(outcome=outcome, message=message)


def limit(name: str, value: float, default: float) -> float:
    """Return a limit of a goal, or the default where it is 0.

    Raises:
        GoalError: If it is negative or not finite.
    """
    if value < 0.0 or not math.isfinite(value):
        raise GoalError(f'{name} = {value}: give a finite value >= 0')
    return value or default


def velocity_scaling(request: MoveTip.Goal) -> float:
    """Return the velocity scaling of a goal, 1 where it is 0.

    Raises:
        GoalError: If it is not from 0 to 1.
    """
    name, value = 'max_velocity_scaling_factor', request.max_velocity_scaling_factor
    if value > 1.0:
        raise GoalError(f'{name} = {value}: give at most 1, or 0 for full velocity')
    return limit(name, value, 1.0)


async def in_base_frame(
    job: Job, frames: TargetFrames, targets: Sequence[TipTarget]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Wait for the transforms of targets; return points [m] and axes (zero: any) in the base frame.

    Raises:
        FrameError: If tf does not know the transform of a target's frame.
        GoalError: If a point is not finite or is too far away.
    """
    await job.until(lambda: all(frames.known(t.header) for t in targets), TF_TIMEOUT_S)
    points_m, axes = [], []
    for target in targets:
        position, axis = target.position, target.axis
        try:
            point_m, direction = frames.to_base(
                target.header, (position.x, position.y, position.z), (axis.x, axis.y, axis.z)
            )
        except TargetFrameError as error:
            raise FrameError(str(error)) from error
        points_m.append(checked_point(point_m))
        axes.append(direction)
    return points_m, axes
