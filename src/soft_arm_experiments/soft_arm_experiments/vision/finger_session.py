"""Calibrate a finger: measure bends over a pressure cycle, fit cubics, evaluate the tip's error."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from abb_rws_emulator.controller.irb120 import tool_pose
from abb_rws_emulator.controller.robot import HOME_RAD
from soft_arm_description.robot import Robot, load_robot
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.calibration.curve_families import CurveFit
from soft_arm_kinematics.calibration.pressure_bend import fit_bends, with_bends
from soft_arm_physics.pneumatic_finger import PneumaticFinger
from soft_arm_sim.cameras.finger_camera import FingerCamera
from soft_arm_sim.cameras.parameters import load_finger_camera_parameters
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger.angles import FingerEstimator
from soft_arm_vision.finger.records import PictureRecord, PictureWriter
from soft_arm_vision.intrinsics import Intrinsics

STEP_PA = 5e3
FRAMES = 3
PAPER_ERROR_PERCENT = {-90: 2.3, 50: 0.8, 100: 1.5, 120: 3.4}  # by kPa: gripper paper, table I
SETTLE_S, TIME_STEP_S = 1.0, 0.05  # the valves take 0.15 s, the rubber 0.05 s
SENSOR_READINGS = 20

# Of each piece: pressures [Pa], bends [rad], and which were taken on the way up.
Data = dict[str, tuple[np.ndarray, ...]]


@dataclass(frozen=True)
class TipError:
    """Model against truth at one pressure, in both directions: (up, down).

    Attributes:
        tip_percent: Distance of the tips, of the finger's length.
        bend_percent: Difference of the whole bend, of the true one: that of the mean curvature.
    """

    tip_percent: tuple[float, float]
    bend_percent: tuple[float, float]


class Finger(Protocol):
    """A finger under a camera, virtual or real."""

    @property
    def intrinsics(self) -> Intrinsics:
        """Intrinsics of the camera."""

    def settle(self, target_pa: float) -> float:
        """See `VirtualFinger.settle`."""

    def pictures(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """See `VirtualFinger.pictures`."""


class VirtualFinger:
    """The virtual rig's finger and camera, in the time of the simulation.

    The robot that carries the finger stands where it starts.

    Args:
        robot: Robot file of the finger.
        seed: Which finger.
        frames: Pictures whose bends are averaged.
    """

    def __init__(self, robot: Robot, seed: int, frames: int = FRAMES):
        parameters = load_finger_camera_parameters()
        image = parameters.image
        self.intrinsics = Intrinsics(
            image.width_px,
            image.height_px,
            image.fx_px,
            image.fy_px,
            image.cx_px,
            image.cy_px,
            parameters.distortion.opencv,
        )
        self._robot, self._frames = robot, frames
        self._plant = PneumaticFinger(robot, seed)
        self._plant.turn_flange(tool_pose(HOME_RAD)[:3, :3])
        self._camera = FingerCamera(robot, parameters, seed)

    def __enter__(self) -> 'VirtualFinger':
        return self

    def __exit__(self, *_: object) -> None:
        self._camera.close()

    def settle(self, target_pa: float) -> float:
        """Go to a pressure and wait until all is still; the pressure [Pa] that the sensor reads."""
        for _ in range(round(SETTLE_S / TIME_STEP_S)):
            self._plant.advance(
                TIME_STEP_S,
                max(target_pa, 0.0),
                min(target_pa, 0.0),
                target_pa > 0.0,
                target_pa < 0.0,
            )
        return float(np.mean([self._plant.sensor_pressure_pa() for _ in range(SENSOR_READINGS)]))

    def pictures(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Colour and depth, `frames` times."""
        return [self._camera.capture(self._plant.T_base_backbone()) for _ in range(self._frames)]

    def true_bends_rad(self) -> np.ndarray:
        """True bends (n,) [rad]; for reports only."""
        return self._plant.piece_angles_rad

    def true_tip_m(self) -> np.ndarray:
        """True tip in the base (3,) [m]; for reports only."""
        return self._plant.T_base_backbone()[-1, :3, 3]


def sweep_pa(robot: Robot, step_pa: float = STEP_PA) -> list[tuple[float, bool]]:
    """Return the pressures [Pa] of one cycle, up then down, and whether each is on the way up."""
    low_pa, high_pa = robot.pressure_limits_pa[:, 0]
    up = np.linspace(low_pa, high_pa, round((high_pa - low_pa) / step_pa) + 1)
    return [(float(p), True) for p in up] + [(float(p), False) for p in up[::-1]]


def record(
    finger: Finger,
    robot: Robot,
    camera_side: str = 'minus_y',
    progress: Callable[[Iterable], Iterable] = iter,
    writer: PictureWriter | None = None,
) -> Data:
    """Measure the bends over one pressure cycle that begins at the lowest pressure.

    Args:
        finger: The rig, virtual or running.
        robot: Robot file of the finger.
        camera_side: As `FingerEstimator`.
        progress: Wraps the list of pressures, such as tqdm.
        writer: Keeps the first picture at every pressure.

    Raises:
        VisionError: If the lines are not found.
    """
    finger.settle(sweep_pa(robot)[0][0])
    estimator, rows = FingerEstimator(robot, finger.intrinsics, camera_side), []
    for target_pa, rising in progress(sweep_pa(robot)):
        pressure_pa, pictures = finger.settle(target_pa), finger.pictures()
        rows.append(
            (pressure_pa, rising, [estimator.update(colour, depth) for colour, depth in pictures])
        )
        if writer:
            writer.add(pressure_pa, rising, *pictures[0])
    return by_piece(robot, estimator, rows)


def measure_records(
    records: Iterable[PictureRecord],
    clicks: dict[str, np.ndarray],
    intrinsics: Intrinsics,
    robot: Robot,
    camera_side: str = 'minus_y',
) -> Data:
    """Measure the bends in recorded images, by clicked lines where there are any.

    Raises:
        VisionError: If a picture cannot be read or its lines are not found; names the picture.
    """
    estimator, rows = FingerEstimator(robot, intrinsics, camera_side), []
    for one in records:
        try:
            rows.append(
                (
                    one.pressure_pa,
                    one.rising,
                    [estimator.update(*one.images(), clicks.get(one.colour.name))],
                )
            )
        except VisionError as error:
            raise VisionError(f'{one.colour.name}: {error}') from error
    return by_piece(robot, estimator, rows)


def by_piece(
    robot: Robot, estimator: FingerEstimator, rows: list[tuple[float, bool, list[np.ndarray]]]
) -> Data:
    """Convert rows of pressure [Pa], direction and lines into the input of `fit_bends`."""
    pressures_pa, rising = (np.array(column) for column in list(zip(*rows, strict=True))[:2])
    bends = np.array(
        [
            np.mean([estimator.estimate(lines).piece_angles_rad for lines in pictures], axis=0)
            for *_, pictures in rows
        ]
    )
    return {name: (pressures_pa, bends[:, i], rising) for i, name in enumerate(robot.segment_names)}


def tip_errors(
    robot: Robot, fits: dict[str, CurveFit], finger: VirtualFinger
) -> dict[int, TipError]:
    """Return the error of the calibrated model at the paper's pressures, by kPa, on a new cycle.

    The model is given what the pressure sensor reads. Its tip is compared with the true one.
    """
    model = Arm(with_bends(robot, fits))
    length_m = sum(s.length_m for s in robot.segments)  # type: ignore[union-attr, misc]
    found: dict[int, list[tuple[float, float]]] = {kpa: [] for kpa in PAPER_ERROR_PERCENT}
    finger.settle(sweep_pa(robot)[0][0])
    for target_pa, _ in sweep_pa(robot):
        pressure_pa, kpa = finger.settle(target_pa), round(target_pa / 1e3)
        if kpa in found:
            shape = model.configuration(model.clip_pressures(np.array([pressure_pa])))
            true_rad = finger.true_bends_rad()
            distance_m = np.linalg.norm(shape.tip_m - finger.true_tip_m())
            bend = abs(shape.theta_rad.sum() - true_rad.sum()) / abs(true_rad.sum())
            found[kpa].append((100 * float(distance_m) / length_m, 100 * float(bend)))
    return {kpa: TipError(*zip(*both, strict=True)) for kpa, both in found.items()}


def finger_error_percent(
    seed: int, robot_name: str | Path = 'four_piece_finger', frames: int = FRAMES
) -> dict[int, float]:
    """Calibrate one virtual finger; return the tip's error in percent of its length, by kPa.

    The larger error of both directions counts.
    """
    robot = load_robot(robot_name)
    with VirtualFinger(robot, seed, frames) as finger:
        fits = fit_bends(robot, record(finger, robot))
        return {
            kpa: max(error.tip_percent) for kpa, error in tip_errors(robot, fits, finger).items()
        }
