"""Errors of the physics."""

from soft_arm_io.errors import InputError


class PhysicsError(InputError):
    """Base of every error of this package.

    The message is one line with value, unit, limit and remedy.
    """


class PhysicsWarning(UserWarning):
    """A result that lies outside what the files describe; one line with value and limit."""
