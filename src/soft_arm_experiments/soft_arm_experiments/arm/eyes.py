"""Where a rig in process sees its tip: rendered camera and tracker, or calibrated pose noise."""

from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from soft_arm_description.calibration import load_calibration
from soft_arm_description.depth_sensor import DepthSensor, sensor_of
from soft_arm_description.rig import Rig
from soft_arm_description.robot import Robot
from soft_arm_experiments.arm.ring_noise import RingNoise
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.placement import camera_of, jig_for
from soft_arm_sim.delays import Delays
from soft_arm_sim.motion_capture import VirtualMotionCapture, load_motion_capture
from soft_arm_sim.stepped_rig import Exposure
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.extrinsics import Mounting
from soft_arm_vision.calibration.motion_capture import MotionCapture
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.tip_sources import make_tracker


class Sight(NamedTuple):
    """The ring in one image.

    Attributes:
        ring_m: Its centre in the base frame [m], (3,); None if it was not found.
        covariance_m2: Covariance of the centre that the detector states [m^2], (3, 3).
        trouble: Why it was not found; empty if it was.
    """

    ring_m: np.ndarray | None
    covariance_m2: np.ndarray
    trouble: str = ''


class Eye(Protocol):
    """Finds the ring in every exposure of one virtual arm; close it in the thread that made it."""

    def see(self, exposure: Exposure) -> Sight:
        """Return where the ring is seen."""

    def close(self) -> None:
        """Free what it holds."""


class CameraEye:
    """The virtual camera and a tracker of the tip, as the virtual rig has them.

    Args:
        robot: The robot file.
        mounting: Calibrated pose of the camera.
        plant_seed: Draws the camera's noise.
        tip_source: Name of the tracker, see `make_tracker`.
        sensor: Calibrated errors of the camera.
        network: Exported network of the tracker yolact; None: the shipped one.
        camera_file: The camera, see `camera_of`.

    Raises:
        SimulationError: If there is no OpenGL to render with.
        VisionError: If the robot has nothing on its tip that the tracker can find.
    """

    def __init__(
        self,
        robot: Robot,
        mounting: Mounting,
        plant_seed: int,
        tip_source: str,
        sensor: DepthSensor,
        network: Path | None = None,
        camera_file: str = 'virtual',
    ):
        self._tracker = make_tracker(tip_source, robot, mounting, sensor, network)
        parameters = camera_of(robot, camera_file)
        image = parameters.stated_image
        self._intrinsics = Intrinsics(
            image.width_px, image.height_px, image.fx_px, image.fy_px, image.cx_px, image.cy_px
        )
        self._camera = VirtualCamera(robot, parameters, jig_for(robot), plant_seed)

    def see(self, exposure: Exposure) -> Sight:
        """Render and track; see `Eye`."""
        frame = self._camera.capture(exposure.qpos)
        found = self._tracker.track(frame.rgb, frame.depth, self._intrinsics)
        if found.T_base_tip is None:
            return Sight(None, np.zeros((3, 3)), found.trouble)
        return Sight(found.T_base_tip[:3, 3], found.covariance[:3, :3])

    def close(self) -> None:
        """Free the OpenGL context."""
        self._camera.close()


class MotionCaptureEye:
    """A motion-capture system that measures a body on the tip; no image.

    Args:
        calibration: Where it stands.
        plant_seed: Draws its noise.
    """

    def __init__(self, calibration: MotionCapture, plant_seed: int):
        self._calibration = calibration
        self._system = VirtualMotionCapture(load_motion_capture(), plant_seed)

    def see(self, exposure: Exposure) -> Sight:
        """Measure the tip at the instant of an image; see `Eye`."""
        sight = self._calibration.sight(self._system.measured(exposure.T_base_tip))
        assert sight.T_base_tip is not None, 'the system always measures its body'
        return Sight(sight.T_base_tip[:3, 3], sight.covariance[:3, :3])

    def close(self) -> None:
        """Free nothing."""


class NoiseEye:
    """The true ring with the errors that were measured of camera and detector; no image.

    Args:
        noise: The calibration.
        plant_seed: Draws the errors.
    """

    def __init__(self, noise: RingNoise, plant_seed: int):
        self._errors = noise.errors(np.random.default_rng([plant_seed, 4]))

    def see(self, exposure: Exposure) -> Sight:
        """Add this image's error to the true ring; see `Eye`."""
        true_m = exposure.T_base_tip[:3, 3]
        return Sight(true_m + self._errors.at(true_m), self._errors.covariance_m2)

    def close(self) -> None:
        """Free nothing."""


def delays_of(tip_source: str | None, delays: Delays) -> Delays:
    """Return the delays of a rig whose tip is measured so: motion capture has its own."""
    if tip_source != 'pose':
        return delays
    latency_s = load_motion_capture().latency_s
    return delays.model_copy(update={'exposure_to_host_s': latency_s, 'processing_s': 0.0})


def eye_of(
    rig: Rig,
    robot: Robot,
    plant_seed: int,
    tip_source: str | None,
    network: Path | None = None,
    camera_file: str = 'virtual',
) -> Eye:
    """Return the eye of a virtual rig.

    Args:
        rig: The rig, with its calibrations.
        robot: The robot file.
        plant_seed: Draws the camera's noise.
        tip_source: Name of the tracker, or `pose`: motion capture; None: the ring by the rig's
            calibrated noise.
        network: Exported network of the tracker yolact; None: the shipped one.
        camera_file: The camera of a tracker, see `camera_of`.

    Raises:
        CalibrationError: If the calibration that the eye needs is missing.
        SimulationError, VisionError: See `CameraEye`.
    """
    if tip_source is None:
        return NoiseEye(load_calibration(rig, RingNoise, robot).values, plant_seed)
    if tip_source == 'pose':
        return MotionCaptureEye(load_calibration(rig, MotionCapture, robot).values, plant_seed)
    mounting, (sensor, _) = extrinsics.load(rig, robot), sensor_of(rig)
    return CameraEye(robot, mounting, plant_seed, tip_source, sensor, network, camera_file)
