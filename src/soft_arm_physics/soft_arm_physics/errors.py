"""Errors of the physics."""


class PhysicsError(ValueError):
    """Base of every error of this package.

    The message is one line with value, unit, limit and remedy.
    """
