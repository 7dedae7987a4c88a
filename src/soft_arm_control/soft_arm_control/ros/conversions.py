"""Convert between the tip controller's messages and plain values."""

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
from soft_arm_control.tip_covariance import position_covariance
from soft_arm_description.poses import PoseError, tracked_pose
from soft_arm_description.robot import Robot
from soft_arm_msgs.action import FollowPath, MoveTip
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit.messages import seconds

ERROR_CODES = {
    Outcome.REACHED: MoveTip.Result.NONE,
    Outcome.TIMEOUT: MoveTip.Result.TIMEOUT,
    Outcome.TIP_LOST: MoveTip.Result.TIP_LOST,
    Outcome.CAMERA_STALE: MoveTip.Result.CAMERA_STALE,
    Outcome.DRIVER_LOST: MoveTip.Result.DRIVER_LOST,
    Outcome.SATURATED: MoveTip.Result.SATURATED,
    Outcome.CANCELLED: MoveTip.Result.CANCELLED,
    Outcome.INVALID_GOAL: MoveTip.Result.INVALID_GOAL,
    Outcome.OUTSIDE_WORKSPACE: MoveTip.Result.OUTSIDE_WORKSPACE,
    Outcome.OUTSIDE_VIEW: MoveTip.Result.OUTSIDE_VIEW,
    Outcome.IK_UNAVAILABLE: MoveTip.Result.IK_UNAVAILABLE,
    Outcome.TAKEN: MoveTip.Result.ARM_TAKEN,
    Outcome.REPLACED: MoveTip.Result.REPLACED,
    Outcome.TF_ERROR: MoveTip.Result.TF_ERROR,
}
MAX_SAMPLE_AGE_S = 2.0
MAX_FUTURE_STAMP_S = 0.5
MARKER_LINE_WIDTH_M = 0.003
MARKER_HALF_SIZE_PER_RING = 1.5
DEFAULT_MARKER_HALF_SIZE_M = 0.05  # for a robot without a ring


def recent_s(stamp, now_s: float) -> float:
    """Return the time [s] of a message's stamp.

    Raises:
        MessageError: If it is too far from the present time `now_s` [s].
    """
    at_s = seconds(stamp)
    if not now_s - MAX_SAMPLE_AGE_S <= at_s <= now_s + MAX_FUTURE_STAMP_S:
        age = (
            f'{now_s - at_s:.1f} s old, limit {MAX_SAMPLE_AGE_S} s'
            if at_s < now_s
            else f'{at_s - now_s:.1f} s in the future, limit {MAX_FUTURE_STAMP_S} s'
        )
        raise MessageError(f'its stamp is {age}: check the clocks, and that nothing replays a bag')
    return at_s


def shown(names) -> str:
    """Return the first names of a message as text for an error."""
    return f'[{", ".join(list(names)[:8])}{", .." if len(names) > 8 else ""}]'[:100]


def command_message(pressures_pa, robot: Robot, node: Node) -> ChamberPressures:
    """Return the command of all chambers [Pa], stamped now, with node and process as source."""
    return ChamberPressures(
        header=Header(stamp=node.get_clock().now().to_msg()),
        names=list(robot.chambers),
        pressures_pa=[float(p) for p in pressures_pa],
        source=f'{node.get_fully_qualified_name()} {os.getpid()}',
    )


def tip_from_msg(message: PoseWithCovarianceStamped, frame: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the measured tip [m], shape (3,), and its covariance [m^2], shape (3, 3).

    Raises:
        MessageError: If the pose is in another frame than `frame` or not of a tracked body, or
            the covariance is not finite and positive semidefinite.
    """
    if message.header.frame_id != frame:
        raise MessageError(
            f"its frame is {message.header.frame_id[:60]!r}, the arm's base is {frame!r}: "
            'calibrate the extrinsics with this robot file'
        )
    try:
        T = tracked_pose(message.pose.pose)
    except PoseError as error:
        raise MessageError(f'its pose {error}') from error
    return T[:3, 3], position_covariance(np.reshape(message.pose.covariance, (6, 6)))


def point_from_msg(point: Point) -> np.ndarray:
    """Return a position [m], shape (3,)."""
    return np.array([point.x, point.y, point.z])


def point_message(point_m) -> Point:
    """Return the Point of a position [m]."""
    x, y, z = (float(v) for v in point_m)
    return Point(x=x, y=y, z=z)


def vector_message(vector) -> Vector3:
    """Return the Vector3 of a direction."""
    x, y, z = (float(v) for v in vector)
    return Vector3(x=x, y=y, z=z)


def number(value: float | None) -> float:
    """Return a value as a field of an action: NaN if there is none."""
    return math.nan if value is None else float(value)


def move_result(status: Status, applied_pa: np.ndarray | None) -> MoveTip.Result:
    """Return the result of a goal that ended with `status`."""
    result = MoveTip.Result(error_code=ERROR_CODES[status.outcome], error_msg=status.message)
    result.error_m = number(status.error_m)
    result.settle_s = number(status.settle_s)
    if status.tip_m is not None:
        result.position = point_message(status.tip_m)
    result.pressures_pa = [] if applied_pa is None else applied_pa.tolist()
    return result


def path_result(status: Status, errors_m: np.ndarray) -> FollowPath.Result:
    """Return the result of a path that ended with `status`."""
    result = FollowPath.Result(error_code=ERROR_CODES[status.outcome], error_msg=status.message)
    result.error_mean_m = float(np.mean(errors_m)) if len(errors_m) else math.nan
    result.error_p95_m = float(np.percentile(errors_m, 95)) if len(errors_m) else math.nan
    return result


def move_feedback(status: Status) -> MoveTip.Feedback:
    """Return the feedback of a single target."""
    return MoveTip.Feedback(
        phase=status.phase, error_m=number(status.error_m), elapsed_s=status.elapsed_s
    )


def path_feedback(status: Status) -> FollowPath.Feedback:
    """Return the feedback of a path."""
    return FollowPath.Feedback(
        waypoint=status.waypoint, error_m=number(status.error_m), elapsed_s=status.elapsed_s
    )


def target_marker(point_m: np.ndarray, robot: Robot, node: Node) -> Marker:
    """Return a marker of the target for RViz: three crossed lines, longer than the ring."""
    marker = Marker(
        header=Header(stamp=node.get_clock().now().to_msg(), frame_id=robot.base.frame),
        ns='target',
        type=Marker.LINE_LIST,
        action=Marker.ADD,
    )
    marker.pose.position = point_message(point_m)
    marker.pose.orientation.w = 1.0
    marker.scale = Vector3(x=MARKER_LINE_WIDTH_M)
    marker.color = ColorRGBA(r=0.1, g=0.8, b=0.3, a=0.9)
    reach_m = DEFAULT_MARKER_HALF_SIZE_M
    if robot.ring:
        reach_m = MARKER_HALF_SIZE_PER_RING * max(robot.ring.radius_m, robot.ring.height_m / 2)
    marker.points = [
        point_message(sign * reach_m * axis) for axis in np.eye(3) for sign in (-1.0, 1.0)
    ]
    return marker
