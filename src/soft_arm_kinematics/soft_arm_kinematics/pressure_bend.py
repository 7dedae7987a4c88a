"""Pressure to bend angle of single-bend segments, such as the pieces of a finger: fitted from data and saved with their errors."""

import datetime
from pathlib import Path

import numpy as np
import yaml

from soft_arm_description.robot import Robot
from soft_arm_kinematics.curve_families import CurveFit, findings, fit_best, parameters
from soft_arm_kinematics.errors import CurveError


def fit_bends(robot: Robot, data: dict[str, tuple[np.ndarray, ...]], family: str = 'cubic') -> dict[str, CurveFit]:
    """Fit the bend of each single_bend segment as a function of its pressure.

    Args:
        robot: The robot.
        data: For every such segment pressures [Pa] and bends [rad] in the order of measurement, and where known which of them were taken
            on the way up; as `pressure_length.read_points`.
        family: As `curve_families.fit_best`. The robot file takes cubics, as the gripper paper.

    Raises:
        CurveError: If the robot has no such segment, one is missing or unknown, or its data cannot be fitted.
    """
    names = [segment.name for segment in robot.segments if segment.kind == 'single_bend']
    if not names or sorted(data) != sorted(names):
        raise CurveError(
            f'data of segments {sorted(data)}: the robot {robot.name} has single_bend segments {sorted(names)}; give each its rows'
        )
    fits = {}
    for name in names:
        pressures_pa, bends_rad, *rising = data[name]
        try:
            fits[name] = fit_best(pressures_pa, bends_rad, family, *rising)
        except CurveError as error:
            raise CurveError(f'{name}: {error}') from error
    return fits


def save_bends(path: Path, robot: Robot, fits: dict[str, CurveFit], source: str, date: str | None = None) -> None:
    """Write the curves as YAML; coefficients_rad and pressure_unit_pa of a cubic are the robot file's keys of a single_bend segment."""
    segments = {
        name: parameters(fit.curve, 'theta', 'rad')
        | {'residual_rms_rad': fit.residual_rms, 'residual_max_rad': fit.residual_max}
        | findings(fit, 'theta', 'rad')
        for name, fit in fits.items()
    }
    content = {
        'date': date or datetime.date.today().isoformat(),
        'method': f'least squares; {source}',
        'robot': robot.name,
        'robot_fingerprint': robot.kinematic_fingerprint,
        'segments': segments,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '# Pressure-to-bend curves. cubic: theta = sum_i coefficients_rad[i] (p / pressure_unit_pa)^i\n'
        + yaml.safe_dump(content, sort_keys=False)
    )
