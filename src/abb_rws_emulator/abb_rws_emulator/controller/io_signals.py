"""I/O signals of the emulated controller."""

from collections.abc import Callable

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import gripper_cell
from abb_rws_emulator.controller.gripper_cell import SignalState
from abb_rws_emulator.request_numbers import decimal


class IoSignals:
    """Signals by path, network/device/name.

    Args:
        on_change: Called with the RWS 1.0 path of each signal that changes.
    """

    def __init__(self, on_change: Callable[[str], None]):
        self.by_path = gripper_cell.signals()
        self._on_change = on_change

    def find(self, path: str) -> SignalState:
        """Return a signal by network/device/name or by name only.

        Raises:
            Refused: If the signal is unknown.
        """
        if path in self.by_path:
            return self.by_path[path]
        for signal in self.by_path.values():
            if signal.name == path:
                return signal
        raise refusals.no_signal()

    def write(self, path: str, text: str) -> None:
        """Write a signal for a client."""
        signal = self.find(path)
        if signal.access != 'All' or signal.kind == 'DI':
            raise refusals.access_denied()
        value = decimal(text)
        if signal.kind == 'DO' and value not in (0.0, 1.0):
            raise refusals.invalid()
        self.put(signal.path, value)

    def put(self, path: str, value: float) -> None:
        """Set a signal from the process side."""
        if self.by_path[path].value != value:
            self.by_path[path].value = value
            self._on_change(f'/rw/iosystem/signals/{path};state')
