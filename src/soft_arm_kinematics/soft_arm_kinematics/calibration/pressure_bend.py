"""Pressure to bend angle of single-bend segments, such as the pieces of a finger: fitted from data and saved with their errors."""

import datetime
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, ValidationError
from typing_extensions import TypedDict

from soft_arm_description.calibration import made_for_another
from soft_arm_description.robot import Robot
from soft_arm_description.segments import SingleBendSegment
from soft_arm_description.yaml_file import (
    Number,
    Word,
    YamlFileError,
    checked,
    read_yaml,
    validation_message,
    write_yaml,
)
from soft_arm_kinematics.calibration.curve_families import CurveFit, findings, fit_best, parameters
from soft_arm_kinematics.errors import CurveError


def fit_bends(
    robot: Robot, data: dict[str, tuple[np.ndarray, ...]], family: str = 'cubic'
) -> dict[str, CurveFit]:
    """Fit the bend of each single_bend segment as a function of its pressure.

    Args:
        robot: The robot.
        data: For every such segment pressures [Pa] and bends [rad] in the order of measurement, and where known which of them were taken
            on the way up; as `pressure_length.read_points`.
        family: As `curve_families.fit_best`. The robot file takes cubics, as the gripper paper.

    Raises:
        CurveError: If the robot has no such segment, one is missing or unknown, or its data cannot
            be fitted.
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


def save_bends(
    path: Path,
    robot: Robot,
    fits: dict[str, CurveFit],
    source: str,
    devices: str,
    date: str | None = None,
    also: dict | None = None,
) -> None:
    """Write the curves as YAML; coefficients_rad and pressure_unit_pa of a cubic are the robot file's keys of a single_bend segment.

    Args:
        path: The file.
        robot, fits: As `fit_bends` took and gave them.
        source: Where the data came from, for the record.
        devices: On which it was measured, `virtual` or `real`.
        date: ISO date of the measurement; today when left out.
        also: Further findings for the record.
    """
    segments = {
        name: parameters(fit.curve, 'theta', 'rad')
        | {'residual_rms_rad': fit.residual_rms, 'residual_max_rad': fit.residual_max}
        | findings(fit, 'theta', 'rad')
        for name, fit in fits.items()
    }
    content = {
        'date': date or datetime.date.today().isoformat(),
        'method': f'least squares; {source}',
        'devices': devices,
        'robot': robot.name,
        'robot_fingerprint': robot.kinematic_fingerprint,
        **(also or {}),
        'segments': segments,
    }
    formula = 'cubic: theta = sum_i coefficients_rad[i] (p / pressure_unit_pa)^i'
    write_yaml(path, content, f'Pressure-to-bend curves. {formula}')


def with_bends(robot: Robot, fits: dict[str, CurveFit]) -> Robot:
    """The robot with the fitted cubics in place of the robot file's; see `fit_bends`."""
    return _replaced(
        robot, {name: (fit.curve.coefficients, fit.curve.unit_pa) for name, fit in fits.items()}
    )


class _Curve(TypedDict):
    family: Word
    coefficients_rad: Annotated[list[Number], Field(min_length=4, max_length=4)]
    pressure_unit_pa: Annotated[Number, Field(gt=0)]


class _File(TypedDict):
    robot: Word
    robot_fingerprint: Word
    segments: dict[str, _Curve]


def with_calibrated_bends(robot: Robot, path: Path) -> Robot:
    """The robot with the cubics of a calibration file in place of the robot file's; the robot as it is where it has no single bends.

    A file that does not exist changes nothing: the segments stay `nominal`. So does one that was
    made for a robot of another name.

    Raises:
        CurveError: If the file is incomplete, its curves are no rising cubics, or it was made for
            another version of the robot file.
    """
    if not any(isinstance(s, SingleBendSegment) for s in robot.segments):
        return robot
    again = f'make it again with `softarm calibrate finger --robot {robot.name}`'
    try:
        content = checked(read_yaml(path), _File)
        if content['robot'] != robot.name:
            return robot
        cubics = {}
        for segment in robot.segments:
            if isinstance(segment, SingleBendSegment):
                curve = content['segments'][segment.name]
                if curve['family'] != 'cubic':
                    raise YamlFileError(f'{segment.name} is a {curve["family"]}, not a cubic')
                cubics[segment.name] = tuple(curve['coefficients_rad']), curve['pressure_unit_pa']
        calibrated = _replaced(robot, cubics)
        fingerprint = content['robot_fingerprint']
    except FileNotFoundError:
        return robot
    except OSError as error:
        raise CurveError(f'{path}: {error.strerror}; {again}') from error
    except KeyError as error:
        raise CurveError(
            f'{path}: not a calibration of the bends of {robot.name}: segment {error} is missing; {again}'
        ) from error
    except ValidationError as error:
        raise CurveError(
            f'{path}: not a calibration of the bends of {robot.name} ({validation_message(error)}); {again}'
        ) from error
    except YamlFileError as error:
        raise CurveError(
            f'{path}: not a calibration of the bends of {robot.name} ({error}); {again}'
        ) from error
    if fingerprint != robot.kinematic_fingerprint:
        raise CurveError(
            made_for_another(
                path, f'{robot.name} {fingerprint}', f'{robot.name} {robot.kinematic_fingerprint}'
            )
        )
    for segment in calibrated.segments:
        if isinstance(segment, SingleBendSegment):
            at = np.linspace(*segment.pressure_limits_pa, 33) / segment.pressure_unit_pa
            if not (
                np.diff(np.polynomial.polynomial.polyval(at, segment.theta_coefficients_rad)) > 0.0
            ).all():
                raise CurveError(
                    f'{path}: the bend of {segment.name} does not rise over its pressure range; {again}'
                )
    return calibrated


def _replaced(robot: Robot, cubics: dict[str, tuple[tuple[float, ...], float]]) -> Robot:
    content = robot.model_dump(mode='json', exclude_unset=True)
    for segment in content['segments']:
        if segment['name'] in cubics:
            coefficients, unit_pa = cubics[segment['name']]
            segment |= {
                'theta_coefficients_rad': list(coefficients),
                'pressure_unit_pa': unit_pa,
                'nominal': False,
            }
    return Robot.model_validate(content)
