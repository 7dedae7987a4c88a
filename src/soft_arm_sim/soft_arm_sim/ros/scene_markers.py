"""Bodies, objects and robots of a simulation as markers for rviz."""

import numpy as np
from visualization_msgs.msg import Marker, MarkerArray

from soft_arm_description.assembly_frames import WORLD_FRAME
from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_description.robot import Robot
from soft_arm_kinematics.ros.conversions import body_msg
from soft_arm_sim.ros.conversions import pose_message
from soft_arm_sim.simulated_frames import SimulatedFrames

RGB = 0.35, 0.50, 0.70
_TYPES = {
    'box': Marker.CUBE,
    'sphere': Marker.SPHERE,
    'cylinder': Marker.CYLINDER,
    'capsule': Marker.CYLINDER,  # rviz has none
    'mesh': Marker.MESH_RESOURCE,
}


def scene_message(
    bodies: tuple[RigidBody, ...], robots: dict[str, Robot], frames: SimulatedFrames, stamp
) -> MarkerArray:
    """Return one marker of each body, in the world, and of each robot, in its base frame."""
    markers = [_rigid_body(body, frames.pose(body.name), stamp) for body in bodies]
    for name, robot in robots.items():
        markers.append(body_msg(frames.centre_line_m(name), robot, stamp))
    for number, marker in enumerate(markers):
        marker.id = number
    return MarkerArray(markers=markers)


def _rigid_body(body: RigidBody, T_world_body: np.ndarray, stamp) -> Marker:
    pose = pose_message(T_world_body, WORLD_FRAME, stamp)
    marker = Marker(header=pose.header, ns='bodies', type=_TYPES[body.shape], pose=pose.pose)
    scale, size_m = marker.scale, body.size_m
    if body.shape == 'mesh':
        marker.mesh_resource = f'file://{body.mesh}'
        scale.x = scale.y = scale.z = 1.0
    elif body.shape == 'box':
        scale.x, scale.y, scale.z = size_m
    else:
        scale.x = scale.y = 2.0 * size_m[0]
        scale.z = size_m[-1] if len(size_m) == 2 else 2.0 * size_m[0]
    marker.color.r, marker.color.g, marker.color.b = body.colour_rgb or RGB
    marker.color.a = 1.0
    return marker
