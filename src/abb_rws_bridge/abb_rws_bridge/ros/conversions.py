"""Conversions between core values and messages."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from sensor_msgs.msg import JointState

from abb_rws_bridge import irb120
from abb_rws_bridge.errors import ConfigurationError
from abb_rws_bridge.monitor import Knowledge
from abb_rws_bridge.values import Aged, LogEntry, Signal
from soft_arm_msgs.action import MoveJoints
from soft_arm_msgs.msg import ControllerEvent, ControllerState, IoSignals

_LEVELS = {
    'info': ControllerEvent.INFO,
    'warning': ControllerEvent.WARNING,
    'error': ControllerEvent.ERROR,
}


def joint_state(joints_rad: np.ndarray, stamp: Time, prefix: str) -> JointState:
    """Return the message of joint angles [rad]."""
    message = JointState(
        name=[prefix + name for name in irb120.JOINT_NAMES], position=joints_rad.tolist()
    )
    message.header.stamp, message.header.frame_id = stamp, f'{prefix}base_link'
    return message


def joints_from(names: Sequence[str], position_rad: Sequence[float], prefix: str) -> np.ndarray:
    """Return the joint angles [rad], shape (6,), in the robot's order.

    Raises:
        ConfigurationError: If a name is unknown or missing, or a limit is exceeded.
    """
    wanted = [prefix + name for name in irb120.JOINT_NAMES]
    if sorted(names) != wanted or len(position_rad) != len(wanted):
        listed = ', '.join(name[:20] for name in names[:6]) or 'none'
        raise ConfigurationError(
            f'{len(position_rad)} positions for {len(names)} joints ({listed}): give one for each '
            f'of {wanted}'
        )
    return irb120.check_joints([position_rad[list(names).index(name)] for name in wanted])


def move_limits(
    request: MoveJoints.Goal, tolerance_rad: float, timeout_s: float
) -> tuple[float, float]:
    """Return tolerance [rad] and time limit [s] of a goal; 0 selects the default of the node.

    Raises:
        ConfigurationError: If a value is out of range.
    """
    for name, value, most in (
        ('tolerance_rad', request.tolerance_rad, 0.1),
        ('timeout_s', request.timeout_s, 600.0),
    ):
        if not 0.0 <= value <= most:  # false for NaN too
            raise ConfigurationError(
                f'{name} = {value} must be from 0 to {most}; 0 selects the default'
            )
    return request.tolerance_rad or tolerance_rad, request.timeout_s or timeout_s


def base_transform(
    position_m: Sequence[float], yaw_rad: float, stamp: Time, prefix: str
) -> TransformStamped:
    """Return the transform world -> base_link of an upright base.

    Raises:
        ConfigurationError: If the position does not have three values.
    """
    if len(position_m) != 3:
        raise ConfigurationError(
            f'base_position_m has {len(position_m)} values: give three, x, y and z [m]'
        )
    message = TransformStamped(child_frame_id=f'{prefix}base_link')
    message.header.stamp, message.header.frame_id = stamp, 'world'
    t, q = message.transform.translation, message.transform.rotation
    t.x, t.y, t.z = position_m
    q.z, q.w = math.sin(yaw_rad / 2), math.cos(yaw_rad / 2)
    return message


def transforms(joints_rad: np.ndarray, stamp: Time, prefix: str) -> list[TransformStamped]:
    """Return the transforms base_link -> link_1 .. link_6 -> tool0 of the URDF."""
    frames = [f'{prefix}base_link', *(f'{prefix}link_{i}' for i in range(1, 7)), f'{prefix}tool0']
    result = []
    for index, (origin_m, q_xyzw) in enumerate(irb120.link_transforms(joints_rad)):
        message = TransformStamped(child_frame_id=frames[index + 1])
        message.header.stamp, message.header.frame_id = stamp, frames[index]
        t, q = message.transform.translation, message.transform.rotation
        t.x, t.y, t.z = map(float, origin_m)
        q.x, q.y, q.z, q.w = map(float, q_xyzw)
        result.append(message)
    return result


def controller_state(known: Knowledge, stamp: Time) -> ControllerState:
    """Return the message of the controller state, with the age of each value."""
    message = ControllerState(link=known.link, error=known.error, speed_ratio=math.nan)
    message.header.stamp = stamp
    message.control_state_age_s = age_s(known.control_state)
    message.operation_mode_age_s = age_s(known.operation_mode)
    message.program_age_s = age_s(known.execution)
    message.speed_ratio_age_s = age_s(known.speed_ratio)
    if known.control_state is not None:
        message.control_state = known.control_state.value
    if known.operation_mode is not None:
        message.operation_mode = known.operation_mode.value
    if known.execution is not None:
        message.program_running = known.execution.value.running
        message.cycle = known.execution.value.cycle
    if known.speed_ratio is not None:
        message.speed_ratio = known.speed_ratio.value
    return message


def io_signals(signals: dict[str, Signal], wanted: Iterable[str], stamp: Time) -> IoSignals:
    """Return the message of the selected signals, without those that the controller lacks."""
    found = [signals[name] for name in wanted if name in signals]
    message = IoSignals(
        names=[s.name for s in found],
        values=[s.value for s in found],
        simulated=[s.simulated for s in found],
    )
    message.header.stamp = stamp
    return message


def controller_event(entry: LogEntry, stamp: Time) -> ControllerEvent:
    """Return the message of an event log entry."""
    message = ControllerEvent(
        level=_LEVELS[entry.kind],
        code=entry.code,
        sequence=entry.sequence,
        title=entry.title,
        controller_stamp=entry.stamp,
    )
    message.header.stamp = stamp
    return message


def age_s(value: Aged | None) -> float:
    """Return the age [s] of a value; NaN without a value."""
    return math.nan if value is None else value.age_s
