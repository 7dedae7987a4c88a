"""Node `finger_detector`: colour and aligned depth of a finger in, bends of its pieces out.

In: `color/camera_info`, `color/image_raw`, `aligned_depth_to_color/image_raw` of a camera square to
the bending plane. Out: `piece_angles` (JointState; one name for each piece, position its bend
[rad]) with the image's stamp, for every pair in which all lines are seen; `~/debug/overlay` while
someone listens. When lines are hidden nothing is published, and /diagnostics says which.
"""

from dataclasses import dataclass

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_node_kit import parameters, qos, runner
from soft_arm_node_kit.parameters import parameter
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger.angles import FingerEstimator, draw_lines
from soft_arm_vision.frames import Frame
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ros.detector_node import DetectorNode

NO_CAMERA = Intrinsics(1, 1, 1.0, 1.0, 0.0, 0.0)
MEMORY = 0.99  # weight of earlier pictures in the plane of the finger's side: some seconds


@dataclass(frozen=True)
class FingerDetectorParameters:
    """Parameters of the node."""

    rig: str = parameter(description='name of a rig, or path of its folder; its camera is used')
    robot: str = parameter('four_piece_finger', 'name of a shipped robot or path of a robot file')
    camera_side: str = parameter(
        'minus_y', "side of the finger's base frame on which the camera stands: minus_y or plus_y"
    )
    stale_s: float = parameter(
        0.5, 'age of the newest bends that is an error [s]', minimum=0.05, maximum=10.0
    )


class FingerDetectorNode(DetectorNode):
    """Measures the bends of the finger's pieces in the newest pair of images."""

    def __init__(self):
        super().__init__('finger_detector')
        given = parameters.declare(self, FingerDetectorParameters)
        self._robot, self._side = load_robot(given.robot), given.camera_side
        # Refuse bad parameters now, not with the first picture.
        FingerEstimator(self._robot, NO_CAMERA, self._side)
        self._estimator: FingerEstimator | None = None
        self._angles = self.create_publisher(JointState, 'piece_angles', qos.STATE)
        camera = load_rig(given.rig).finger_camera
        self.start(self._on_frame, 'finger', given.stale_s, given.robot, camera=camera)

    def _on_frame(self, header: Header, frame: Frame) -> None:
        """In the worker thread."""
        estimator = self._estimator
        if estimator is None or estimator.intrinsics != frame.intrinsics:
            estimator = FingerEstimator(self._robot, frame.intrinsics, self._side, MEMORY)
            self._estimator = estimator
        try:
            view = estimator.estimate(estimator.update(frame.rgb, frame.depth_m))
        except (VisionError, np.linalg.LinAlgError) as error:
            self.trouble = str(error)
            return
        self._publish(header, frame.rgb, view)

    def _publish(self, header, colour, view) -> None:
        self._angles.publish(
            JointState(
                header=header,
                name=list(self._robot.segment_names),
                position=view.piece_angles_rad.tolist(),
            )
        )
        self.found.tick()
        if self.overlay_wanted:
            self.publish_overlay(draw_lines(colour, view), header)


def main(args=None) -> int:
    """Run the node."""
    return runner.run(FingerDetectorNode, args)
