"""What one cycle with a device does: commands, freshness, link loss, faults. It owns no thread.

The device is driven only while armed and while commands come. It is vented when they stop, when the
link is lost, when it reports a fault or disobeys. Link loss and faults disarm: nothing moves again
before `arm`. Old set points are never replayed.
"""

import logging
import time
from collections.abc import Callable

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


class Cycle:
    """Drives a device, cycle by cycle. Its coroutines must not run at the same time.

    Args:
        device: The device; nothing else uses it.
        command_timeout_s: Time without a command after which the device is vented [s].
        on_exchange: Called after every exchange.
        on_disarm: Called with the reason when the cycle disarms by itself.
        clock: Returns the time [s] by which commands grow old; the device's own clock.
    """

    def __init__(
        self,
        device: Device,
        command_timeout_s: float,
        on_exchange: Callable[[Exchange], None] = lambda exchange: None,
        on_disarm: Callable[[str], None] = lambda reason: None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.device = device
        self._command_timeout_s, self._clock = command_timeout_s, clock
        self._on_exchange, self._on_disarm = on_exchange, on_disarm
        self.armed = False  # whether commands move the arm
        self._targets_pa = np.zeros(device.channels)
        self._commanded_s = 0.0
        self.commanded = False  # whether a command has come since arming
        self.latest: Exchange | None = None
        self.stale_commands = 0  # number of vents for want of a command
        self.link_error: str | None = None

    def command(self, targets_pa: ArrayLike) -> np.ndarray:
        """Set the set points of the next cycle; see `Driver.command`."""
        applied_pa = self.device.checked(targets_pa)
        if not self.armed:
            raise CommandError('the arm is vented: activate the driver before commanding pressures')
        self._targets_pa, self._commanded_s, self.commanded = applied_pa, self._clock(), True
        return applied_pa

    async def connect(self) -> None:
        """Connect, verify, hold and vent the device.

        Raises:
            LinkError: If the device does not answer or is another.
            HeldError: If another host holds it; that host is not disturbed.
        """
        await self.device.connect()
        if not self.device.read_only:
            await self.device.vent()

    async def arm(self) -> None:
        """Enable the device, from ambient pressure; see `Driver.arm`."""
        if not self.device.connected:
            raise LinkError(
                self.link_error or 'the device is not connected: configure the driver first'
            )
        if (await self.device.exchange()).faults == ('watchdog',):
            await self.device.clear_faults()
        self.commanded = False
        await self._enable()

    async def clear_faults(self) -> None:
        """Vent the device, and clear its latched faults."""
        if not self.device.read_only:
            await self.device.vent()
        await self.device.clear_faults()

    async def close(self) -> None:
        """Vent and close the connection."""
        if self.device.connected and not self.device.read_only:
            await self._vent_in_cycle()
        self.device.close()

    async def fail(self, error: BaseException) -> None:
        """Vent and close after an error that nobody has foreseen."""
        self.armed = False
        _log.critical('the exchange with the device failed', exc_info=error)
        self._on_disarm(f'the exchange with the device failed: {error!r}')
        if not self.device.read_only:
            await self._vent_in_cycle()
        self.device.close()

    async def run(self) -> bool:
        """Run one cycle; connect again if the link was lost. Return whether there was a link."""
        if self.device.connected:
            await self._exchange()
            return True
        self._lose('the connection was closed')
        await self._reconnect()
        return False

    async def _enable(self) -> None:
        await self.device.enable()
        self._targets_pa = np.zeros(self.device.channels)
        self._commanded_s, self.armed = self._clock(), True

    async def _exchange(self) -> None:
        try:
            await self.device.hold()
            await self._follow_commands()
            exchange = await self.device.exchange(self._targets_pa if self.device.enabled else None)
        except LinkError as error:
            age_s = self.device.age_s
            if not self.device.connected or age_s is None or age_s > LINK_TIMEOUT_S:
                self._lose(str(error))
            return
        except HeldError as error:
            self.device.close()  # venting would stop the host that holds it
            self.link_error = str(error)
            self._disarm(str(error))
            return
        except RefusedError as error:
            self.link_error = str(error)
            if self.armed:
                self._disarm(str(error))
                await self._vent_in_cycle()
            return
        self.latest, self.link_error = exchange, None
        if self.device.enabled and exchange.halted:
            self._disarm(exchange.halted)
            await self._vent_in_cycle()
        self._on_exchange(exchange)

    async def _vent_in_cycle(self) -> None:
        try:
            await self.device.vent()
        except (LinkError, RefusedError) as error:
            _log.error('venting failed; the device must vent itself: %s', error)

    async def _follow_commands(self) -> None:
        fresh = self._clock() - self._commanded_s <= self._command_timeout_s
        if self.armed and not fresh and self.device.enabled:
            if self.commanded:
                self.stale_commands += 1
                _log.warning(
                    'no command for %g s: vented; the next command moves the arm again',
                    self._command_timeout_s,
                )
            await self.device.vent()
        elif self.armed and fresh and not self.device.enabled:
            targets_pa, commanded_s = self._targets_pa, self._commanded_s
            await self._enable()
            self._targets_pa, self._commanded_s = targets_pa, commanded_s

    def _lose(self, error: str) -> None:
        self.device.close()
        self.link_error = self.link_error or error
        self._disarm(f'link lost: {error}')

    def _disarm(self, reason: str) -> None:
        if not self.armed:
            return
        self.armed = False
        self._on_disarm(reason)

    async def _reconnect(self) -> None:
        try:
            await self.connect()
            _log.info('connected again; nothing moves until the driver is activated')
        except PneumaticDriverError as error:
            self.link_error = str(error)
