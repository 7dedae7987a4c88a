"""Errors of the physics."""


class PhysicsError(ValueError):
    """Base of every error of this package; the message is one line with value, unit, limit and remedy."""
