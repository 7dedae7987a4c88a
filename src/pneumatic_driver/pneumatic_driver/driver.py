"""Exchanges set points and measurements with one device at a fixed rate, in its own thread.

What one cycle does is `pneumatic_driver.cycle`'s; here are its thread and its pace. The device is
vented when the driver closes.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pneumatic_driver.cycle import Cycle
from pneumatic_driver.device import Device, Exchange
from pneumatic_driver.errors import LinkError

RECONNECT_PERIOD_S = 0.2
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
        self._period_s = None if rate_hz is None else 1.0 / rate_hz
        self._cycle = Cycle(device, command_timeout_s, on_exchange, on_disarm, clock)
        self.overruns = 0  # number of cycles that started late by more than a period
        self._exchanges = False  # from `connect` to `disconnect`
        self._loop = asyncio.new_event_loop()
        self._lock = asyncio.Lock()  # between the cycle and the calls below
        self._cycling: asyncio.Task | None = None
        self._ending: asyncio.Task | None = None  # kept, or it may be collected before it has run
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
        """Whether commands move the arm."""
        return self._cycle.armed

    @property
    def stale(self) -> bool:
        """Whether the driver is armed but has vented for want of a command."""
        return self._cycle.armed and not self._device.enabled

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
        self._call(self._connect())

    def arm(self) -> None:
        """Enable the device, from ambient pressure.

        A latched fault of the watchdog (the host was silent) is cleared; others are not.

        Raises:
            LinkError: If the device does not answer.
            RefusedError: If another fault is latched, or the map may not be used for writing.
        """
        self._call(self._arm())

    def exchange_now(self) -> None:
        """Run one cycle and wait for its end, for a driver without a rate.

        Before `connect` and after `disconnect` nothing is exchanged.

        Raises:
            LinkError: If the cycle does not end in time; a device that does not answer is no error
                here, see `link_error`.
        """
        self._call(self._exchange_now())

    def vent(self) -> None:
        """Disarm and vent every chamber.

        Raises:
            LinkError: If the device does not answer; then its own watchdog vents it.
            RefusedError: If the map may not be used for writing: nothing is vented.
        """
        self._cycle.armed = False
        self._call(self._vent())

    def clear_faults(self) -> None:
        """Disarm, vent, and clear its latched faults."""
        self._cycle.armed = False
        self._call(self._clear_faults())

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
        """Vent and close the connection."""
        self._cycle.armed = False
        self._call(self._disconnect())

    def close(self) -> None:
        """Vent, disconnect and end the thread; may be called again."""
        if not self._thread.is_alive():
            return
        self.disconnect()
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

    async def _connect(self) -> None:
        async with self._lock:
            await self._cycle.connect()
        self._exchanges = True
        if self._period_s is not None and self._cycling is None:
            self._cycling = self._loop.create_task(self._run(self._period_s))
            self._cycling.add_done_callback(self._ended)

    async def _arm(self) -> None:
        async with self._lock:
            await self._cycle.arm()

    async def _vent(self) -> None:
        async with self._lock:
            try:
                await self._device.vent()
            finally:
                if not self._exchanges:  # the connection was opened for this only
                    self._device.close()

    async def _clear_faults(self) -> None:
        async with self._lock:
            await self._cycle.clear_faults()

    async def _disconnect(self) -> None:
        async with self._lock:
            self._exchanges = False
            if self._cycling is not None:
                self._cycling.cancel()
                self._cycling = None
            await self._cycle.close()

    async def _exchange_now(self) -> None:
        async with self._lock:
            if not self._exchanges:
                return
            try:
                await self._cycle.run()
            except Exception as error:
                self._exchanges = False
                await self._cycle.fail(error)

    async def _run(self, period_s: float) -> None:
        due_s = self._loop.time()
        while True:
            async with self._lock:
                connected = await self._cycle.run()
            due_s += period_s if connected else RECONNECT_PERIOD_S
            late_s = self._loop.time() - due_s
            if late_s > period_s:
                self.overruns += 1
                due_s = self._loop.time()
            await asyncio.sleep(max(0.0, due_s - self._loop.time()))

    def _ended(self, cycling: asyncio.Task) -> None:
        if not cycling.cancelled() and (error := cycling.exception()) is not None:
            self._cycle.armed = False
            self._ending = self._loop.create_task(self._fail(error))

    async def _fail(self, error: BaseException) -> None:
        async with self._lock:
            await self._cycle.fail(error)
