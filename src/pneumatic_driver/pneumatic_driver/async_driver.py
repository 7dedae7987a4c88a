"""Exchanges set points and measurements with one device at a fixed rate, in an event loop.

What one cycle does is `pneumatic_driver.cycle`'s; here are its pace and the calls beside it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from pneumatic_driver.cycle import Cycle
from pneumatic_driver.device import Device
from pneumatic_driver.errors import LinkError, PneumaticDriverError, RefusedError
from pneumatic_driver.exchange import Exchange

RECONNECT_PERIOD_S = 0.2
# A call that vents waits so long for the confirmation. Afterwards the vent is repeated in every
# cycle all the same.
CONFIRM_S = 1.0
_RETRY_PERIOD_S = 0.02


class AsyncDriver:
    """Runs the exchange with a device; its coroutines may run at the same time.

    Args:
        device: The device; nothing else uses it.
        rate_hz: Rate of the exchange [Hz]; None: `exchange_now` sets the pace.
        command_timeout_s: Time without a command after which the device is vented [s].
        on_exchange: Called after every exchange.
        on_disarm: Called with the reason when the driver disarms by itself.
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
        self.cycle = Cycle(device, command_timeout_s, on_exchange, on_disarm, clock)
        self.overruns = 0  # number of cycles that started late by more than a period
        self._exchanges = False  # from `connect` to `disconnect`
        self._lock = asyncio.Lock()  # between the cycle and the calls below
        self._cycling: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Connect, verify, hold and vent the device, and start the exchange."""
        try:
            await self._locked(self.cycle.connect)
            self._exchanges = True
        finally:
            self._keep_cycling()

    async def arm(self) -> None:
        """Enable the device, from ambient pressure."""
        await self._locked(self.cycle.arm)

    async def vent(self) -> None:
        """Disarm, vent, and wait until a read has confirmed it.

        Raises:
            LinkError: If that takes longer than `CONFIRM_S`; the driver goes on venting.
            RefusedError: If the device refuses it for so long, or the map may not be used for
                writing: then nothing is vented.
        """
        end_s, first = time.monotonic() + CONFIRM_S, True
        try:
            while first or self.cycle.vent_pending:
                try:
                    await self._locked(self._vent_again if first else self.cycle.vent)
                    return
                except (LinkError, RefusedError):
                    if self._device.read_only or time.monotonic() >= end_s:
                        raise
                first = False
                await asyncio.sleep(_RETRY_PERIOD_S)
        finally:
            self._keep_cycling()

    async def clear_faults(self) -> None:
        """Disarm, vent, and clear the latched faults."""
        if not self._device.read_only:
            await self.vent()
        await self._locked(self.cycle.clear_faults)

    async def disconnect(self) -> None:
        """Vent and close the connection; see `vent` for errors.

        While the vent is not confirmed, the connection remains, and the driver goes on venting.
        """
        self._exchanges = False
        device = self._device
        if not device.read_only and (device.connected or device.enabled or self.cycle.vent_pending):
            await self.vent()
        self._keep_cycling()

    async def exchange_now(self) -> None:
        """Run one cycle if there is something to do, for a driver without a rate."""
        async with self._lock:
            if self._exchanges or self.cycle.vent_pending:
                await self.cycle.run()
            if not self._exchanges and not self.cycle.vent_pending:
                self._device.close()

    async def end(self) -> None:
        """End the exchange and close the connection, whatever the device does."""
        if self._cycling is not None:
            async with self._lock:  # within a request, Python 3.11 may lose the cancellation
                self._cycling.cancel()
            await asyncio.wait([self._cycling])
        self._device.close()

    async def _vent_again(self) -> None:
        """Vent; what was armed since the vent was asked for is disarmed again."""
        self.cycle.ask_vent()
        await self.cycle.vent()

    async def _locked(self, step: Callable[[], Awaitable[object]]) -> None:
        async with self._lock:
            try:
                await step()
            except PneumaticDriverError:
                raise
            except Exception as error:
                await self.cycle.fail(error)
                raise LinkError(f'the exchange with the device failed: {error!r}') from error

    def _keep_cycling(self) -> None:
        """Cycle from now on, until nothing is to be exchanged and no vent is pending."""
        if not self._exchanges and not self.cycle.vent_pending:
            if not self._lock.locked():  # otherwise a call uses the connection
                self._device.close()
        elif self._period_s is not None and (self._cycling is None or self._cycling.done()):
            self._cycling = asyncio.get_running_loop().create_task(self._run(self._period_s))

    async def _run(self, period_s: float) -> None:
        due_s = time.monotonic()
        while True:
            async with self._lock:  # no call is just opening a connection
                if not self._exchanges and not self.cycle.vent_pending:
                    self._device.close()
                    return
                connected = await self.cycle.run()
            due_s += period_s if connected else RECONNECT_PERIOD_S
            late_s = time.monotonic() - due_s
            if late_s > period_s:
                self.overruns += 1
                due_s = time.monotonic()
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
