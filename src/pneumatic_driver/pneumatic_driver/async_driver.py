"""Exchange with one device at a fixed rate, in an event loop; the cycle itself is `Cycle`."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from pneumatic_driver.cycle import Cycle
from pneumatic_driver.errors import LinkError, PneumaticDriverError, RefusedError

RECONNECT_PERIOD_S = 0.2
CONFIRMATION_S = 1.0  # then a call fails; the cycle keeps venting
_RETRY_PERIOD_S = 0.02


class AsyncDriver:
    """Exchange with a device; its coroutines may run concurrently.

    Args:
        cycle: Cycle of the device; nothing else uses either.
        rate_hz: Rate of the exchange [Hz]; None: `exchange_now` sets the pace.

    Attributes:
        overruns: Number of cycles that started late by more than a period.
    """

    def __init__(self, cycle: Cycle, rate_hz: float | None):
        self.cycle, self._device = cycle, cycle.device
        self._period_s = None if rate_hz is None else 1.0 / rate_hz
        self.overruns = 0
        self._exchanges = False  # from `connect` to `disconnect`
        self._lock = asyncio.Lock()  # between the cycle and the calls
        self._cycling: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Connect, verify, hold and vent the device; start the exchange; see `Cycle.connect`."""
        try:
            await self._locked(self.cycle.connect)
            self._exchanges = True
        finally:
            self._keep_cycling()

    async def arm(self) -> None:
        """Enable the device, from ambient pressure; see `Cycle.arm`."""
        await self._locked(self.cycle.arm)

    async def vent(self) -> None:
        """Disarm, vent, and wait for the confirmation by a read.

        Raises:
            LinkError: If it takes longer than `CONFIRMATION_S`; the driver keeps venting.
            RefusedError: If the device refuses for that time, or the map is read-only: nothing is
                vented.
        """
        end_s, first = time.monotonic() + CONFIRMATION_S, True
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
        """Disarm, vent, and clear the latched faults, until the device confirms both.

        Raises:
            LinkError: If it takes longer than `CONFIRMATION_S`; a pending vent is repeated.
            RefusedError: If the device refuses for that time, or has latched a fault again.
        """
        end_s = time.monotonic() + CONFIRMATION_S
        try:
            while True:
                try:
                    await self._locked(self.cycle.clear_faults)
                    break
                except (LinkError, RefusedError) as error:
                    if time.monotonic() >= end_s:
                        raise type(error)(f'clearing faults is not confirmed: {error}') from error
                await asyncio.sleep(_RETRY_PERIOD_S)
        finally:
            self._keep_cycling()
        if self.cycle.latest is not None and self.cycle.latest.faults:
            faults = ', '.join(self.cycle.latest.faults)
            raise RefusedError(f'latched again: {faults}: find the cause first')

    async def disconnect(self) -> None:
        """Vent and close the connection; see `vent` for errors.

        Until the vent is confirmed the connection remains, and the driver keeps venting.
        """
        self._exchanges = False
        device = self._device
        if not device.read_only and (device.connected or device.enabled or self.cycle.vent_pending):
            await self.vent()
        self._keep_cycling()

    async def exchange_now(self) -> None:
        """Run one cycle if the driver is connected or a vent is pending."""
        async with self._lock:
            if self._exchanges or self.cycle.vent_pending:
                await self.cycle.run()
            if not self._exchanges and not self.cycle.vent_pending:
                self._device.close()

    async def end(self) -> None:
        """End the exchange and close the connection regardless of the device."""
        if self._cycling is not None:
            async with self._lock:  # within a request, Python 3.11 may lose the cancellation
                self._cycling.cancel()
            await asyncio.wait([self._cycling])
        self._device.close()

    async def _vent_again(self) -> None:
        """Vent, and disarm what was armed since the vent was requested."""
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
        """Cycle until nothing is to be exchanged and no vent is pending."""
        if not self._exchanges and not self.cycle.vent_pending:
            if not self._lock.locked():  # otherwise a call uses the connection
                self._device.close()
        elif self._period_s is not None and (self._cycling is None or self._cycling.done()):
            self._cycling = asyncio.get_running_loop().create_task(self._run(self._period_s))

    async def _run(self, period_s: float) -> None:
        due_s = time.monotonic()
        while True:
            async with self._lock:  # so that no call is opening a connection
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
