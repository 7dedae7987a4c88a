"""Errors of the twin."""


class TwinError(Exception):
    """Base of all errors of this package: one line that names value, unit, limit and remedy."""


class SceneError(TwinError):
    """A part or a scene contradicts itself."""


class RefusedValueError(TwinError):
    """A control refuses a value that a page sent."""


class AddressError(TwinError):
    """The server cannot listen at the given address."""
