"""Table 6 of the vision paper with the virtual camera: 30 fits at ten random poses."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import Ring, Robot
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.detector import RingDetector
from soft_arm_vision.segmentation.segmenter import Segmenter, make_segmenter, ring_of

PAPER_ERROR_M = (0.65e-3, 0.70e-3, 1.26e-3, 0.98e-3, 1.92e-3, 1.75e-3, 1.16e-3, 0.45e-3, 1.11e-3)
MAX_PLACES_TRIED = 20  # per place; the arm may occlude the ring or turn it to the camera


@dataclass(frozen=True)
class Place:
    """Fits at one place, in the arm's base frame.

    Attributes:
        true_m: Centre, shape (3,).
        mean_m: Mean of the fitted centres, shape (3,).
        std_m: Root of the sum of the variances of the fits.
        axis_rad: Mean angle between fitted and true axis.
        fits: Number of frames with a pose.
        frames: Number of frames.
        normalised: Mean squared error of the centre normalised by its covariance; 3 if that is
            consistent.
    """

    true_m: np.ndarray
    mean_m: np.ndarray
    std_m: float
    axis_rad: float
    fits: int
    frames: int
    normalised: float

    @property
    def error_m(self) -> float:
        """Distance of the mean from the truth, the column "variance" of the paper."""
        return float(np.linalg.norm(self.mean_m - self.true_m))


def measure_places(
    robot: Robot,
    *,
    places: int,
    frames: int,
    segmenter: str,
    network: Path | None,
    depth_scale_error: float,
    seed: int,
    report: Callable[[], None],
) -> list[Place]:
    """Fit the ring at random poses of the arm, each frame without tracking.

    Args:
        robot: The robot file.
        places: Number of places.
        frames: Number of frames at each place.
        segmenter: 'colour' or 'yolact'.
        network: Exported network of 'yolact'; None: the shipped one.
        depth_scale_error: Relative error of the virtual camera's depth scale; 0 after calibration.
        seed: Seed of places and noise.
        report: Called after every place.

    Raises:
        VisionError: If the robot has no ring.
        PhysicsError: If it cannot be simulated.
    """
    # Slow to import: OpenGL and MuJoCo.
    from soft_arm_experiments.virtual_intrinsics import intrinsics_of
    from soft_arm_physics.pneumatic_arm import pneumatic_arm
    from soft_arm_sim.cameras.camera import VirtualCamera
    from soft_arm_sim.cameras.placement import camera_for, jig_for

    parameters = camera_for(robot)
    noise = parameters.noise.model_copy(update={'depth_scale_error': depth_scale_error})
    parameters = parameters.model_copy(update={'noise': noise})
    intrinsics = intrinsics_of(parameters)
    rng, ring = np.random.default_rng(seed), ring_of(robot)
    finder = make_segmenter(segmenter, ring, network)
    plant = pneumatic_arm(robot, seed)
    camera = VirtualCamera(robot, parameters, jig_for(robot), seed)
    found: list[Place] = []
    try:
        for _ in range(MAX_PLACES_TRIED * places):
            if len(found) == places:
                break
            low, high = robot.pressure_limits_pa
            plant.robot.actuate(rng.uniform(low, high))
            plant.settle()
            shots = [camera.capture(plant.robot.joint_positions()) for _ in range(frames)]
            place = _fit_place(
                shots,
                plant.robot.T_base_tip(),
                parameters.mounting.T_base_optical,
                intrinsics,
                ring,
                finder,
            )
            if place is not None:
                found.append(place)
                report()
    finally:
        camera.close()
    return found


def _fit_place(
    shots: list[Any],
    T_base_ring: np.ndarray,
    T_base_camera: np.ndarray,
    intrinsics: Intrinsics,
    ring: Ring,
    segmenter: Segmenter,
) -> Place | None:
    sensor, _ = sensor_of(load_rig('virtual'))
    R = T_base_camera[:3, :3]
    centres: list[np.ndarray] = []
    angles: list[float] = []
    normalised: list[float] = []
    for number, shot in enumerate(shots):
        fit = (
            RingDetector(ring, segmenter, sensor, seed=number)
            .detect(shot.rgb, shot.depth, intrinsics)
            .fit
        )
        if fit is None:
            if number == 2 and not centres:
                return None  # the camera does not see this place
            continue
        centre = R @ fit.centre + T_base_camera[:3, 3]
        error = R.T @ (centre - T_base_ring[:3, 3])
        centres.append(centre)
        angles.append(np.arccos(min(1.0, abs(float(R @ fit.axis @ T_base_ring[:3, 2])))))
        normalised.append(error @ np.linalg.solve(fit.covariance[:3, :3], error))
    if len(centres) < 2:
        return None
    spread = float(np.sqrt(np.var(centres, axis=0, ddof=1).sum()))
    mean = np.mean(centres, axis=0)
    return Place(
        T_base_ring[:3, 3],
        mean,
        spread,
        float(np.mean(angles)),
        len(centres),
        len(shots),
        float(np.mean(normalised)),
    )
