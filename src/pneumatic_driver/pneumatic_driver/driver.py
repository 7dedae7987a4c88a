"""Exchanges set points and measurements with one device at a fixed rate, in its own thread.

What one cycle does is `pneumatic_driver.cycle`'s, its pace `pneumatic_driver.async_driver`'s. The
device is vented when the driver closes.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pneumatic_driver.async_driver import AsyncDriver
from pneumatic_driver.device import Device
from pneumatic_driver.errors import LinkError, PneumaticDriverError
from pneumatic_driver.exchange import Exchange

_log = logging.getLogger(__name__)
_CALL_TIMEOUT_S = 6.0  # a few requests with the link's time-out each, and a device that starts


class Driver:
    """Runs the exchange with a device, at a fixed rate or whenever `exchange_now` is called.

    Args:
        device: The device; only the driver's thread uses it.
        rate_hz: Rate of the exchange [Hz]; None: `exchange_now` sets the pace.
        command_timeout_s: Time without a command after which the device is vented [s].
        on_exchange: Called in the driver's thread after every exchange.
        on_disarm: Called in the driver's thread with the reason when the driver disarms by itself.
        clock: Returns the time [s] by which commands grow old; the device's own clock.
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
        self._device = device
        self._loop = asyncio.new_event_loop()
        self._driver = AsyncDriver(
            device, rate_hz, command_timeout_s, on_exchange, on_disarm, clock
        )
        self._cycle = self._driver.cycle
        self._thread = threading.Thread(
            target=self._loop.run_forever, name='pneumatic_driver', daemon=True
        )
        self._thread.start()

    @property
    def device(self) -> str:
        """Name of the device in its register map."""
        return self._device.map.device.name

    @property
    def link(self) -> str:
        """Link to the device, in words."""
        return str(self._device.map.link)

    @property
    def armed(self) -> bool:
        """True if commands move the arm."""
        return self._cycle.armed

    @property
    def vent_pending(self) -> bool:
        """True from a request to vent until a read confirms that the device is vented."""
        return self._cycle.vent_pending

    @property
    def stale(self) -> bool:
        """True if the driver is armed but vents because commands have stopped."""
        return self._cycle.armed and not self._device.enabled

    @property
    def overruns(self) -> int:
        """Number of cycles that started late by more than a period."""
        return self._driver.overruns

    @property
    def commanded(self) -> bool:
        """Whether a command has come since arming."""
        return self._cycle.commanded

    @property
    def latest(self) -> Exchange | None:
        """Result of the last exchange; None before the first."""
        return self._cycle.latest

    @property
    def stale_commands(self) -> int:
        """Number of vents for want of a command."""
        return self._cycle.stale_commands

    @property
    def link_error(self) -> str | None:
        """What is wrong with the link; None if nothing is."""
        return self._cycle.link_error

    def connect(self) -> None:
        """Connect, verify, hold and vent the device, and start the exchange.

        Raises:
            LinkError: If the device does not answer or is another.
            HeldError: If another host holds it; that host is not disturbed.
        """
        self._call(self._driver.connect())

    def arm(self) -> None:
        """Enable the device, from ambient pressure.

        A latched fault of the watchdog (the host was silent) is cleared; others are not.

        Raises:
            LinkError: If the device does not answer, or a vent cannot be confirmed before.
            RefusedError: If another fault is latched, the map may not be used for writing, or the
                driver is vented meanwhile.
        """
        self._call(self._driver.arm())

    def exchange_now(self) -> None:
        """Run one cycle and wait for its end, for a driver without a rate.

        Before `connect` and after `disconnect` nothing is exchanged, unless a vent is pending.

        Raises:
            LinkError: If the cycle does not end in time; a device that does not answer is no error
                here, see `link_error`.
        """
        self._call(self._driver.exchange_now())

    def vent(self) -> None:
        """Disarm and vent every chamber; return when the device has confirmed it.

        After a LinkError the driver goes on venting in every cycle, see `vent_pending`.

        Raises:
            LinkError: If the device does not confirm it in time; its own watchdog vents it, too.
            RefusedError: If the map may not be used for writing: nothing is vented.
        """
        self._cycle.ask_vent()
        self._call(self._driver.vent())

    def clear_faults(self) -> None:
        """Disarm, vent, and clear its latched faults."""
        self._cycle.ask_vent()
        self._call(self._driver.clear_faults())

    def command(self, targets_pa: ArrayLike) -> np.ndarray:
        """Set the set points of the next cycle.

        Args:
            targets_pa: Set point of each channel [Pa] gauge, shape (channels,).

        Returns:
            The set points rounded to the device's steps, shape (channels,) [Pa].

        Raises:
            CommandError: If one cannot be held, or the driver is not armed; nothing changes.
        """
        return self._cycle.command(targets_pa)

    def disconnect(self) -> None:
        """Vent and close the connection.

        Raises:
            LinkError: If the device does not confirm that it is vented. The driver goes on venting,
                and closes the connection afterwards.
        """
        if self.armed:
            self._cycle.ask_vent()
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
