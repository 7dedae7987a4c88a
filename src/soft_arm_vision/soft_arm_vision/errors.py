"""Errors of this package: one line each, with value, unit, limit and remedy."""

from soft_arm_io.errors import InputError


class VisionError(InputError):
    """Input, calibration file or point set that cannot be used."""


class FitRefused(ValueError):
    """No pose can be given; the message is the reason."""
