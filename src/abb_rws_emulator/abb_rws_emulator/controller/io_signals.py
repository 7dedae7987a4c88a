"""The I/O signals: clients write to some, the process beside the robot sets the others."""

from collections.abc import Callable

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import gripper_cell
from abb_rws_emulator.controller.gripper_cell import SignalState
from abb_rws_emulator.request_numbers import decimal


class IoSignals:
    """Every signal by its path, network/device/name.

    Args:
        on_change: Called with the RWS 1.0 address of each signal that changes.
    """

    def __init__(self, on_change: Callable[[str], None]):
        self.by_path = gripper_cell.signals()
        self._on_change = on_change

    def find(self, path: str) -> SignalState | None:
        """Return a signal by network/device/name or by name alone; None if unknown."""
        if path in self.by_path:
            return self.by_path[path]
        return next((s for s in self.by_path.values() if '/' not in path and s.name == path), None)

    def write(self, path: str, form: dict[str, str]) -> None:
        """Write a signal for a client."""
        signal = self.find(path)
        if signal is None:
            raise refusals.no_signal()
        if signal.access != 'All' or (signal.kind in ('DI', 'AI', 'GI') and not signal.simulated):
            raise refusals.access_denied()
        value = (
            1.0 - signal.value if form.get('mode') == 'invert' else decimal(form.get('lvalue', ''))
        )
        if signal.kind in ('DI', 'DO') and value not in (0.0, 1.0):
            raise refusals.invalid()
        self.put(signal.path, value)

    def simulate(self, path: str, simulated: bool) -> None:
        """Disconnect a signal from its device, so that an input can be written, or reconnect it."""
        signal = self.find(path)
        if signal is None:
            raise refusals.no_signal()
        if signal.access != 'All':
            raise refusals.access_denied()
        if signal.simulated != simulated:
            signal.simulated = simulated
            self._on_change(f'/rw/iosystem/signals/{signal.path};state')

    def put(self, path: str, value: float) -> None:
        """Set a signal from the process side."""
        if self.by_path[path].value != value:
            self.by_path[path].value = value
            self._on_change(f'/rw/iosystem/signals/{path};state')
