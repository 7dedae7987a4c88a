"""Tip sensors of a rig in this process: camera and tracker, motion capture, or a noise model."""

from pathlib import Path
from typing import Protocol

import numpy as np

from soft_arm_description.calibration import load_calibration
from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import Rig
from soft_arm_description.robot import Robot
from soft_arm_experiments.arm.ring_noise import RingNoise
from soft_arm_experiments.virtual_intrinsics import intrinsics_of
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.placement import camera_of, jig_for
from soft_arm_sim.delays import Delays
from soft_arm_sim.motion_capture import VirtualMotionCapture, load_motion_capture
from soft_arm_sim.stepped_rig import Exposure
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.camera_correction import correction_of
from soft_arm_vision.calibration.motion_capture import MotionCapture
from soft_arm_vision.tip_sources import make_tracker
from soft_arm_vision.tip_tracker import TipSight


class TipSensor(Protocol):
    """Measures the tip of one virtual arm; close it in the thread that made it."""

    def measure(self, exposure: Exposure) -> TipSight:
        """Return the tip pose measured at an exposure."""

    def close(self) -> None:
        """Free the resources of the sensor."""


class CameraTipSensor:
    """Virtual camera and tip tracker, as on the virtual rig.

    Args:
        rig: The rig, with the calibrations of its camera.
        robot: The robot file.
        plant_seed: Seed of the camera's noise.
        tip_source: Name of the tracker, see `make_tracker`.
        network: Exported network of the tracker yolact; None: the shipped one.
        camera_file: The camera, see `camera_of`.

    Raises:
        CalibrationError: If a calibration of the camera is missing or cannot be used.
        SimulationError: If OpenGL is not available.
        VisionError: If the robot has nothing on its tip that the tracker can find.
    """

    def __init__(
        self,
        rig: Rig,
        robot: Robot,
        plant_seed: int,
        tip_source: str,
        network: Path | None = None,
        camera_file: str = 'virtual',
    ):
        mounting, (sensor, _) = extrinsics.load(rig, robot), sensor_of(rig)
        self._tracker = make_tracker(tip_source, robot, mounting, sensor, network)
        parameters, self._correction = camera_of(robot, camera_file), correction_of(rig)
        self._intrinsics = self._correction.intrinsics(intrinsics_of(parameters))
        self._camera = VirtualCamera(robot, parameters, jig_for(robot), plant_seed)

    def measure(self, exposure: Exposure) -> TipSight:
        """Render and track."""
        frame = self._camera.capture(exposure.qpos)
        depth_m = self._correction.depth_m(frame.depth)
        return self._tracker.track(frame.rgb, depth_m, self._intrinsics)

    def close(self) -> None:
        """Free the OpenGL context."""
        self._camera.close()


class MotionCaptureTipSensor:
    """Motion-capture system that measures a body on the tip.

    Args:
        calibration: Poses of mocap frame and body.
        plant_seed: Seed of its noise.
    """

    def __init__(self, calibration: MotionCapture, plant_seed: int):
        self._calibration = calibration
        self._system = VirtualMotionCapture(load_motion_capture(), plant_seed)

    def measure(self, exposure: Exposure) -> TipSight:
        """Measure the tip at an exposure."""
        return self._calibration.sight(self._system.measured(exposure.T_base_tip))

    def close(self) -> None:
        """Free nothing."""


class TipNoiseModel:
    """True tip with the calibrated errors of camera and detector, without images.

    Args:
        noise: The calibration.
        plant_seed: Seed of the errors.
    """

    def __init__(self, noise: RingNoise, plant_seed: int):
        self._errors = noise.errors(np.random.default_rng([plant_seed, 4]))

    def measure(self, exposure: Exposure) -> TipSight:
        """Add the error of this image to the position of the true tip."""
        T_base_tip, covariance = exposure.T_base_tip.copy(), np.zeros((6, 6))
        T_base_tip[:3, 3] += self._errors.at(T_base_tip[:3, 3])
        covariance[:3, :3] = self._errors.covariance_m2
        return TipSight(T_base_tip, covariance)

    def close(self) -> None:
        """Free nothing."""


def delays_of(tip_source: str | None, delays: Delays) -> Delays:
    """Return the delays of a rig with this tip source: motion capture has its own."""
    if tip_source != 'pose':
        return delays
    latency_s = load_motion_capture().latency_s
    return delays.model_copy(update={'exposure_to_host_s': latency_s, 'processing_s': 0.0})


def tip_sensor_of(
    rig: Rig,
    robot: Robot,
    plant_seed: int,
    tip_source: str | None,
    network: Path | None = None,
    camera_file: str = 'virtual',
) -> TipSensor:
    """Return the tip sensor of a virtual rig.

    Args:
        rig: The rig, with its calibrations.
        robot: The robot file.
        plant_seed: Seed of the sensor's noise.
        tip_source: Name of the tracker, or `pose`: motion capture; None: the noise model.
        network: Exported network of the tracker yolact; None: the shipped one.
        camera_file: The camera of a tracker, see `camera_of`.

    Raises:
        CalibrationError: If a calibration of the sensor is missing.
        SimulationError, VisionError: See `CameraTipSensor`.
    """
    if tip_source is None:
        return TipNoiseModel(load_calibration(rig, RingNoise, robot).values, plant_seed)
    if tip_source == 'pose':
        return MotionCaptureTipSensor(
            load_calibration(rig, MotionCapture, robot).values, plant_seed
        )
    return CameraTipSensor(rig, robot, plant_seed, tip_source, network, camera_file)
