"""Check values that messages, received or recorded, give by name."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from soft_arm_description.robot import Robot

SENSOR_MARGIN_PA = 50.0e3  # a pressure further outside the limits means a broken sensor


def values_by_name(
    names: Sequence[str], values: Sequence[float], what: str, error: type[Exception]
) -> dict[str, float]:
    """Return the values of a message by their names; raise the error if they do not pair up."""
    if len(names) != len(values):
        raise error(f'{len(names)} names but {len(values)} {what}: give one value for each name')
    given: dict[str, float] = {}
    for name, value in zip(names, values, strict=True):
        if name in given:
            raise error(f'{what} of {name[:60]!r} are given twice: give each name once')
        given[name] = value
    return given


def pressures_from_msg(message: Any, robot: Robot, error: type[Exception]) -> np.ndarray:
    """Return the gauge pressures [Pa] in the order of the robot file, shape (n,).

    Args:
        message: A soft_arm_msgs/ChamberPressures; additional chambers are ignored.
        robot: Robot with chambers and pressure limits.
        error: Raised if names and pressures do not pair up, a chamber is missing, or a value is
            not finite or more than `SENSOR_MARGIN_PA` outside its limits.
    """
    given = values_by_name(message.names, message.pressures_pa, 'pressures', error)
    if missing := [name for name in robot.chambers if name not in given]:
        names = ', '.join(message.names[:8])[:100] or 'nothing'
        raise error(
            f'pressures of {names} lack chamber {missing[0]}: the driver must use the robot file '
            f'{robot.name}'
        )
    values_pa = np.array([given[name] for name in robot.chambers])
    low_pa, high_pa = robot.pressure_limits_pa
    valid = (values_pa >= low_pa - SENSOR_MARGIN_PA) & (values_pa <= high_pa + SENSOR_MARGIN_PA)
    if not valid.all():
        i = int(np.argmin(valid))
        raise error(
            f'{robot.chambers[i]} at {values_pa[i] / 1e3:.4g} kPa, limits {low_pa[i] / 1e3:g} .. '
            f'{high_pa[i] / 1e3:g} kPa: check its sensor'
        )
    return values_pa
