"""Messages of the driver's topics, and nothing else."""

import time
from collections.abc import Sequence

import numpy as np
from rclpy.time import Time

from pneumatic_driver.board import Exchange
from soft_arm_msgs.msg import ChamberPressures


def pressures_message(stamp: Time, names: Sequence[str], pressures_pa: np.ndarray) -> ChamberPressures:
    """Pressures [Pa] gauge by chamber."""
    message = ChamberPressures(names=list(names), pressures_pa=[float(p) for p in pressures_pa])
    message.header.stamp = stamp.to_msg()
    return message


def exchange_values(exchange: Exchange) -> dict[str, float | int | str]:
    """What diagnostics say about the newest exchange."""
    return {
        'age_s': time.monotonic() - exchange.at_s,
        'round_trip_s': exchange.round_trip_s,
        'faults': ' '.join(exchange.faults) or 'none',
        'supply_pa': exchange.supply_pa,
        'board_uptime_s': exchange.uptime_s,
        'board_overruns': exchange.overruns,
    }
