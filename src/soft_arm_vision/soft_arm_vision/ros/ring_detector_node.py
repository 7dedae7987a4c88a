"""Node `ring_detector`: colour and aligned depth in, pose of the ring in the base frame out."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cv_bridge import CvBridge
from geometry_msgs.msg import PoseWithCovarianceStamped
from sensor_msgs.msg import CameraInfo, Image
from tf2_ros import TransformBroadcaster

from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_node_kit import diagnostics, parameters, qos, runner
from soft_arm_node_kit.node import Node
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.camera_watch import CameraWatch
from soft_arm_vision.clouds.cloud import check_images
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.arc_prior import expected_axis
from soft_arm_vision.ring.detector import RingDetector, draw_overlay
from soft_arm_vision.ros import conversions
from soft_arm_vision.ros.camera_frame import CameraFrame
from soft_arm_vision.ros.detector_status import detector_status
from soft_arm_vision.ros.newest_pair import NewestPair
from soft_arm_vision.segmentation.segmenter import make_segmenter, ring_of


@dataclass(frozen=True)
class RingDetectorParameters:
    """Parameters of the node."""

    robot: str = parameters.parameter(
        'two_module_arm', 'name of a shipped robot or path of a robot file'
    )
    rig: str = parameters.parameter(
        'virtual', 'name of a rig, or path of its folder; its extrinsics are used'
    )
    extrinsics_file: str = parameters.parameter('', "another extrinsics file; empty: the rig's")
    segmenter: str = parameters.parameter('colour', 'how the ring is found: colour or yolact')
    camera_root_frame: str = parameters.parameter('camera_link', "root of the camera's own frames")
    stale_s: float = parameters.parameter(
        0.2, 'age of the newest pose that is an error [s]', minimum=0.05, maximum=10.0
    )


SAY_EVERY_S = 5.0
UPDATE_WATCH_EVERY_FRAMES = 30  # at the background, for a camera that has moved


class RingDetectorNode(Node):
    """Stores the newest pair of images; a thread of its own finds the ring in it."""

    def __init__(self):
        super().__init__('ring_detector')
        given = parameters.declare(self, RingDetectorParameters)
        robot = load_robot(given.robot)
        self._ring, self._stale_s = ring_of(robot), given.stale_s
        self._tip_frame = f'{robot.base.frame_prefix}tip_by_vision'
        path = Path(given.extrinsics_file) if given.extrinsics_file else None
        self._mounting = extrinsics.load(load_rig(given.rig), robot, path)
        self._base_frame, self._camera_frame = (
            self._mounting.base_frame,
            self._mounting.camera_frame,
        )
        segmenter = make_segmenter(given.segmenter, self._ring)
        self._detector, self._caution = RingDetector(self._ring, segmenter), segmenter.caution
        if self._caution is not None:
            self.get_logger().warning(self._caution)
        self._bridge, self._intrinsics, self._trouble = CvBridge(), None, 'no camera info yet'
        self._watch, self._until_update = CameraWatch(), 0
        self._found, self._frames = diagnostics.RateMeter(), diagnostics.RateMeter()
        self._pose = self.create_publisher(PoseWithCovarianceStamped, 'ring_pose', qos.STATE)
        self._overlay = self.create_publisher(Image, '~/debug/overlay', qos.IMAGE)
        self._tf = TransformBroadcaster(self)
        self._camera = CameraFrame(
            self,
            self._mounting.T_base_camera,
            self._base_frame,
            self._camera_frame,
            given.camera_root_frame,
        )
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
            self._check_frame(info)
            self._intrinsics = Intrinsics.of_camera_info(info)
        except VisionError as error:
            self._intrinsics = None
            self._refuse(error)

    def _check_frame(self, message: CameraInfo | Image) -> None:
        frame = message.header.frame_id
        if frame != self._camera_frame:
            raise VisionError(
                f'images are in frame {frame[:60]!r}, the extrinsics in '
                f'{self._camera_frame!r}: calibrate this camera'
            )

    def _refuse(self, reason: VisionError) -> None:
        """Say once in a while why a message was left out."""
        self._trouble = str(reason)
        self.get_logger().warning(self._trouble, throttle_duration_sec=SAY_EVERY_S)

    def _on_pair(self, colour_message: Image, depth_message: Image) -> None:
        """In the worker thread."""
        self._frames.tick()
        intrinsics = self._intrinsics
        if intrinsics is None:
            return
        try:
            for message in (colour_message, depth_message):
                self._check_frame(message)
            colour, depth = conversions.pictures_of(colour_message, depth_message)
            check_images(colour, depth, intrinsics)
        except VisionError as error:
            self._refuse(error)
            return
        detection = self._detector.detect(colour, depth, intrinsics, self._expected_axis)
        if self._overlay.get_subscription_count():
            picture = draw_overlay(colour, detection, self._ring, intrinsics)
            self._overlay.publish(
                self._bridge.cv2_to_imgmsg(picture, 'rgb8', colour_message.header)
            )
        self._trouble = detection.reason
        self._until_update = (self._until_update or UPDATE_WATCH_EVERY_FRAMES) - 1
        if self._until_update == 0:
            self._watch.update(colour)
        if self._watch.moved:
            self._trouble = 'the camera has moved: calibrate its extrinsics, then restart this node'
        elif detection.fit is not None:
            self._publish(colour_message.header.stamp, detection.fit)

    def _publish(self, stamp, fit) -> None:
        T_base_tip, covariance = conversions.pose_in_base(fit, self._mounting)
        transform = conversions.transform_message(
            stamp, self._base_frame, self._tip_frame, T_base_tip
        )
        self._pose.publish(conversions.pose_message(transform.header, T_base_tip, covariance))
        self._tf.sendTransform(transform)
        self._found.tick()

    def _expected_axis(self, centre_m: np.ndarray) -> np.ndarray:
        """Where the ring's axis points if the arm is one arc, in the optical frame."""
        return expected_axis(centre_m, self._mounting.T_base_camera)

    def _status(self):
        level, message, values = detector_status(
            self._pair,
            self._frames,
            self._found,
            self._stale_s,
            'ring',
            self._trouble,
            self.get_logger(),
        )
        if self._caution is not None:
            level, message = max(level, diagnostics.WARN), f'{message}; {self._caution}'
        return level, message, values


def main(args=None) -> int:
    """Run the node."""
    return runner.run(RingDetectorNode, args)


if __name__ == '__main__':
    sys.exit(main())
