"""Pressure-to-bend curves of single-bend segments, such as the pieces of a finger."""

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from soft_arm_description.calibration import CalibrationError, Values, load_calibration, remedy
from soft_arm_description.rig import Rig
from soft_arm_description.robot import Robot
from soft_arm_description.segments import Name, SingleBendSegment
from soft_arm_io.fields import Number
from soft_arm_kinematics.calibration.curve_families import Cubic
from soft_arm_kinematics.calibration.curve_fit import CurveFit
from soft_arm_kinematics.calibration.pressure_length import fit_named
from soft_arm_kinematics.errors import CurveError


class PressureBend(Values):
    """Calibration of single bends: the curve of each segment, bends in rad.

    Attributes:
        tip_error_percent: Error of the tip [% of the finger's length] by pressure [kPa], where the
            true tip is known.
    """

    kind: ClassVar[str] = 'pressure_bend'
    unit: Literal['rad'] = 'rad'
    segments: dict[Name, CurveFit]
    tip_error_percent: dict[int, Number] = {}


def fit_bends(
    robot: Robot, data: dict[str, tuple[np.ndarray, ...]], family: str = 'cubic'
) -> dict[str, CurveFit]:
    """Fit the bend of each single_bend segment as a function of its pressure.

    Args:
        robot: The robot.
        data: For every such segment pressures [Pa] and bends [rad] in the order of measurement, and
            if known which of them were taken on the way up; as `pressure_length.read_points`.
        family: As `curve_fit.fit_best`. The robot file takes cubics, as the gripper paper.

    Raises:
        CurveError: If the robot has no such segment, one is missing or unknown, or its data cannot
            be fitted.
    """
    names = [segment.name for segment in robot.segments if segment.kind == 'single_bend']
    if not names or sorted(data) != sorted(names):
        raise CurveError(
            f'data of segments {sorted(data)}: the robot {robot.name} has single_bend segments '
            f'{sorted(names)}; give each its rows'
        )
    return {name: fit_named(name, data[name], family) for name in names}


def with_bends(robot: Robot, fits: dict[str, CurveFit]) -> Robot:
    """Return the robot with fitted cubics in place of the robot file's; see `fit_bends`."""
    content = robot.model_dump(mode='json', exclude_unset=True)
    for segment in content['segments']:
        if segment['name'] in fits:
            curve = fits[segment['name']].curve
            if not isinstance(curve, Cubic):
                raise CurveError(f'{segment["name"]} is a {curve.family}, not a cubic')
            segment |= {
                'theta_coefficients_rad': list(curve.coefficients),
                'pressure_unit_pa': curve.pressure_unit_pa,
                'nominal': False,
            }
    return Robot.model_validate(content)


def with_calibrated_bends(robot: Robot, rig: Rig, path: Path | None = None) -> Robot:
    """Return the robot with the cubics that were calibrated on a rig.

    A rig without such a file changes nothing: the robot file's bends stay, which are `nominal`.

    Args:
        robot: The robot.
        rig: The rig.
        path: Another file than the rig's.

    Raises:
        CalibrationError: As `load_calibration`; or if a segment is missing, its curve is not
            cubic, or it does not rise over the segment's pressures.
    """
    path = path or rig.calibration_file(PressureBend.kind)
    bends = [s for s in robot.segments if isinstance(s, SingleBendSegment)]
    if not bends or not path.exists():
        return robot
    fits = load_calibration(rig, PressureBend, robot, path).values.segments
    for segment in bends:
        fit = fits.get(segment.name)
        at_pa = np.linspace(*segment.pressure_limits_pa, 33)
        if fit is None:
            why = f'segment {segment.name} is missing'
        elif not isinstance(fit.curve, Cubic):
            why = f'{segment.name} is a {fit.family}, not a cubic'
        elif not (np.diff(fit.curve.values(at_pa)) > 0.0).all():
            why = f'the bend of {segment.name} does not rise over its pressure range'
        else:
            continue
        raise CalibrationError(f'{path}: {why}; {remedy(rig, PressureBend.kind)}')
    return with_bends(robot, fits)
