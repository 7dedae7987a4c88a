"""Exchanges set points and measurements with one device at a fixed rate, in its own thread.

The device is driven only while armed and while commands come. It is vented when they stop, when the
link is lost, when it reports a fault or disobeys, and when the driver closes. Link loss and faults
disarm: nothing moves again before `arm`. Old set points are never replayed.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pneumatic_driver.device import Device, Exchange
from pneumatic_driver.errors import (
    CommandError,
    HeldError,
    LinkError,
    PneumaticDriverError,
    RefusedError,
)

_log = logging.getLogger(__name__)

# Time without a good answer after which the link counts as lost. One request over TCP may time out,
# a second may not. By then the device's own watchdog has vented it. With a shorter time, a busy
# machine would look like a broken cable.
LINK_TIMEOUT_S = 0.4
RECONNECT_PERIOD_S = 0.2
_CALL_TIMEOUT_S = 6.0  # a few requests with the link's time-out each, and a device that starts


class Driver:
    """Runs the exchange with a device at a fixed rate.

    Args:
        device: The device; only the driver's thread uses it.
        rate_hz: Rate of the exchange [Hz].
        command_timeout_s: Time without a command after which the device is vented [s].
        on_exchange: Called in the driver's thread after every exchange.
        on_disarm: Called in the driver's thread with the reason when the driver disarms by itself.
    """

    def __init__(
        self,
        device: Device,
        rate_hz: float,
        command_timeout_s: float,
        on_exchange: Callable[[Exchange], None] = lambda exchange: None,
        on_disarm: Callable[[str], None] = lambda reason: None,
    ):
        self._device = device
        self._period_s, self._command_timeout_s = 1.0 / rate_hz, command_timeout_s
        self._on_exchange, self._on_disarm = on_exchange, on_disarm
        self._armed = False
        self._targets_pa = np.zeros(device.channels)
        self._commanded_s = 0.0
        self.commanded = False  # whether a command has come since arming
        self.latest: Exchange | None = None
        self.stale_commands = 0  # number of vents for want of a command
        self.overruns = 0  # number of cycles that started late by more than a period
        self.link_error: str | None = None
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
        return self._armed

    @property
    def stale(self) -> bool:
        """Whether the driver is armed but has vented for want of a command."""
        return self._armed and not self._device.enabled

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

    def vent(self) -> None:
        """Disarm and vent every chamber.

        Raises:
            LinkError: If the device does not answer; then its own watchdog vents it.
            RefusedError: If the map may not be used for writing: nothing is vented.
        """
        self._armed = False
        self._call(self._vent())

    def clear_faults(self) -> None:
        """Disarm, vent, and clear its latched faults."""
        self._armed = False
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
        applied_pa = self._device.checked(targets_pa)
        if not self._armed:
            raise CommandError('the arm is vented: activate the driver before commanding pressures')
        self._targets_pa, self._commanded_s, self.commanded = applied_pa, time.monotonic(), True
        return applied_pa

    def disconnect(self) -> None:
        """Vent and close the connection."""
        self._armed = False
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
            await self._connect_vented()
        if self._cycling is None:
            self._cycling = self._loop.create_task(self._run())
            self._cycling.add_done_callback(self._ended)

    async def _connect_vented(self) -> None:
        await self._device.connect()
        if not self._device.read_only:
            await self._device.vent()

    async def _arm(self) -> None:
        async with self._lock:
            if not self._device.connected:
                raise LinkError(
                    self.link_error or 'the device is not connected: configure the driver first'
                )
            if (await self._device.exchange()).faults == ('watchdog',):
                await self._device.clear_faults()
            self.commanded = False
            await self._enable()

    async def _enable(self) -> None:
        await self._device.enable()
        self._targets_pa = np.zeros(self._device.channels)
        self._commanded_s, self._armed = time.monotonic(), True

    async def _vent(self) -> None:
        async with self._lock:
            try:
                await self._device.vent()
            finally:
                if self._cycling is None:  # the connection was opened for this only
                    self._device.close()

    async def _clear_faults(self) -> None:
        async with self._lock:
            if not self._device.read_only:
                await self._device.vent()
            await self._device.clear_faults()

    async def _disconnect(self) -> None:
        async with self._lock:
            if self._cycling is not None:
                self._cycling.cancel()
                self._cycling = None
            if self._device.connected and not self._device.read_only:
                await self._vent_in_cycle()
            self._device.close()

    async def _run(self) -> None:
        due_s = self._loop.time()
        while True:
            async with self._lock:
                connected = self._device.connected
                if connected:
                    await self._cycle()
                else:
                    self._lose('the connection was closed')
                    await self._reconnect()
            due_s += self._period_s if connected else RECONNECT_PERIOD_S
            late_s = self._loop.time() - due_s
            if late_s > self._period_s:
                self.overruns += 1
                due_s = self._loop.time()
            await asyncio.sleep(max(0.0, due_s - self._loop.time()))

    async def _cycle(self) -> None:
        try:
            await self._device.hold()
            await self._follow_commands()
            exchange = await self._device.exchange(
                self._targets_pa if self._device.enabled else None
            )
        except LinkError as error:
            age_s = self._device.age_s
            if not self._device.connected or age_s is None or age_s > LINK_TIMEOUT_S:
                self._lose(str(error))
            return
        except HeldError as error:
            self._device.close()  # venting would stop the host that holds it
            self.link_error = str(error)
            self._disarm(str(error))
            return
        except RefusedError as error:
            self.link_error = str(error)
            if self._armed:
                self._disarm(str(error))
                await self._vent_in_cycle()
            return
        self.latest, self.link_error = exchange, None
        if self._device.enabled and exchange.halted:
            self._disarm(exchange.halted)
            await self._vent_in_cycle()
        self._on_exchange(exchange)

    async def _vent_in_cycle(self) -> None:
        try:
            await self._device.vent()
        except (LinkError, RefusedError) as error:
            _log.error('venting failed; the device must vent itself: %s', error)

    async def _follow_commands(self) -> None:
        fresh = time.monotonic() - self._commanded_s <= self._command_timeout_s
        if self._armed and not fresh and self._device.enabled:
            if self.commanded:
                self.stale_commands += 1
                _log.warning(
                    'no command for %g s: vented; the next command moves the arm again',
                    self._command_timeout_s,
                )
            await self._device.vent()
        elif self._armed and fresh and not self._device.enabled:
            targets_pa, commanded_s = self._targets_pa, self._commanded_s
            await self._enable()
            self._targets_pa, self._commanded_s = targets_pa, commanded_s

    def _lose(self, error: str) -> None:
        self._device.close()
        self.link_error = self.link_error or error
        self._disarm(f'link lost: {error}')

    def _disarm(self, reason: str) -> None:
        if not self._armed:
            return
        self._armed = False
        self._on_disarm(reason)

    def _ended(self, cycling: asyncio.Task) -> None:
        if not cycling.cancelled() and (error := cycling.exception()) is not None:
            self._armed = False
            _log.critical('the exchange with the device failed', exc_info=error)
            self._ending = self._loop.create_task(self._vent_and_close())
            self._on_disarm(f'the exchange with the device failed: {error!r}')

    async def _vent_and_close(self) -> None:
        async with self._lock:
            if not self._device.read_only:
                await self._vent_in_cycle()
            self._device.close()

    async def _reconnect(self) -> None:
        try:
            await self._connect_vented()
            _log.info('connected again; nothing moves until the driver is activated')
        except PneumaticDriverError as error:
            self.link_error = str(error)
