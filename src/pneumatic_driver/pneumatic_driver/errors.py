"""Errors of the pneumatic driver; each message is one line with value, unit, limit and remedy."""


class PneumaticDriverError(ValueError):
    """Base class of the errors of this package."""


class RegisterMapError(PneumaticDriverError):
    """Invalid register map, or a value that a register cannot hold."""


class LinkError(PneumaticDriverError):
    """No answer from the device, or an impossible one."""


class NoConnectionError(LinkError):
    """Connection refused: the device is off, is booting, or has another address."""


class RefusedError(PneumaticDriverError):
    """Request refused by the device or by its state: nothing was changed.

    `code` is the Modbus exception code, if any.
    """

    def __init__(self, message: str, code: int | None = None):
        super().__init__(message)
        self.code = code


class HeldError(RefusedError):
    """Device held by another host."""


class CommandError(PneumaticDriverError):
    """Command refused before anything was written."""
