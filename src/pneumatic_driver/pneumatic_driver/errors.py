"""Errors of the pneumatic driver: each message is one line with value, unit, limit and remedy."""


class PneumaticDriverError(ValueError):
    """Base of every error that this package raises."""


class RegisterMapError(PneumaticDriverError):
    """A register map that cannot be used, or a value that one of its registers cannot hold."""


class LinkError(PneumaticDriverError):
    """The device does not answer, or answers what cannot be true."""


class RefusedError(PneumaticDriverError):
    """The device answered a request with a Modbus exception: nothing was changed by it."""


class CommandError(PneumaticDriverError):
    """A command that was refused before anything was written."""
