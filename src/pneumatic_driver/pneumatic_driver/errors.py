"""Errors of the pneumatic driver: each message is one line with value, unit, limit and remedy."""


class PneumaticDriverError(ValueError):
    """Base of every error that this package raises."""


class RegisterMapError(PneumaticDriverError):
    """A register map that cannot be used, or a value that one of its registers cannot hold."""


class LinkError(PneumaticDriverError):
    """The device does not answer, or its answer is impossible."""


class NoConnectionError(LinkError):
    """No connection can be opened: the device is off, is starting, or has another address."""


class RefusedError(PneumaticDriverError):
    """The device refused a request, or its state forbids it: nothing was changed.

    `code` is the Modbus exception, if there was one.
    """

    def __init__(self, message: str, code: int | None = None):
        super().__init__(message)
        self.code = code


class HeldError(RefusedError):
    """Another host holds the device."""


class CommandError(PneumaticDriverError):
    """A command that was refused before anything was written."""
