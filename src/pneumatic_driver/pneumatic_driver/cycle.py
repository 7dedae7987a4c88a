"""What one cycle with a device does: commands, freshness, link loss, faults. It owns no thread.

The device is driven only while armed and while commands come. It is vented when they stop, when the
link is lost, when it reports a fault or disobeys. Link loss and faults disarm: nothing moves again
before `arm`. Old set points are never replayed. A vent is repeated in every cycle until a read has
confirmed it.
"""

import logging
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from pneumatic_driver.device import Device
from pneumatic_driver.errors import (
    CommandError,
    HeldError,
    LinkError,
    PneumaticDriverError,
    RefusedError,
)
from pneumatic_driver.exchange import Exchange

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
        # Numbers of vents. It is armed while none was asked for since `arm` began, so that nothing
        # but `arm` can arm it, and a vent cannot be undone by what was under way.
        self._asked = self._confirmed = 0
        self._armed_at: int | None = None
        self._targets_pa = np.zeros(device.channels)
        self._commanded_s = 0.0
        self.commanded = False  # whether a command has come since arming
        self.latest: Exchange | None = None
        self.stale_commands = 0  # number of vents for want of a command
        self.link_error: str | None = None

    @property
    def armed(self) -> bool:
        """True if commands move the arm."""
        return self._armed_at == self._asked

    @property
    def vent_pending(self) -> bool:
        """True from a request to vent until a read confirms that the device is vented."""
        return self._asked != self._confirmed or self.device.vent_pending

    def ask_vent(self) -> None:
        """Disarm now, from any thread, and vent in every cycle until that is confirmed."""
        if not self.device.read_only:
            self._asked += 1

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
            await self.vent()

    async def arm(self) -> None:
        """Enable the device, from ambient pressure; see `Driver.arm`."""
        asked = self._asked
        if not self.device.connected:
            raise LinkError(
                self.link_error or 'the device is not connected: configure the driver first'
            )
        if self.vent_pending:
            await self.vent()
        if (await self.device.exchange()).faults == ('watchdog',):
            await self.device.clear_faults()
        self.commanded = False
        await self.device.enable()
        self._targets_pa, self._commanded_s = np.zeros(self.device.channels), self._clock()
        self._armed_at = asked
        if not self.armed:
            await self.vent()
            raise RefusedError('the driver was vented while it was activated: activate it again')

    async def vent(self) -> Exchange:
        """Vent the device; return the read that confirms it. After an error the vent is pending."""
        asked = self._asked
        exchange = await self.device.vent()
        self._confirmed = asked
        return exchange

    async def clear_faults(self) -> None:
        """Vent the device, and clear its latched faults."""
        if not self.device.read_only:
            await self.vent()
        await self.device.clear_faults()

    async def run(self) -> bool:
        """Run one cycle; connect again if the link was lost. Return whether there is or was a link.

        Every error ends here: the device is then vented, and connected again if necessary.
        """
        connected = self.device.connected
        try:
            await self._run()
        except HeldError as error:
            self.device.close()  # venting would stop the host that holds it
            self._fail(str(error))
        except LinkError as error:
            age_s = self.device.age_s
            if not self.device.connected or age_s is None or age_s > LINK_TIMEOUT_S:
                self._lose(str(error))
            elif self.vent_pending:
                self.link_error = str(error)
        except PneumaticDriverError as error:
            self._fail(str(error))
        except Exception as error:
            await self.fail(error)
        return connected or self.device.connected

    async def fail(self, error: Exception) -> None:
        """Disarm, vent and close after an error that nobody has foreseen."""
        _log.critical('the exchange with the device failed', exc_info=error)
        self._fail(f'the exchange with the device failed: {error!r}')
        if not self.device.read_only:
            try:
                await self.vent()
            except Exception as vent_error:
                _log.error('venting failed, it is tried again: %s', vent_error)
        self.device.close()

    @property
    def _must_vent(self) -> bool:
        return self.vent_pending or (self.device.enabled and not self.armed)

    async def _run(self) -> None:
        if self._asked == self._confirmed and not self.device.connected:
            self._disarm('link lost: the connection was closed')
            await self.connect()
            self.link_error = None
            _log.info('connected again; nothing moves until the driver is activated')
            return
        if not self._must_vent:
            await self.device.hold()
            await self._follow_commands()
        if self._must_vent:
            self._take(await self.vent())
            return
        exchange = await self.device.exchange(self._targets_pa if self.device.enabled else None)
        halted = exchange.halted if self.device.enabled else ''
        self._take(exchange)
        if halted:
            self._disarm(halted)
            await self.vent()

    def _take(self, exchange: Exchange) -> None:
        self.latest, self.link_error = exchange, None
        self._on_exchange(exchange)

    async def _follow_commands(self) -> None:
        fresh = self._clock() - self._commanded_s <= self._command_timeout_s
        if self.armed and not fresh and self.device.enabled:
            if self.commanded:
                self.stale_commands += 1
                _log.warning(
                    'no command for %g s: venting; the next command moves the arm again',
                    self._command_timeout_s,
                )
            await self.vent()
        elif self.armed and fresh and not self.device.enabled:
            await self.device.enable()

    def _lose(self, error: str) -> None:
        self.device.close()
        self.link_error = error
        self._disarm(f'link lost: {error}')

    def _fail(self, error: str) -> None:
        self.link_error = error
        self._disarm(error)

    def _disarm(self, reason: str) -> None:
        if self.armed:
            self._armed_at = None
            self._on_disarm(reason)
