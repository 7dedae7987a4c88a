"""Conversions of messages that several packages need."""

from builtin_interfaces.msg import Time


def seconds(stamp: Time) -> float:
    """Return a stamp in seconds."""
    return float(stamp.sec + 1e-9 * stamp.nanosec)
