"""Messages and diagnostics of the driver nodes."""

from collections.abc import Sequence

import numpy as np
from rclpy.time import Time

from pneumatic_driver.board import BoardExchange
from pneumatic_driver.driver import Driver
from pneumatic_driver.exchange import Exchange
from pneumatic_driver.pcu2v import Pcu2vExchange
from soft_arm_msgs.msg import ChamberPressures, GripperState
from soft_arm_node_kit import diagnostics

NOT_CONFIRMED = 'venting, not confirmed'


def pressures_message(
    stamp: Time, names: Sequence[str], pressures_pa: np.ndarray
) -> ChamberPressures:
    """Return the message of pressures [Pa] gauge by chamber."""
    message = ChamberPressures(names=list(names), pressures_pa=[float(p) for p in pressures_pa])
    message.header.stamp = stamp.to_msg()
    return message


def gripper_state_message(stamp: Time, exchange: Pcu2vExchange, age_s: float) -> GripperState:
    """Return the message of a PCU2-V's state with its age [s]."""
    message = GripperState(
        true_pressure_pa=float(exchange.pressures_pa[0]),
        positive_target_pa=exchange.positive_target_pa,
        negative_target_pa=exchange.negative_target_pa,
        positive_trigger=exchange.positive_trigger,
        negative_trigger=exchange.negative_trigger,
        age_s=age_s,
    )
    message.header.stamp = stamp.to_msg()
    return message


def driver_status(
    driver: Driver, name: str, phase: str, reason: str, now_s: float
) -> tuple[bytes, str, dict]:
    """Return level, message and values of the diagnostics.

    Args:
        driver: The driver.
        name: Full name of its node.
        phase: Lifecycle state of the node.
        reason: Reason for which the driver disarmed, or empty.
        now_s: Time of the device's clock [s].
    """
    cycle, latest = driver.cycle, driver.latest
    problem = reason or cycle.link_error
    faults = driver.faults
    level, message = diagnostics.OK, phase
    remedy = f'when nobody can be hurt, run: softarm node activate {name}'
    if faults:
        remedy = f'check sensor, valve, tube and supply; {remedy} --clear-faults'
    elif problem:
        remedy = f'check power, cable, address and other clients of the device; {remedy}'
    if cycle.vent_pending:
        level, message = diagnostics.ERROR, NOT_CONFIRMED + (f': {problem}' if problem else '')
        remedy = 'cut the air supply, then check power, cable and address of the device'
    elif problem or faults:
        level, message = diagnostics.ERROR, problem or phase
    elif cycle.stale and cycle.commanded:
        level, message, remedy = diagnostics.WARN, 'vented: no commands', ''
    elif cycle.stale:
        message = f'{phase}, vented until the next command'
    elif latest and not latest.vented and not driver.armed:
        level, message = diagnostics.WARN, f'{phase}, another client drives the device'
        remedy = f'end the other client; {remedy}'
    elif phase == 'finalized':
        remedy = 'start the node again'
    values = {
        'state': phase,
        'ready': phase == 'active' and driver.armed,
        'idle': phase == 'active' and cycle.stale and not problem,
        'remedy': remedy if phase != 'active' or level != diagnostics.OK else '',
        'late_cycles': driver.overruns,
        'stale_commands': cycle.stale_commands,
    }
    return level, message, values | (_exchange_values(latest, now_s) if latest else {})


def _exchange_values(exchange: Exchange, now_s: float) -> dict[str, float | int | str]:
    values = {
        'age_s': now_s - exchange.at_s,
        'round_trip_s': exchange.round_trip_s,
        'faults': ' '.join(exchange.faults) or 'none',
    }
    if isinstance(exchange, BoardExchange):
        values |= {
            'supply_pa': exchange.supply_pa,
            'board_uptime_s': exchange.uptime_s,
            'board_overruns': exchange.overruns,
        }
    return values
