"""Node `finger_detector`: colour and aligned depth of a finger in, bends of its pieces out.

In: `color/camera_info`, `color/image_raw`, `aligned_depth_to_color/image_raw` of a camera square to
the bending plane. Out: `piece_angles` (JointState; one name for each piece, position its bend
[rad]) with the image's stamp, for every pair in which all lines are seen; `~/debug/overlay` while
someone listens. When lines are hidden nothing is published, and /diagnostics says which.
"""

from dataclasses import dataclass

import numpy as np
from cv_bridge import CvBridge
from sensor_msgs.msg import CameraInfo, Image, JointState

from soft_arm_description.robot import load_robot
from soft_arm_node_kit import diagnostics, parameters, qos, runner
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import parameter
from soft_arm_vision.clouds.cloud import check_images
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger.angles import FingerEstimator, draw_lines
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ros import conversions
from soft_arm_vision.ros.detector_status import detector_status
from soft_arm_vision.ros.newest_pair import NewestPair

NO_CAMERA = Intrinsics(1, 1, 1.0, 1.0, 0.0, 0.0)
SAY_EVERY_S = 5.0
MEMORY = 0.99  # of the plane of the finger's side, for each picture: some seconds


@dataclass(frozen=True)
class FingerDetectorParameters:
    """Parameters of the node."""

    robot: str = parameter('four_piece_finger', 'name of a shipped robot or path of a robot file')
    camera_side: str = parameter(
        'minus_y', "side of the finger's base frame on which the camera stands: minus_y or plus_y"
    )
    stale_s: float = parameter(
        0.5, 'age of the newest bends that is an error [s]', minimum=0.05, maximum=10.0
    )


class FingerDetectorNode(Node):
    """Stores the newest pair of images; a thread of its own measures the finger in it."""

    def __init__(self):
        super().__init__('finger_detector')
        given = parameters.declare(self, FingerDetectorParameters)
        self._robot, self._side, self._stale_s = (
            load_robot(given.robot),
            given.camera_side,
            given.stale_s,
        )
        FingerEstimator(
            self._robot, NO_CAMERA, self._side
        )  # refuses bad parameters now, not with the first picture
        self._bridge, self._estimator, self._trouble = CvBridge(), None, 'no camera info yet'
        self._found, self._frames = diagnostics.RateMeter(), diagnostics.RateMeter()
        self._angles = self.create_publisher(JointState, 'piece_angles', qos.STATE)
        self._overlay = self.create_publisher(Image, '~/debug/overlay', qos.IMAGE)
        self._reporter = diagnostics.Reporter(self, given.robot, self._status)
        self._pair = NewestPair(self._on_pair)
        self.create_subscription(CameraInfo, 'color/camera_info', self._on_info, qos.SENSOR)
        self.create_subscription(Image, 'color/image_raw', self._pair.put_colour, qos.SENSOR)
        self.create_subscription(
            Image, 'aligned_depth_to_color/image_raw', self._pair.put_depth, qos.SENSOR
        )

    def destroy_node(self):
        """Stop the thread, then the node."""
        self._pair.close()
        super().destroy_node()

    def _on_info(self, info: CameraInfo) -> None:
        try:
            intrinsics = Intrinsics.of_camera_info(info)
        except VisionError as error:
            self._estimator = None
            self._refuse(error)
            return
        if self._estimator is None or self._estimator.intrinsics != intrinsics:
            self._estimator = FingerEstimator(self._robot, intrinsics, self._side, MEMORY)

    def _refuse(self, reason: VisionError) -> None:
        """Say once in a while why a message was left out."""
        self._trouble = str(reason)
        self.get_logger().warning(self._trouble, throttle_duration_sec=SAY_EVERY_S)

    def _on_pair(self, colour_message: Image, depth_message: Image) -> None:
        """In the worker thread."""
        self._frames.tick()
        estimator = self._estimator
        if estimator is None:
            return
        try:
            colour, depth = conversions.pictures_of(colour_message, depth_message)
            check_images(colour, depth, estimator.intrinsics)
        except VisionError as error:
            self._refuse(error)
            return
        try:
            view = estimator.estimate(estimator.update(colour, depth))
        except (VisionError, np.linalg.LinAlgError) as error:
            self._trouble = str(error)
            return
        self._publish(colour_message.header, colour, view)

    def _publish(self, header, colour, view) -> None:
        self._angles.publish(
            JointState(
                header=header,
                name=list(self._robot.segment_names),
                position=view.piece_angles_rad.tolist(),
            )
        )
        self._found.tick()
        if self._overlay.get_subscription_count():
            self._overlay.publish(
                self._bridge.cv2_to_imgmsg(draw_lines(colour, view), 'rgb8', header)
            )

    def _status(self):
        return detector_status(
            self._pair,
            self._frames,
            self._found,
            self._stale_s,
            'finger',
            self._trouble,
            self.get_logger(),
        )


def main(args=None) -> int:
    """Run the node."""
    return runner.run(FingerDetectorNode, args)
