"""Keeps one pneumatic device in exchange at a fixed rate, in a thread of its own.

And vents it whenever it must.

The device is driven only while armed, and only while commands come: it is vented when they stop,
when the link is lost, when it reports a fault or does what it was not told, and when the driver
closes. Link loss and faults disarm: nothing moves again before `arm`. Old set points are never
replayed.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Sequence

import numpy as np

from pneumatic_driver.device import Device, Exchange
from pneumatic_driver.errors import (
    CommandError,
    HeldError,
    LinkError,
    PneumaticDriverError,
    RefusedError,
)

_log = logging.getLogger(__name__)

# Without a good answer for this long the link counts as lost: one request of a TCP link may time
# out, a second may not. By then the device's own watchdog has vented it. Shorter would only make a
# busy machine look like a broken cable.
LINK_TIMEOUT_S = 0.4
RECONNECT_PERIOD_S = 0.2
_CALL_TIMEOUT_S = (
    6.0  # a few requests, each with the link's own time-out, and perhaps a device that boots
)


class Driver:
    """A device that is exchanged with at a fixed rate.

    Args:
        device: The device; the driver's thread alone talks to it.
        rate_hz: Exchanges per second [Hz].
        command_timeout_s: Without a command for this long the device is vented [s].
        on_exchange: Called in the driver's thread after every exchange.
        on_disarm: Called in the driver's thread with the reason, when the driver disarmed by
            itself.
    """

    def __init__(
        self,
        device: Device,
        rate_hz: float,
        command_timeout_s: float,
        on_exchange: Callable[[Exchange], None] = lambda exchange: None,
        on_disarm: Callable[[str], None] = lambda reason: None,
    ):
        self._device, self._period_s, self._command_timeout_s = (
            device,
            1.0 / rate_hz,
            command_timeout_s,
        )
        self._on_exchange, self._on_disarm = on_exchange, on_disarm
        self._armed = False
        self._targets_pa = np.zeros(device.channels)
        self._commanded_s = 0.0
        self.commanded = False  # whether a command has come since it was armed
        self.latest: Exchange | None = None
        self.stale_commands = 0  # times it vented because no command had come
        self.overruns = 0  # cycles that started late by more than a period
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
        """Which device it is, by its register map."""
        return self._device.map.device.name

    @property
    def link(self) -> str:
        """Where the device is."""
        return str(self._device.map.link)

    @property
    def armed(self) -> bool:
        """Whether commands move the arm."""
        return self._armed

    @property
    def stale(self) -> bool:
        """Whether the device is armed but vented, because no command has come in time."""
        return self._armed and not self._device.enabled

    def connect(self) -> None:
        """Connect, verify, hold the device, vent and begin to read.

        Raises:
            LinkError: If the device does not answer or is another.
            HeldError: If another host holds it; that one is not disturbed.
        """
        self._call(self._connect())

    def arm(self) -> None:
        """Enable the device, from ambient pressure.

        A fault that only says that the host was silent is cleared; others are not.

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

    def command(self, targets_pa: Sequence[float]) -> np.ndarray:
        """Set points for the next cycle.

        Args:
            targets_pa: One per channel, gauge [Pa].

        Returns:
            What will be written: rounded to the device's steps.

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
        """`disconnect`, and end the thread. May be called again."""
        if not self._thread.is_alive():
            return
        self.disconnect()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CALL_TIMEOUT_S)
        self._loop.close()

    def _call(self, coroutine: Coroutine):
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(_CALL_TIMEOUT_S)
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
        self._targets_pa, self._commanded_s, self._armed = (
            np.zeros(self._device.channels),
            time.monotonic(),
            True,
        )

    async def _vent(self) -> None:
        async with self._lock:
            try:
                await self._device.vent()
            finally:
                if self._cycling is None:  # vented on a connection of its own
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
            if (
                not self._device.connected
                or self._device.age_s is None
                or self._device.age_s > LINK_TIMEOUT_S
            ):
                self._lose(str(error))
            return
        except HeldError as error:
            self._device.close()  # it is another's: to vent it would stop him
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
            _log.error('not vented from here, the device must do it itself: %s', error)

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
            _log.critical('the exchange with the device broke off', exc_info=error)
            self._ending = self._loop.create_task(self._vent_and_close())
            self._on_disarm(f'the exchange with the device broke off: {error!r}')

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
