"""Diagnostics of a simulation in real time."""

from collections.abc import Iterable

from soft_arm_node_kit.diagnostics import OK, WARN

SLOW_FACTOR, SLOW_RATE = 0.97, 0.9  # shares of the nominal pace, below which it warns


def pace_status(
    values: dict, rates_hz: Iterable[tuple[float, float]], factor: float = 1.0
) -> tuple[bytes, str, dict]:
    """Return level, message and values of a node that simulates in real time.

    Args:
        values: Values by name.
        rates_hz: Measured and nominal rates [Hz].
        factor: Simulated time over wall time.
    """
    if factor < SLOW_FACTOR or any(rate < SLOW_RATE * nominal for rate, nominal in rates_hz):
        message = 'slower than real time: run fewer programs or cameras, or use more cores'
        return WARN, message, values
    return OK, 'in real time', values
