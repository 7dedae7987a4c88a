"""Node `camera_frame`: attach the camera's frames to the arm's base frame, without a tip_tracker.

In: the transform from the root of the camera's frames to the optical frame, on /tf_static. Out:
base frame -> root on /tf_static, once, by the calibrated extrinsics; diagnostics.
"""

from dataclasses import dataclass

from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_node_kit import diagnostics, parameters, runner
from soft_arm_node_kit.node import Node
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.ros.camera_frame import CameraFrame


@dataclass(frozen=True)
class CameraFrameParameters:
    """Parameters of the node."""

    rig: str = parameters.parameter(
        description='name of a rig, or path of its folder; its extrinsics are used'
    )
    robot: str = parameters.parameter(
        'two_module_arm', 'name of a shipped robot or path of a robot file'
    )
    camera_root_frame: str = parameters.parameter('camera_link', 'root of the frames of the camera')


class CameraFrameNode(Node):
    """Publishes the pose of a camera that is not the source of the tip."""

    def __init__(self):
        super().__init__('camera_frame')
        given = parameters.declare(self, CameraFrameParameters)
        robot = load_robot(given.robot)
        mounting = extrinsics.load(load_rig(given.rig), robot)
        self._ends = given.camera_root_frame, mounting.camera_frame
        self._frame = CameraFrame(
            self,
            mounting.T_base_camera,
            mounting.base_frame,
            mounting.camera_frame,
            given.camera_root_frame,
        )
        self._reporter = diagnostics.Reporter(self, robot.name, self._status)

    def _status(self) -> tuple[bytes, str, dict]:
        root, camera = self._ends
        if self._frame.attached:
            return diagnostics.OK, f'{root} is attached', {}
        text = (
            f'no transform from {root} to {camera} on /tf_static: start the camera, with the '
            'camera_name of its calibration'
        )
        return diagnostics.WARN, text, {}


def main(args=None) -> int:
    """Run the node."""
    return runner.run(CameraFrameNode, args)
