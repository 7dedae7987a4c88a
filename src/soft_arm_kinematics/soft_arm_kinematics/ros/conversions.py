"""Between messages and plain values; the only place where both meet."""

import math
from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import Point, TransformStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from visualization_msgs.msg import Marker

from soft_arm_description.named_values import values_by_name
from soft_arm_description.robot import Robot
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.configuration import Configuration
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ros.target_frames import TargetFrames
from soft_arm_kinematics.segments import pcc
from soft_arm_msgs.msg import ArmConfiguration
from soft_arm_msgs.msg import IkSolution as IkSolutionMsg
from soft_arm_msgs.srv import SolveIK

if TYPE_CHECKING:  # forward kinematics does not load the compiler
    from soft_arm_kinematics.ik.inverse import IkResult, IkSolution

BODY_RGB = 0.75, 0.78, 0.82


def arcs_from_msg(message: ArmConfiguration) -> list[tuple[str, float, float, float]]:
    """Name, bend [rad], direction [rad] and length [m] of every segment in a message.

    Raises:
        KinematicsError: If its lists have different lengths, or a segment is given twice.
    """
    lists = message.segments, message.theta_rad, message.phi_rad, message.ell_m
    if len({len(values) for values in lists}) != 1:
        segments, theta, phi, ell = map(len, lists)
        raise KinematicsError(
            f'{segments} segments, {theta} theta_rad, {phi} phi_rad, {ell} ell_m: give as many of '
            'each'
        )
    values_by_name(message.segments, message.theta_rad, 'arcs', KinematicsError)
    return list(zip(*lists, strict=True))


def transform_msg(transform: np.ndarray, parent: str, child: str, stamp) -> TransformStamped:
    """TF message of a pose (4, 4)."""
    message = TransformStamped(header=Header(stamp=stamp, frame_id=parent), child_frame_id=child)
    translation, rotation = message.transform.translation, message.transform.rotation
    translation.x, translation.y, translation.z = transform[:3, 3].tolist()
    rotation.x, rotation.y, rotation.z, rotation.w = pcc.q_xyzw(transform).tolist()
    return message


def base_transform(arm: Arm, stamp) -> TransformStamped:
    """Static transform of an arm's base in its parent frame."""
    base = arm.robot.base
    return transform_msg(arm.base_pose, base.parent_frame, base.frame, stamp)


def tip_transforms(shape: Configuration, stamp) -> list[TransformStamped]:
    """Transforms of the segments' ends in the base; the last one also as the tip by the model."""
    robot, poses = shape.arm.robot, shape.segment_poses
    names = [*(f'{name}_tip' for name in robot.segment_names), 'tip_by_model']
    return [
        transform_msg(pose, robot.base.frame, f'{robot.base.frame_prefix}{name}', stamp)
        for pose, name in zip([*poses, poses[-1]], names, strict=True)
    ]


def configuration_msg(shape: 'Configuration | IkSolution', robot: Robot, stamp) -> ArmConfiguration:
    """Configuration message of bend, direction and length of every segment."""
    return ArmConfiguration(
        header=Header(stamp=stamp, frame_id=robot.base.frame),
        segments=list(robot.segment_names),
        theta_rad=shape.theta_rad.tolist(),
        phi_rad=shape.phi_rad.tolist(),
        ell_m=shape.ell_m.tolist(),
    )


def body_msg(backbone_m: np.ndarray, robot: Robot, stamp) -> Marker:
    """Marker of the centre line, one strip as wide as the body.

    A strip is cheap: a mesh of the bellows would cost 30 ms a message.
    """
    marker = Marker(
        header=Header(stamp=stamp, frame_id=robot.base.frame),
        ns='body',
        type=Marker.LINE_STRIP,
        action=Marker.ADD,
        points=[Point(x=x, y=y, z=z) for x, y, z in backbone_m.tolist()],
    )
    marker.scale.x = 2.0 * robot.segments[0].body_radius_m
    marker.color.r, marker.color.g, marker.color.b = BODY_RGB
    marker.color.a = 1.0
    marker.pose.orientation.w = 1.0
    return marker


def joint_state_msg(names: list[str], values: np.ndarray, stamp) -> JointState:
    """Joint states of the URDF's rigid sections."""
    return JointState(header=Header(stamp=stamp), name=names, position=values.tolist())


def target_from_msg(
    request: SolveIK.Request, frames: TargetFrames
) -> tuple[np.ndarray, np.ndarray | None]:
    """Target [m] and axis, None for any, in the arm's base frame. Raises TargetFrameError."""
    target, axis = request.target, request.axis
    point_m, axis = frames.to_base(
        request.header, (target.x, target.y, target.z), (axis.x, axis.y, axis.z)
    )
    return point_m, axis if axis.any() else None


def fill_response(
    response: SolveIK.Response, result: 'IkResult', robot: Robot, stamp
) -> SolveIK.Response:
    """Write a result into the service's response."""
    response.solutions = [_solution_msg(s, robot, stamp) for s in result.solutions]
    response.nearest = Point(**dict(zip('xyz', result.nearest_m.tolist(), strict=True)))
    response.distance_m = result.distance_m
    response.error_msg = result.message
    if not result.solutions:
        response.error_code = (
            SolveIK.Response.NO_SOLUTION if result.reachable else SolveIK.Response.OUTSIDE_WORKSPACE
        )
    return response


def _solution_msg(solution, robot, stamp):
    return IkSolutionMsg(
        configuration=configuration_msg(solution, robot, stamp),
        lengths_m=solution.q.tolist() if all(s.kind == 'bellows' for s in robot.segments) else [],
        names=list(robot.chambers),
        pressures_pa=solution.pressures_pa.tolist(),
        residual_m=solution.residual_m,
        score=solution.score,
        score_angle_change=solution.score_angle_change,
        score_bend_growth=solution.score_bend_growth,
        score_stiffness=solution.score_stiffness,
        pressure_margin_pa=math.nan
        if solution.pressure_margin_pa is None
        else solution.pressure_margin_pa,
    )
