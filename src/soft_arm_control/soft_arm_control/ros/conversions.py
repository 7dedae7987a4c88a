"""Between messages and plain values; the only place where both meet."""

import math

import numpy as np
from geometry_msgs.msg import Point, PoseWithCovarianceStamped, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker

from soft_arm_control.controller import Outcome, Status
from soft_arm_control.errors import GoalError
from soft_arm_description.robot import Robot
from soft_arm_msgs.action import FollowPath, MoveTip
from soft_arm_msgs.msg import ChamberPressures

ERROR_CODES = {
    Outcome.REACHED: MoveTip.Result.NONE,
    Outcome.TIMEOUT: MoveTip.Result.TIMEOUT,
    Outcome.RING_LOST: MoveTip.Result.RING_LOST,
    Outcome.CAMERA_STALE: MoveTip.Result.CAMERA_STALE,
    Outcome.DRIVER_LOST: MoveTip.Result.DRIVER_LOST,
    Outcome.SATURATED: MoveTip.Result.SATURATED,
    Outcome.CANCELLED: MoveTip.Result.CANCELLED,
    Outcome.INVALID_GOAL: MoveTip.Result.INVALID_GOAL,
    Outcome.OUTSIDE_WORKSPACE: MoveTip.Result.OUTSIDE_WORKSPACE,
}
LEAST_COVARIANCE_M2 = (1.0e-4) ** 2  # per axis: no depth camera is better than 0.1 mm


def stamp_s(stamp) -> float:
    """Time [s] of a builtin_interfaces Time."""
    return stamp.sec + 1e-9 * stamp.nanosec


def pressures_from_msg(message: ChamberPressures, robot: Robot) -> np.ndarray:
    """Gauge pressures [Pa] in robot-file order.

    Raises:
        GoalError: If a chamber is missing or a value is not finite.
    """
    given = dict(zip(message.names, message.pressures_pa, strict=False))
    values_pa = np.array([given.get(name, math.nan) for name in robot.chambers])
    if not np.isfinite(values_pa).all():
        name = robot.chambers[int(np.argmin(np.isfinite(values_pa)))]
        raise GoalError(f'no finite pressure of {name} in {list(message.names)}: the driver must use the robot file {robot.name}')
    return values_pa


def pressures_message(pressures_pa: np.ndarray, robot: Robot, stamp) -> ChamberPressures:
    """Command or measurement of all chambers."""
    return ChamberPressures(header=Header(stamp=stamp), names=list(robot.chambers), pressures_pa=pressures_pa.tolist())


def ring_from_msg(message: PoseWithCovarianceStamped) -> tuple[float, np.ndarray, np.ndarray]:
    """Image stamp [s], ring centre [m] and its covariance [m^2], shape (3, 3)."""
    p = message.pose.pose.position
    covariance_m2 = np.asarray(message.pose.covariance).reshape(6, 6)[:3, :3]
    return stamp_s(message.header.stamp), np.array([p.x, p.y, p.z]), covariance_m2 + LEAST_COVARIANCE_M2 * np.eye(3)


def point_from_msg(point: Point) -> np.ndarray:
    """Position [m], shape (3,)."""
    return np.array([point.x, point.y, point.z])


def point_message(point_m) -> Point:
    """Point of a position [m]."""
    x, y, z = (float(v) for v in point_m)
    return Point(x=x, y=y, z=z)


def number(value: float | None) -> float:
    """NaN, as the action files ask, where there is no value."""
    return math.nan if value is None else float(value)


def move_result(status: Status, applied_pa: np.ndarray | None) -> MoveTip.Result:
    """Result of a goal that has ended with `status`."""
    result = MoveTip.Result(error_code=ERROR_CODES[status.outcome], error_msg=status.message)
    result.error_m, result.settle_s = number(status.error_m), number(status.settle_s)
    if status.tip_m is not None:
        result.position = point_message(status.tip_m)
    result.pressures_pa = [] if applied_pa is None else applied_pa.tolist()
    return result


def path_result(status: Status, errors_m: np.ndarray) -> FollowPath.Result:
    """Result of a path that has ended with `status`."""
    result = FollowPath.Result(error_code=ERROR_CODES[status.outcome], error_msg=status.message)
    result.error_mean_m = float(np.mean(errors_m)) if len(errors_m) else math.nan
    result.error_p95_m = float(np.percentile(errors_m, 95)) if len(errors_m) else math.nan
    return result


def move_feedback(status: Status) -> MoveTip.Feedback:
    """Feedback of a single target."""
    return MoveTip.Feedback(phase=status.phase, error_m=number(status.error_m), elapsed_s=status.elapsed_s)


def path_feedback(status: Status) -> FollowPath.Feedback:
    """Feedback of a path."""
    return FollowPath.Feedback(waypoint=status.waypoint, error_m=number(status.error_m), elapsed_s=status.elapsed_s)


def target_marker(point_m: np.ndarray, frame: str, stamp) -> Marker:
    """Where the tip shall be, as a small sphere for rviz."""
    marker = Marker(header=Header(stamp=stamp, frame_id=frame), ns='target', type=Marker.SPHERE, action=Marker.ADD)
    marker.pose.position, marker.pose.orientation.w = point_message(point_m), 1.0
    marker.scale, marker.color = Vector3(x=0.01, y=0.01, z=0.01), ColorRGBA(r=0.1, g=0.8, b=0.3, a=0.9)
    return marker
