"""Values of the core into messages, and back."""

import math
from collections.abc import Iterable

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import TransformStamped
from rcl_interfaces.msg import Log
from sensor_msgs.msg import JointState

from abb_rws_bridge import irb120, mapping
from abb_rws_bridge.errors import ConfigurationError
from abb_rws_bridge.monitor import Knowledge
from abb_rws_bridge.values import Aged, LogEntry, Signal

_LEVELS = {'info': Log.INFO, 'warning': Log.WARN, 'error': Log.ERROR}


def joint_state(joints_rad: np.ndarray, stamp: Time, prefix: str) -> JointState:
    """Joint angles [rad]."""
    message = JointState(name=[prefix + name for name in irb120.JOINT_NAMES], position=joints_rad.tolist())
    message.header.stamp, message.header.frame_id = stamp, f'{prefix}base_link'
    return message


def joints_from(message: JointState, prefix: str) -> np.ndarray:
    """Joint angles [rad], shape (6,), in the robot's order.

    Raises:
        ConfigurationError: If the names are not the robot's or a limit is exceeded.
    """
    wanted = [prefix + name for name in irb120.JOINT_NAMES]
    if sorted(message.name) != wanted or len(message.position) != len(wanted):
        raise ConfigurationError(f'joint target names {list(message.name)}: give a position for each of {wanted}')
    return irb120.check_joints([message.position[list(message.name).index(name)] for name in wanted])


def transforms(joints_rad: np.ndarray, stamp: Time, prefix: str) -> list[TransformStamped]:
    """The chain base_link -> link_1 .. link_6 -> tool0, as the URDF has it."""
    frames = [f'{prefix}base_link', *(f'{prefix}link_{i}' for i in range(1, 7)), f'{prefix}tool0']
    parent, result = np.eye(4), []
    for index, pose in enumerate(irb120.link_poses(joints_rad)):
        step = np.linalg.inv(parent) @ pose
        message = TransformStamped(child_frame_id=frames[index + 1])
        message.header.stamp, message.header.frame_id = stamp, frames[index]
        t, q = message.transform.translation, message.transform.rotation
        t.x, t.y, t.z = map(float, step[:3, 3])
        q.x, q.y, q.z, q.w = map(float, mapping.q_xyzw(step[:3, :3]))
        result.append(message)
        parent = pose
    return result


def controller_status(known: Knowledge, name: str) -> DiagnosticStatus:
    """What the controller told, each value beside its age [s]; what was never told is left out."""
    values = {'control_state': known.control_state, 'operation_mode': known.operation_mode, 'speed_ratio': known.speed_ratio}
    if known.execution is not None:
        values['program'] = Aged('running' if known.execution.value.running else 'stopped', known.execution.asked_s)
        values['cycle'] = Aged(known.execution.value.cycle, known.execution.asked_s)
    pairs = [('link', known.link)]
    for key, value in values.items():
        if value is not None:
            pairs += [(key, str(value.value)), (f'{key}_age_s', f'{value.age_s:.3f}')]
    return DiagnosticStatus(name=name, message=known.error, values=[KeyValue(key=k, value=v) for k, v in pairs])


def signal_status(signals: Aged[dict[str, Signal]], names: Iterable[str], name: str) -> DiagnosticStatus:
    """Values of signals by name, and their age [s]; unknown names are left out."""
    pairs = [(wanted, f'{signals.value[wanted].value:g}') for wanted in names if wanted in signals.value]
    pairs.append(('age_s', f'{signals.age_s:.3f}'))
    return DiagnosticStatus(name=name, values=[KeyValue(key=k, value=v) for k, v in pairs])


def log_message(entry: LogEntry, stamp: Time) -> Log:
    """One entry of the event log; the stamp is ours, the controller's own stands in the text."""
    return Log(stamp=stamp, level=_LEVELS[entry.kind], name=str(entry.code), msg=f'{entry.title} ({entry.stamp})', line=entry.sequence)


def age_s(value: Aged | None) -> float:
    """Age [s]; infinite for what was never told."""
    return math.inf if value is None else value.age_s
