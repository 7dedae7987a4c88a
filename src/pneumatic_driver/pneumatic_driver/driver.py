"""Exchange with one device in a thread; see `AsyncDriver`. Closing the driver vents the device."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pneumatic_driver.async_driver import AsyncDriver
from pneumatic_driver.cycle import Cycle
from pneumatic_driver.device import Device
from pneumatic_driver.errors import LinkError, PneumaticDriverError
from pneumatic_driver.exchange import Exchange

_log = logging.getLogger(__name__)
_CALL_TIMEOUT_S = 6.0  # several requests with the link's time-out each, and a booting device


class Driver:
    """Exchange with a device at a fixed rate or on each `exchange_now`.

    Args:
        device: The device; only the thread of the driver uses it.
        rate_hz: Rate of the exchange [Hz]; None: `exchange_now` sets the pace.
        command_timeout_s: Time without a command after which the device is vented [s].
        on_exchange: Called in the driver's thread after every exchange.
        on_disarm: Called in the driver's thread with the reason when the driver disarms by itself.
        clock: Clock of the device [s], by which commands age.

    Attributes:
        device: The device.
        cycle: State of the exchange: pending vent, stale commands, error of the link.
    """

    def __init__(
        self,
        device: Device,
        rate_hz: float | None,
        command_timeout_s: float,
        on_exchange: Callable[[Exchange], None] = lambda exchange: None,
        on_disarm: Callable[[str], None] = lambda reason: None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.device = device
        self.cycle = Cycle(device, command_timeout_s, on_exchange, on_disarm, clock)
        self._driver = AsyncDriver(self.cycle, rate_hz)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name='pneumatic_driver', daemon=True
        )
        self._thread.start()

    @property
    def armed(self) -> bool:
        """True if commands move the arm."""
        return self.cycle.armed

    @property
    def latest(self) -> Exchange | None:
        """Result of the last exchange; None before the first."""
        return self.cycle.latest

    @property
    def faults(self) -> tuple[str, ...]:
        """Latched faults in the last exchange."""
        return self.latest.faults if self.latest else ()

    @property
    def overruns(self) -> int:
        """Number of cycles that started late by more than a period."""
        return self._driver.overruns

    def connect(self) -> None:
        """Connect, verify, hold and vent the device; start the exchange; see `Cycle.connect`."""
        self._call(self._driver.connect())

    def arm(self) -> None:
        """Enable the device, from ambient pressure; see `Cycle.arm`."""
        self._call(self._driver.arm())

    def exchange_now(self) -> None:
        """Run one cycle and wait for its end; for a driver without a rate.

        Before `connect` and after `disconnect` nothing is exchanged, unless a vent is pending.

        Raises:
            LinkError: If the cycle does not end in time. A silent device raises nothing, see
                `Cycle.link_error`.
        """
        self._call(self._driver.exchange_now())

    def vent(self) -> None:
        """Disarm and vent all chambers; return once the device has confirmed it.

        After a LinkError the driver keeps venting in every cycle, see `Cycle.vent_pending`.

        Raises:
            LinkError: If the device does not confirm in time; its own watchdog vents it as well.
            RefusedError: If the map is read-only: nothing is vented.
        """
        self.cycle.ask_vent()
        self._call(self._driver.vent())

    def clear_faults(self) -> None:
        """Disarm, vent, and clear the latched faults."""
        self.cycle.ask_vent()
        self._call(self._driver.clear_faults())

    def command(self, targets_pa: ArrayLike) -> np.ndarray:
        """Set the set points of the next cycle; see `Cycle.command`."""
        return self.cycle.command(targets_pa)

    def disconnect(self) -> None:
        """Vent and close the connection; see `AsyncDriver.disconnect`."""
        if self.armed:
            self.cycle.ask_vent()
        self._call(self._driver.disconnect())

    def close(self) -> None:
        """Vent, disconnect and end the thread; may be called again."""
        if not self._thread.is_alive():
            return
        try:
            self.disconnect()
        except PneumaticDriverError as error:
            _log.error('venting failed; the device must vent itself: %s', error)
        asyncio.run_coroutine_threadsafe(self._driver.end(), self._loop).result(_CALL_TIMEOUT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CALL_TIMEOUT_S)
        self._loop.close()

    def _call(self, coroutine: Coroutine[Any, Any, None]) -> None:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            future.result(_CALL_TIMEOUT_S)
        except TimeoutError as error:
            future.cancel()
            raise LinkError(
                f'the device did not answer within {_CALL_TIMEOUT_S:g} s; its own watchdog vents it'
            ) from error
