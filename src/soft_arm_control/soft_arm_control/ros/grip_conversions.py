"""Convert between the gripper controller's messages and plain values."""

import numpy as np
from sensor_msgs.msg import JointState

from soft_arm_control.errors import GoalError, MessageError
from soft_arm_control.grasping.gripper import EndState, Evidence, GraspGoal, GripStatus, ReleaseGoal
from soft_arm_control.outcome import Outcome
from soft_arm_control.ros.conversions import number, shown
from soft_arm_description.named_values import SENSOR_MARGIN_PA, values_by_name
from soft_arm_description.robot import Robot
from soft_arm_msgs.action import Grasp, Release
from soft_arm_msgs.msg import GripperState

ERROR_CODES = {
    Outcome.REACHED: Grasp.Result.NONE,
    Outcome.NO_CONTACT: Grasp.Result.NO_CONTACT,
    Outcome.TIMEOUT: Grasp.Result.TIMEOUT,
    Outcome.DRIVER_LOST: Grasp.Result.DRIVER_LOST,
    Outcome.SHAPE_LOST: Grasp.Result.SHAPE_LOST,
    Outcome.CANCELLED: Grasp.Result.CANCELLED,
    Outcome.REPLACED: Grasp.Result.REPLACED,
    Outcome.INVALID_GOAL: Grasp.Result.INVALID_GOAL,
    Outcome.TAKEN: Grasp.Result.FINGER_TAKEN,
}
END_STATES = {
    EndState.NOTHING_COMMANDED: Grasp.Result.NOTHING_COMMANDED,
    EndState.HOLDING: Grasp.Result.HOLDING,
    EndState.OPEN: Release.Result.OPEN,
    EndState.VENTED: Grasp.Result.VENTED,
    EndState.OTHER_GOAL: Grasp.Result.OTHER_GOAL,
}
EVIDENCE = {
    Grasp.Goal.EITHER: Evidence.NONE,
    Grasp.Goal.PRESSURE: Evidence.PRESSURE,
    Grasp.Goal.SHAPE: Evidence.SHAPE,
    Grasp.Goal.BOTH: Evidence.BOTH,
}


def pressure_pa(state: GripperState, robot: Robot) -> float:
    """Return the measured gauge pressure [Pa].

    Raises:
        MessageError: If it or a set point is not finite, or it is impossible.
    """
    numbers_pa = state.true_pressure_pa, state.positive_target_pa, state.negative_target_pa
    low_pa, high_pa = robot.pressure_limits_pa[:, 0]
    if (
        not np.isfinite(numbers_pa).all()
        or not low_pa - SENSOR_MARGIN_PA <= state.true_pressure_pa <= high_pa + SENSOR_MARGIN_PA
    ):
        raise MessageError(
            f'pressure and set points {[f"{p / 1e3:.4g}" for p in numbers_pa]} kPa: the pressure '
            f'must be finite and within {SENSOR_MARGIN_PA / 1e3:g} kPa of '
            f'{low_pa / 1e3:g} .. {high_pa / 1e3:g} kPa: check the sensor'
        )
    return state.true_pressure_pa


def set_point_pa(state: GripperState) -> float:
    """Return the set point of the device [Pa] gauge: 0 with both supplies off."""
    if state.positive_trigger:
        return state.positive_target_pa
    return state.negative_target_pa if state.negative_trigger else 0.0


def bends_from_msg(message: JointState, robot: Robot) -> np.ndarray:
    """Return the bends of the segments [rad] in the order of the robot file.

    Raises:
        MessageError: If one is missing, given twice, not finite or more than a whole turn.
    """
    seen = values_by_name(message.name, message.position, 'positions', MessageError)
    bends_rad = np.array([seen.get(name, np.nan) for name in robot.segment_names])
    if not (np.abs(bends_rad) <= 2 * np.pi).all():
        raise MessageError(
            f'no finite bend of every piece of {robot.name} in {shown(message.name)}: '
            'check the finger detector'
        )
    return bends_rad


def grasp_goal(
    request: Grasp.Goal, grip_pa: float, squeeze_pa: float, timeout_s: float
) -> GraspGoal:
    """Return the goal of a request, with the defaults of the node for fields that are 0.

    Raises:
        GoalError: If the evidence is unknown.
    """
    if request.evidence not in EVIDENCE:
        raise GoalError(f'evidence = {request.evidence}: must be one of {sorted(EVIDENCE)}')
    return GraspGoal(
        request.grip_pa or grip_pa,
        request.squeeze_pa or squeeze_pa,
        request.timeout_s or timeout_s,
        EVIDENCE[request.evidence],
    )


def release_goal(request: Release.Goal, open_pa: float, timeout_s: float) -> ReleaseGoal:
    """Return the goal of a request, with the defaults of the node for fields that are 0."""
    return ReleaseGoal(
        request.open_pa or open_pa, request.timeout_s or timeout_s, request.stay_open
    )


def grasp_result(status: GripStatus) -> Grasp.Result:
    """Return the result of a grasp that ended with `status`."""
    return Grasp.Result(
        error_code=ERROR_CODES[status.outcome],
        error_msg=status.message,
        end_state=_end_state(status),
        contact=status.contact_pa is not None,
        seen_by=status.seen_by.value,
        contact_pa=number(status.contact_pa),
        contact_s=number(status.contact_s),
        pressure_excess=number(status.largest_excess),
        shape_deficit_rad=number(status.largest_deficit_rad),
        pressure_pa=number(status.pressure_pa),
        duration_s=status.elapsed_s,
    )


def release_result(status: GripStatus) -> Release.Result:
    """Return the result of a release that ended with `status`."""
    return Release.Result(
        error_code=ERROR_CODES[status.outcome],
        error_msg=status.message,
        end_state=_end_state(status),
        open_by_shape=status.open_by_shape,
        pressure_pa=number(status.pressure_pa),
        duration_s=status.elapsed_s,
    )


def grasp_feedback(status: GripStatus) -> Grasp.Feedback:
    """Return the feedback of a grasp."""
    return Grasp.Feedback(
        phase=status.phase,
        pressure_pa=number(status.pressure_pa),
        shape_deficit_rad=number(status.deficit_rad),
        elapsed_s=status.elapsed_s,
    )


def release_feedback(status: GripStatus) -> Release.Feedback:
    """Return the feedback of a release."""
    return Release.Feedback(
        phase=status.phase, pressure_pa=number(status.pressure_pa), elapsed_s=status.elapsed_s
    )


def _end_state(status: GripStatus) -> int:
    """Return the gripper's state after the goal, OTHER_GOAL if a newer goal replaced it."""
    replaced = status.outcome is Outcome.REPLACED
    return END_STATES[EndState.OTHER_GOAL if replaced else status.end_state]
