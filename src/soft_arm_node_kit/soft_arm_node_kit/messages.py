"""Conversions of messages that several packages need."""

import numpy as np
from builtin_interfaces.msg import Time

from soft_arm_description.robot import Robot
from soft_arm_msgs.msg import ChamberPressures

SENSOR_MARGIN_PA = 50.0e3  # a pressure further outside the limits means a broken sensor


def seconds(stamp: Time) -> float:
    """Return a stamp in seconds."""
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def pressures_from_msg(
    message: ChamberPressures, robot: Robot, error: type[Exception]
) -> np.ndarray:
    """Return the gauge pressures [Pa] in the order of the robot file, shape (n,).

    Args:
        message: The message; additional chambers are ignored.
        robot: Robot with chambers and pressure limits.
        error: Raised if a chamber is missing, or a value is not finite or more than
            `SENSOR_MARGIN_PA` outside its limits.
    """
    if len(message.names) != len(message.pressures_pa):
        raise error(
            f'{len(message.names)} names of chambers but {len(message.pressures_pa)} pressures: '
            'give one pressure for each name'
        )
    given = dict(zip(message.names, message.pressures_pa, strict=True))
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
