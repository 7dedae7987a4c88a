"""Errors of the virtual rigs."""

from soft_arm_physics.errors import PhysicsError


class SimulationError(PhysicsError):
    """A virtual camera or device cannot do what it was asked for.

    The message is one line with the remedy.
    """
