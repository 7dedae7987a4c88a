"""Node `tip_tracker`: colour and aligned depth in, pose of the tip in the base frame out."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped
from std_msgs.msg import Header
from tf2_ros import TransformBroadcaster

from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_node_kit import diagnostics, parameters, qos, runner
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.camera_correction import correction_of
from soft_arm_vision.calibration.camera_watch import CameraWatch
from soft_arm_vision.frames import Frame
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ros import conversions
from soft_arm_vision.ros.camera_frame import CameraFrame
from soft_arm_vision.ros.detector_node import DetectorNode
from soft_arm_vision.tip_sources import SEEN_AS, make_tracker
from soft_arm_vision.tip_tracker import TipSight


@dataclass(frozen=True)
class TipTrackerParameters:
    """Parameters of the node."""

    rig: str = parameters.parameter(
        description='name of a rig, or path of its folder; its camera and calibrations are used'
    )
    robot: str = parameters.parameter(
        'two_module_arm', 'name of a shipped robot or path of a robot file'
    )
    extrinsics_file: str = parameters.parameter('', "another extrinsics file; empty: the rig's")
    tip_source: str = parameters.parameter(
        'yolact', 'what is looked for: the ring by yolact or colour, or the markers, fiducial'
    )
    network: str = parameters.parameter(
        '', "path of yolact's exported network (.onnx); empty: the shipped one"
    )
    camera_root_frame: str = parameters.parameter('camera_link', 'root of the frames of the camera')
    stale_s: float = parameters.parameter(
        0.2, 'age of the newest pose that is an error [s]', minimum=0.05, maximum=10.0
    )


TIP_REACH_M = 0.12  # around the tip there may be markers, which move with it
UPDATE_WATCH_EVERY_FRAMES = 30  # compare the background, to notice a camera that has moved
CAMERA_MOVED = 'the camera has moved: calibrate its extrinsics, then restart this node'


class TipTrackerNode(DetectorNode):
    """Measures the tip in the newest pair of images."""

    def __init__(self):
        super().__init__('tip_tracker')
        given = parameters.declare(self, TipTrackerParameters)
        robot = load_robot(given.robot)
        self._tip_frame = f'{robot.base.frame_prefix}tip_by_vision'
        path = Path(given.extrinsics_file) if given.extrinsics_file else None
        rig = load_rig(given.rig)
        self._mounting = extrinsics.load(rig, robot, path)
        self._base_frame = self._mounting.base_frame
        sensor, unmeasured = sensor_of(rig)
        if unmeasured is not None:
            self.get_logger().info(unmeasured)
        network = Path(given.network) if given.network else None
        self._tracker = make_tracker(given.tip_source, robot, self._mounting, sensor, network)
        self._watch, self._until_update = CameraWatch(), 0
        self._camera_trouble: str | None = None
        self._pose = self.create_publisher(PoseWithCovarianceStamped, 'tip_pose', qos.STATE)
        self._tf = TransformBroadcaster(self)
        self._camera = CameraFrame(
            self,
            self._mounting.T_base_camera,
            self._base_frame,
            self._mounting.camera_frame,
            given.camera_root_frame,
        )
        self.start(
            self._on_frame,
            SEEN_AS[given.tip_source],
            given.stale_s,
            given.robot,
            camera=rig.camera,
            frame_id=self._mounting.camera_frame,
            correction=correction_of(rig),
        )

    def _on_frame(self, header: Header, frame: Frame) -> None:
        """In the worker thread."""
        colour, intrinsics = frame.rgb, frame.intrinsics
        sight = self._tracker.track(colour, frame.depth_m, intrinsics)
        self.trouble = CAMERA_MOVED if self._watch.moved else sight.trouble
        if sight.T_base_tip is not None and not self._watch.moved:
            self._publish(header.stamp, sight)
        # The pose is out, what else takes time comes after it.
        if self.overlay_wanted:
            self.publish_overlay(self._tracker.overlay(colour), header)
        self._camera_trouble = self._tracker.check_camera()
        self._until_update = (self._until_update or UPDATE_WATCH_EVERY_FRAMES) - 1
        if self._until_update == 0 and (self._watch.begun or sight.T_base_tip is not None):
            self._watch.update(colour, self._around_tip(sight, intrinsics))

    def _around_tip(self, sight: TipSight, intrinsics: Intrinsics) -> np.ndarray | None:
        """Return where a picture does not show the tip, (h, w) uint8; None if it is unknown."""
        if sight.T_base_tip is None:
            return None
        x, y, z = (np.linalg.inv(self._mounting.T_base_camera) @ sight.T_base_tip)[:3, 3]
        ((u, v),) = intrinsics.pixels(np.array([[x / z, y / z]]))
        still = np.full((intrinsics.height, intrinsics.width), 255, np.uint8)
        cv2.circle(still, (round(u), round(v)), round(TIP_REACH_M * intrinsics.fx / z), 0, -1)
        return still

    def _publish(self, stamp, sight: TipSight) -> None:
        transform = conversions.transform_message(
            stamp, self._base_frame, self._tip_frame, sight.T_base_tip
        )
        self._pose.publish(
            conversions.pose_message(transform.header, sight.T_base_tip, sight.covariance)
        )
        self._tf.sendTransform(transform)
        self.found.tick()

    def status(self):
        """Return level, message and values, with what is wrong with the camera."""
        level, message, values = super().status()
        if self._camera_trouble is not None:
            level, message = max(level, diagnostics.WARN), f'{message}; {self._camera_trouble}'
        return level, message, values


def main(args=None) -> int:
    """Run the node."""
    return runner.run(TipTrackerNode, args)
