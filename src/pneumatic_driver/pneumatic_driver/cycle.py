"""One cycle with a device: commands, stale commands, link loss, faults. It owns no thread.

The device is driven only while it is armed and commands arrive. It is vented when commands stop,
the link is lost, or it reports a fault or deviates from its commands. Link loss and faults disarm:
nothing moves again before `arm`. Old set points are never replayed. A vent is repeated in every
cycle until a read confirms it.
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

# Time without a good answer after which the link is lost: one request over TCP may time out, a
# second may not. By then the watchdog of the device has vented it. A shorter time would take a busy
# machine for a broken cable.
LINK_TIMEOUT_S = 0.4


class Cycle:
    """State machine of a driven device. Its coroutines must not run concurrently.

    Args:
        device: The device; nothing else uses it.
        command_timeout_s: Time without a command after which the device is vented [s].
        on_exchange: Called after every exchange.
        on_disarm: Called with the reason when the cycle disarms by itself.
        clock: Clock of the device [s], by which commands age.

    Attributes:
        commanded: True from the first command until commands end at ambient pressure.
        latest: Result of the last exchange; None before the first.
        stale_commands: Number of vents because commands stopped at another pressure than ambient.
        link_error: Error of the link; None without one.
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
        # Counts of vents. The device is armed while none was requested since `arm` began: only
        # `arm` can arm it, and a coroutine that was under way cannot undo a vent.
        self._asked = self._confirmed = 0
        self._armed_at: int | None = None
        self._targets_pa = np.zeros(device.channels)
        self._commanded_s = 0.0
        self.commanded = False
        self.latest: Exchange | None = None
        self.stale_commands = 0
        self.link_error: str | None = None

    @property
    def armed(self) -> bool:
        """True if commands move the arm."""
        return self._armed_at == self._asked

    @property
    def vent_pending(self) -> bool:
        """True from a request to vent until a read confirms that the device is vented."""
        return self._asked != self._confirmed or self.device.vent_pending

    @property
    def stale(self) -> bool:
        """True if armed but vented because commands have stopped."""
        return self.armed and not self.device.enabled

    def ask_vent(self) -> None:
        """Disarm now, from any thread, and vent in every cycle until that is confirmed."""
        if not self.device.read_only:
            self._asked += 1

    def command(self, targets_pa: ArrayLike) -> np.ndarray:
        """Set the set points of the next cycle, from any thread.

        Args:
            targets_pa: Set point of each channel [Pa] gauge, shape (channels,).

        Returns:
            The set points rounded to the device's resolution, shape (channels,) [Pa].

        Raises:
            CommandError: If one is refused or the device is not armed; nothing changes.
        """
        applied_pa = self.device.checked(targets_pa)
        if not self.armed:
            raise CommandError('the arm is vented: activate the driver before commanding pressures')
        self._targets_pa, self._commanded_s, self.commanded = applied_pa, self._clock(), True
        return applied_pa

    async def connect(self) -> None:
        """Connect, verify, hold and vent the device.

        Raises:
            LinkError: If the device does not answer or does not match the map.
            HeldError: If another host holds it; that host is not disturbed.
        """
        await self.device.connect()
        if not self.device.read_only:
            await self.vent()

    async def arm(self) -> None:
        """Enable the device, from ambient pressure.

        A latched fault of the watchdog (silence of the host) is cleared; others are not.

        Raises:
            LinkError: If the device does not answer, or a pending vent cannot be confirmed.
            RefusedError: If another fault is latched, the map is read-only, or the device is vented
                meanwhile.
        """
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
        """Vent the device; return the confirming exchange. After an error the vent is pending."""
        asked = self._asked
        self.latest = await self.device.vent()
        self._confirmed = asked
        return self.latest

    async def clear_faults(self) -> None:
        """Disarm and vent the device, clear its latched faults, and read it."""
        if not self.device.read_only:
            self.ask_vent()
            await self.vent()
        await self.device.clear_faults()
        self.latest = await self.device.exchange()

    async def run(self) -> bool:
        """Run one cycle; reconnect after link loss. Return True if there is or was a link.

        No error leaves this method: the device is vented and, if necessary, reconnected.
        """
        connected = self.device.connected
        try:
            await self._run()
        except HeldError as error:
            self.device.close()  # a vent would stop the host that holds the device
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
        """Disarm, vent and close after an unexpected error."""
        _log.critical('the exchange with the device failed', exc_info=error)
        self._fail(f'the exchange with the device failed: {error!r}')
        if not self.device.read_only:
            try:
                await self.vent()
            except Exception as vent_error:
                _log.error('venting failed and is repeated: %s', vent_error)
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
            if self.commanded and np.any(self._targets_pa):
                self.stale_commands += 1
                _log.warning(
                    'no command for %g s: venting; the next command moves the arm again',
                    self._command_timeout_s,
                )
            elif self.commanded:  # a source that ended on purpose
                self.commanded = False
                _log.info('commands have ended at ambient pressure: venting until the next one')
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
