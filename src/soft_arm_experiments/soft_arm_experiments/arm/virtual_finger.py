"""A virtual finger before its camera, and the error of its calibrated model."""

from pathlib import Path

import numpy as np

from abb_rws_emulator.controller.irb120 import tool_pose
from abb_rws_emulator.controller.robot import HOME_RAD
from soft_arm_calibration.finger_session import (
    FRAMES,
    PAPER_ERROR_PERCENT,
    TipError,
    record,
    sweep_pa,
)
from soft_arm_description.robot import Robot, load_robot
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.calibration.curve_fit import CurveFit
from soft_arm_kinematics.calibration.pressure_bend import fit_bends, with_bends
from soft_arm_physics.pneumatic_finger import PneumaticFinger
from soft_arm_sim.cameras.finger_camera import FingerCamera
from soft_arm_sim.cameras.parameters import load_finger_camera_parameters
from soft_arm_vision.intrinsics import Intrinsics

SETTLE_S, TIME_STEP_S = 1.0, 0.05  # the valves take 0.15 s, the rubber 0.05 s
SENSOR_READINGS = 20


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

    def tip_errors(self, fits: dict[str, CurveFit]) -> dict[int, TipError]:
        """Return the error of the calibrated model at the paper's pressures, by kPa.

        Run a new pressure cycle, give the measured pressures to the model and compare its tip with
        the true tip.
        """
        robot = self._robot
        model = Arm(with_bends(robot, fits))
        length_m = sum(s.length_m for s in robot.segments)  # type: ignore[union-attr, misc]
        found: dict[int, list[tuple[float, float]]] = {kpa: [] for kpa in PAPER_ERROR_PERCENT}
        self.settle(sweep_pa(robot)[0][0])
        for target_pa, _ in sweep_pa(robot):
            pressure_pa, kpa = self.settle(target_pa), round(target_pa / 1e3)
            if kpa in found:
                shape = model.at(model.clip_pressures(np.array([pressure_pa])))
                true_rad = self.true_bends_rad()
                distance_m = np.linalg.norm(shape.tip_m - self.true_tip_m())
                bend = abs(shape.theta_rad.sum() - true_rad.sum()) / abs(true_rad.sum())
                found[kpa].append((100 * float(distance_m) / length_m, 100 * float(bend)))
        return {kpa: TipError(*zip(*both, strict=True)) for kpa, both in found.items()}


def finger_error_percent(seed: int, robot_name: str | Path) -> dict[int, float]:
    """Calibrate one virtual finger; return the tip's error in percent of its length, by kPa.

    The larger error of both directions counts.
    """
    robot = load_robot(robot_name)
    with VirtualFinger(robot, seed, FRAMES) as finger:
        fits = fit_bends(robot, record(finger, robot))
        return {kpa: max(error.tip_percent) for kpa, error in finger.tip_errors(fits).items()}
