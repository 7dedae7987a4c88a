"""Errors of the virtual rig."""


class SimulationError(ValueError):
    """Base of every error of this package; the message is one line with value, unit, limit and remedy."""
