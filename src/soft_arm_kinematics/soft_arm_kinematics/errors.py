"""Errors of this package: one base class, so that a caller can catch them all."""


class KinematicsError(ValueError):
    """A request that kinematics cannot answer; the message names value, unit, limit and remedy in one line."""


class CurveError(KinematicsError):
    """A pressure or length outside the calibrated range, or data that no curve fits."""
