"""Errors of this package: one base class, so that a caller can catch them all."""

from soft_arm_io.errors import InputError


class KinematicsError(InputError):
    """A request that cannot be answered; one line names value, unit, limit and remedy."""


class CurveError(KinematicsError):
    """A pressure or length outside the calibrated range, or data that no curve fits."""
