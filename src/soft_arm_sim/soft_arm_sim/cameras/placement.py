"""Placement of the virtual camera and the jig for a robot.

The shipped files place them for an arm of `SHIPPED_REACH_M`. For a longer arm the room and the jig
grow in proportion. The camera stands further away and has a wider lens, each by the root of that
proportion: depth noise grows with the square of the distance, and the whole arm stays in view.
"""

import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_sim.cameras.parameters import (
    CONFIG,
    CalibrationJig,
    CameraParameters,
    load_calibration_jig,
    load_camera_parameters,
)

SHIPPED_CAMERAS = 'virtual', 'stereo'
SHIPPED_REACH_M = 0.39  # of the arm for which the shipped files place camera and jig


def scale_for(robot: Robot) -> float:
    """Return the size of the room for a robot over its size for the shipped reach, >= 1."""
    reach_m = sum(s.arc_length_limits_m[1] + s.rigid_length_m for s in robot.segments)
    return max(1.0, reach_m / SHIPPED_REACH_M)


def camera_for(robot: Robot, camera: str = 'virtual') -> CameraParameters:
    """Return a shipped D435i, placed for a robot.

    Args:
        robot: The robot file.
        camera: One of `SHIPPED_CAMERAS`; the depth of `stereo` is matched in rendered images.
    """
    parameters = load_camera_parameters(CONFIG / f'{camera}_camera.yaml')
    scale = scale_for(robot)
    mounting, image, root = parameters.mounting, parameters.image, np.sqrt(scale)
    look_at = scale * np.array(mounting.look_at_m)
    position = look_at + root * np.subtract(mounting.position_m, mounting.look_at_m)
    places = {'position_m': tuple(position), 'look_at_m': tuple(look_at)}
    lens = {'fx_px': float(image.fx_px / root), 'fy_px': float(image.fy_px / root)}
    return parameters.model_copy(
        update={
            'mounting': mounting.model_copy(update=places),
            'image': image.model_copy(update=lens),
        }
    )


def camera_of(robot: Robot, name_or_path: str) -> CameraParameters:
    """Return a shipped camera, placed for a robot, or the camera of a YAML file.

    Raises:
        PhysicsError: If the file cannot be used.
    """
    if name_or_path in SHIPPED_CAMERAS:
        return camera_for(robot, name_or_path)
    return load_camera_parameters(name_or_path)


def jig_for(robot: Robot) -> CalibrationJig:
    """Return the shipped jig, with its pegs placed for a robot."""
    jig = load_calibration_jig()
    pegs_m = tuple(map(tuple, scale_for(robot) * np.array(jig.pegs_m)))
    return jig.model_copy(update={'pegs_m': pegs_m})
