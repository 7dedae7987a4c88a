"""Pose of the tip from the positioning ring on it."""

import numpy as np

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.robot import Robot
from soft_arm_vision.calibration.camera_monitor import CameraMonitor
from soft_arm_vision.calibration.mounting import Mounting
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.arc_prior import expected_axis
from soft_arm_vision.ring.detector import RingDetector
from soft_arm_vision.ring.overlay import draw_overlay
from soft_arm_vision.ring.pose_in_base import pose_in_base
from soft_arm_vision.segmentation.segmenter import Segmenter, ring_of
from soft_arm_vision.tip_tracker import TipSight


class RingTracker:
    """Finds the ring, whose centre is the tip and whose axis is the tip's z axis.

    Args:
        robot: The robot file.
        mounting: Calibrated pose of the camera.
        segmenter: Finds the ring in a picture.
        sensor: Of the camera.

    Attributes:
        detection: Detection in the newest frame.

    Raises:
        VisionError: If the robot has no ring.
    """

    def __init__(self, robot: Robot, mounting: Mounting, segmenter: Segmenter, sensor: DepthSensor):
        self._ring, self._mounting = ring_of(robot), mounting
        self._detector = RingDetector(self._ring, segmenter, sensor)
        self._monitor = CameraMonitor(self._ring, sensor)

    def track(self, colour: np.ndarray, depth: np.ndarray, intrinsics: Intrinsics) -> TipSight:
        """Return the tip in one frame; see `TipTracker`."""
        self._intrinsics = intrinsics
        self.detection = self._detector.detect(
            colour,
            depth,
            intrinsics,
            lambda centre_m: expected_axis(centre_m, self._mounting.T_base_camera),
        )
        if self.detection.fit is None:
            return TipSight.missed(self.detection.reason or 'no ring in view')
        return TipSight(*pose_in_base(self.detection.fit, self._mounting))

    def overlay(self, colour: np.ndarray) -> np.ndarray:
        """Return the colour image (h, w, 3) of the newest frame with mask, rims and axis on it."""
        return draw_overlay(colour, self.detection, self._ring, self._intrinsics)

    def check_camera(self) -> str | None:
        """Return what the ring's size shows to be wrong with the camera; see `TipTracker`."""
        if self.detection.fit is not None:
            self._monitor.update(self.detection)
        return self._monitor.trouble
