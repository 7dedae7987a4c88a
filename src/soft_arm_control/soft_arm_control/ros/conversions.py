"""Between messages and plain values; the only place where both meet."""

import math
import os

import numpy as np
from geometry_msgs.msg import Point, PoseWithCovarianceStamped, Vector3
from rclpy.node import Node
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker

from soft_arm_control.errors import MessageError
from soft_arm_control.outcome import Outcome
from soft_arm_control.tip.controller import Status
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
    Outcome.IK_UNAVAILABLE: MoveTip.Result.IK_UNAVAILABLE,
    Outcome.TAKEN: MoveTip.Result.ARM_TAKEN,
    Outcome.REPLACED: MoveTip.Result.REPLACED,
    Outcome.TF_ERROR: MoveTip.Result.TF_ERROR,
}
OLDEST_S, AHEAD_S = 2.0, 0.5  # a sample of another time says nothing about now
IMPOSSIBLE_PA = 50.0e3  # beyond the limits of the robot file: a broken sensor, not a pressure
TARGET_LINE_M, TARGET_REACH_M, TARGET_BEYOND_RING = (
    0.003,
    0.05,
    1.5,
)  # width; half length without a ring; of the ring's radius
LEAST_COVARIANCE_M2 = (1.0e-4) ** 2  # per axis: no depth camera is better than 0.1 mm


def stamp_s(stamp) -> float:
    """Time [s] of a builtin_interfaces Time."""
    return stamp.sec + 1e-9 * stamp.nanosec


def recent_s(stamp, now_s: float) -> float:
    """Time [s] of a message's stamp.

    Raises:
        MessageError: If it is not of now, `now_s` [s].
    """
    at_s = stamp_s(stamp)
    if not now_s - OLDEST_S <= at_s <= now_s + AHEAD_S:
        age = (
            f'{now_s - at_s:.1f} s old, limit {OLDEST_S} s'
            if at_s < now_s
            else f'{at_s - now_s:.1f} s in the future, limit {AHEAD_S} s'
        )
        raise MessageError(f'its stamp is {age}: check the clocks, and that nothing replays a bag')
    return at_s


def pressures_from_msg(message: ChamberPressures, robot: Robot) -> np.ndarray:
    """Gauge pressures [Pa] in robot-file order.

    Raises:
        MessageError: If a chamber is missing, or a value is not finite or no pressure that there
            can be.
    """
    given = dict(zip(message.names, message.pressures_pa, strict=False))
    values_pa = np.array([given.get(name, math.nan) for name in robot.chambers])
    if not np.isfinite(values_pa).all():
        name = robot.chambers[int(np.argmin(np.isfinite(values_pa)))]
        raise MessageError(
            f'no finite pressure of {name} in {shown(message.names)}: the driver must use the robot file {robot.name}'
        )
    low_pa, high_pa = robot.pressure_limits_pa
    bad = (values_pa < low_pa - IMPOSSIBLE_PA) | (values_pa > high_pa + IMPOSSIBLE_PA)
    if bad.any():
        i = int(np.argmax(bad))
        raise MessageError(
            f'{robot.chambers[i]} at {values_pa[i] / 1e3:.4g} kPa, limits {low_pa[i] / 1e3:g} .. {high_pa[i] / 1e3:g} kPa: check its sensor'
        )
    return values_pa


def shown(names) -> str:
    """Names in a message for people: the first few."""
    return f'[{", ".join(list(names)[:8])}{", .." if len(names) > 8 else ""}]'[:100]


def command_message(pressures_pa, robot: Robot, node: Node) -> ChamberPressures:
    """Command of all chambers [Pa], stamped now, with this node and its process as the source."""
    return ChamberPressures(
        header=Header(stamp=node.get_clock().now().to_msg()),
        names=list(robot.chambers),
        pressures_pa=[float(p) for p in pressures_pa],
        source=f'{node.get_fully_qualified_name()} {os.getpid()}',
    )


def ring_from_msg(message: PoseWithCovarianceStamped, frame: str) -> tuple[np.ndarray, np.ndarray]:
    """Ring centre [m] and its covariance [m^2], shape (3, 3), in a frame.

    Raises:
        MessageError: If the pose is of another frame, not finite, without an orientation, or its
            covariance is none.
    """
    if message.header.frame_id != frame:
        raise MessageError(
            f"its frame is {message.header.frame_id[:60]!r}, the arm's base is {frame!r}: calibrate the extrinsics with this robot file"
        )
    p, q = message.pose.pose.position, message.pose.pose.orientation
    point_m, q_xyzw = np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w])
    covariance = np.asarray(message.pose.covariance).reshape(6, 6)
    if not (
        np.isfinite(point_m).all() and np.isfinite(q_xyzw).all() and np.isfinite(covariance).all()
    ):
        raise MessageError('its pose or covariance is not finite')
    if abs(np.linalg.norm(q_xyzw) - 1.0) > 0.01:
        raise MessageError(f'its orientation {q_xyzw.tolist()} is no unit quaternion')
    covariance_m2 = 0.5 * (covariance[:3, :3] + covariance[:3, :3].T)
    if np.linalg.eigvalsh(covariance_m2)[0] < -LEAST_COVARIANCE_M2:
        raise MessageError('its covariance of the position is not positive semidefinite')
    return point_m, covariance_m2 + LEAST_COVARIANCE_M2 * np.eye(3)


def point_from_msg(point: Point) -> np.ndarray:
    """Position [m], shape (3,)."""
    return np.array([point.x, point.y, point.z])


def point_message(point_m) -> Point:
    """Point of a position [m]."""
    x, y, z = (float(v) for v in point_m)
    return Point(x=x, y=y, z=z)


def vector_message(vector) -> Vector3:
    """Vector3 of a direction."""
    x, y, z = (float(v) for v in vector)
    return Vector3(x=x, y=y, z=z)


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
    return MoveTip.Feedback(
        phase=status.phase, error_m=number(status.error_m), elapsed_s=status.elapsed_s
    )


def path_feedback(status: Status) -> FollowPath.Feedback:
    """Feedback of a path."""
    return FollowPath.Feedback(
        waypoint=status.waypoint, error_m=number(status.error_m), elapsed_s=status.elapsed_s
    )


def target_marker(point_m: np.ndarray, robot: Robot, stamp) -> Marker:
    """Where the tip shall be: for rviz, three crossed lines that come out of the ring round them."""
    marker = Marker(
        header=Header(stamp=stamp, frame_id=robot.base.frame),
        ns='target',
        type=Marker.LINE_LIST,
        action=Marker.ADD,
    )
    marker.pose.position, marker.pose.orientation.w = point_message(point_m), 1.0
    marker.scale, marker.color = Vector3(x=TARGET_LINE_M), ColorRGBA(r=0.1, g=0.8, b=0.3, a=0.9)
    reach_m = (
        TARGET_BEYOND_RING * max(robot.ring.radius_m, robot.ring.height_m / 2)
        if robot.ring
        else TARGET_REACH_M
    )
    marker.points = [
        point_message(sign * reach_m * axis) for axis in np.eye(3) for sign in (-1.0, 1.0)
    ]
    return marker
