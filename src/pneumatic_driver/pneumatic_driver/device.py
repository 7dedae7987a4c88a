"""Base of every pneumatic device on Modbus: connect, verify, exchange, enable, vent.

No set point is ever written twice and none restored: after a new connection the device stays vented
until `enable`. A vent is pending until a read has confirmed it. Meanwhile no heartbeat is sent, so
that the device's own watchdog vents it, too.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pneumatic_driver.errors import (
    CommandError,
    HeldError,
    RefusedError,
    RegisterMapError,
)
from pneumatic_driver.exchange import Exchange
from pneumatic_driver.hold import Hold, name_text, name_words, own_name
from pneumatic_driver.identity import verify
from pneumatic_driver.link_client import Client, Trace, client_for
from pneumatic_driver.modbus_link import BUSY, ModbusLink
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import Link, RegisterMap, Value, Values
from pneumatic_driver.sensor_check import SensorCheck

# Time for the hold of a killed host to lapse: several watchdog times, since an emulator's clock is
# slow on a busy machine.
_LAPSE_S = 1.0
_CLAIM_PERIOD_S = 0.05


class Device(ABC):
    """A device on its link. Coroutines of one device must not run at the same time.

    Args:
        register_map: Meaning of its registers, and its link.
        accept_unverified_map: Name of the map's device: permits writing with a map that was never
            verified on the device.
        read: Registers that every cycle reads: the map must have them in its first poll.
        channels: Number of pressures that it measures and sets.
        clock: Returns the time [s] on which answers and readings grow old; time-outs of the link
            stay on the wall clock.
        new_client: Returns the client of a link.
    """

    def __init__(
        self,
        register_map: RegisterMap,
        accept_unverified_map: str,
        read: Sequence[str],
        channels: int,
        clock: Callable[[], float] = time.monotonic,
        new_client: Callable[[Link, Trace], Client] = client_for,
    ):
        device, link = register_map.device, register_map.link
        poll = register_map.polls[0]
        in_poll = register_map.decode(poll.start, [0] * poll.count)
        for name in [*read, *([register_map.heartbeat.echo] if register_map.heartbeat else [])]:
            if name not in in_poll:
                raise RegisterMapError(
                    f'register map {device.name!r}: poll {poll.name!r} does not read a register '
                    f'{name!r}: this device needs {list(read)}'
                )
        self.read_only = not (device.verified or link.local or accept_unverified_map == device.name)
        self.map, self.channels = register_map, channels
        self.enabled = False
        self._may_run = False  # from the first write that may start it to a read that it is vented
        self._modbus = ModbusLink(link, register_map.conventions, clock, new_client)
        pressure = register_map.registers['pressure']
        valid_pa = (
            None
            if pressure.valid is None
            else [limit * SI_PER_UNIT[pressure.unit] for limit in pressure.valid]
        )
        self._sensors = SensorCheck(channels, valid_pa)
        self._found: dict[str, None] = {}  # faults latched by the driver, oldest first
        self._clock = clock
        self._heartbeat = 0
        self._hold: Hold | None = None  # while this host holds a device that has a session
        # the values written last, on which interlocks and shared words depend
        self._written: dict[str, float | str | Sequence[float]] = {}

    @property
    def frames(self) -> Sequence[str]:
        """The last frames, sent and received, in words."""
        return self._modbus.frames

    @property
    def age_s(self) -> float | None:
        """Age of the last good answer [s]; None before the first on this connection."""
        return self._modbus.age_s

    @property
    def connected(self) -> bool:
        """True if the connection is open; `age_s` shows if the device answers."""
        return self._modbus.connected

    @property
    def vent_pending(self) -> bool:
        """True from a request to vent until a read confirms that the device is vented."""
        return self._may_run and not self.enabled

    async def connect(self) -> None:
        """Connect, check that the device is one of this map, and hold it; its state is not changed.

        Raises:
            LinkError: If it does not answer or is of another map.
            HeldError: If another host holds it.
            RefusedError: If it answers with a Modbus exception.
        """
        await self._open()
        try:
            await self.hold(_LAPSE_S)
        except BaseException:
            self.close()
            raise

    async def hold(self, wait_s: float = 0.0) -> None:
        """Claim the device if its map has a session and this host does not hold it yet.

        A device without a session cannot be held; if `wait_s` is given, check by its heartbeat that
        no other host drives it.

        Args:
            wait_s: Longest time to wait for the end of another host's hold [s].

        Raises:
            HeldError: If another host still holds it, or drives it. Nothing was changed.
            LinkError: If the device does not answer.
        """
        session, heartbeat = self.map.session, self.map.heartbeat
        if self.read_only:
            return
        if session is None or heartbeat is None:  # a session needs a heartbeat
            if wait_s:
                await self._check_not_driven()
            return
        silent = self._hold is not None and (self.age_s or 0.0) > heartbeat.device_timeout_s
        # Another host may have claimed it meanwhile; a code of ours would vent it.
        if silent and await self._holder() != own_name():
            self._hold = None
        end_s, words = time.monotonic() + wait_s, self.map.registers[session.holder].count
        while self._hold is None:
            hold = Hold()
            try:
                await self._write_values(
                    {session.key: hold.key, session.holder: name_words(own_name(), words)}
                )
                self._hold = hold
            except RefusedError as error:
                if error.code != BUSY:
                    raise
                if time.monotonic() >= end_s:
                    raise self._held(await self._holder()) from error
                await asyncio.sleep(_CLAIM_PERIOD_S)

    async def _check_not_driven(self) -> None:
        heartbeat, first = self.map.heartbeat, None
        if heartbeat is None:
            return
        # A heartbeat that stands still for longer has vented the device.
        end_s = time.monotonic() + heartbeat.device_timeout_s
        while time.monotonic() < end_s:
            beat = await self._read_register(heartbeat.echo)
            if beat == 0.0:  # its value after a start
                return
            if first not in (None, beat):
                raise HeldError(
                    f'{self.map.device.name} on {self.map.link}: another client drives it, its '
                    'heartbeat counts: stop that first'
                )
            first = beat
            await asyncio.sleep(_CLAIM_PERIOD_S)

    async def _holder(self) -> str:
        assert self.map.session is not None  # only devices with a session have a holder
        return name_text(await self._read_register(self.map.session.holder))

    async def _read_register(self, name: str) -> Any:
        register = self.map.registers[name]
        words = await self._modbus.read(register.addr, register.words)
        return self.map.decode(register.addr, words)[name]

    def _held(self, holder: str) -> HeldError:
        if holder != own_name():
            self._may_run = False  # another can hold it only after it was vented
        return HeldError(
            f'{self.map.device.name} on {self.map.link} is held by {holder!r}: stop that driver '
            'first',
            BUSY,
        )

    async def _open(self) -> None:
        self.close()
        try:
            await self._modbus.open()
            await verify(self.map, self._modbus)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; an enabled device is then vented by its watchdog, if any."""
        self.enabled = False
        self._hold = None
        self._sensors.forget()
        self._modbus.close()

    def checked(self, targets_pa: ArrayLike) -> np.ndarray:
        """Return the set points rounded to the device's steps, shape (channels,) [Pa].

        Raises:
            CommandError: If one is not finite or outside the map's limits, or their number is
                wrong.
        """
        targets = np.asarray(targets_pa, dtype=float)
        if targets.shape != (self.channels,):
            raise CommandError(
                f'{targets.size} set points: channels of this device: {self.channels}, give '
                'one for each'
            )
        low_pa, high_pa = (1e3 * limit for limit in self.map.limits.pressure_kpa)
        for channel, target_pa in enumerate(targets.tolist()):
            if not low_pa <= target_pa <= high_pa:
                raise CommandError(
                    f'channel {channel}: {target_pa:g} Pa is outside [{low_pa:g}, {high_pa:g}] '
                    'Pa: nothing was written'
                )
        return self._rounded(targets)

    async def exchange(self, targets_pa: ArrayLike | None = None) -> Exchange:
        """Run one cycle: write set points and heartbeat, read measurements.

        While a vent is pending, only read.

        Args:
            targets_pa: Set points, shape (channels,) [Pa] gauge; None: leave those of the device.

        Raises:
            CommandError: If a set point is refused, or the device is not enabled; nothing is
                written.
            LinkError: If there is no answer, or one to an earlier request. The write is not
                repeated.
            HeldError: If another host has claimed it meanwhile.
            RefusedError: If the device answers with a Modbus exception.
        """
        if targets_pa is not None and not self.enabled:
            raise CommandError('the device is vented and takes no set points: enable it first')
        try:
            exchange = await self._cycle(None if targets_pa is None else self.checked(targets_pa))
        except RefusedError as error:
            if self._hold is None or error.code != BUSY:
                raise
            self._hold, self.enabled = None, False
            raise self._held(await self._holder()) from error
        self._modbus.heard()
        return exchange

    async def enable(self) -> None:
        """Let the device follow set points, from ambient pressure.

        Raises:
            RefusedError: If a fault is latched, or the map may not be used for writing.
            LinkError: If the device does not answer, or a vent is pending.
        """
        self._check_may_write()
        await self.hold()
        faults = (await self.exchange()).faults
        if faults:
            raise RefusedError(
                f'latched {", ".join(faults)}: find the cause, then clear the faults'
            )
        if self.vent_pending:
            raise self._modbus.failed('the device is not vented: vent it first')
        self._may_run = True
        for step in self.map.enable_sequence:
            await self._write_step(step)
        self.enabled = True

    async def vent(self) -> Exchange:
        """Vent every chamber; connect first if necessary. Return the read that confirms it.

        After an error the vent is pending: repeat it.

        Raises:
            LinkError: If the device does not answer, or is not vented.
            RefusedError: If the device refuses it, or the map may not be used for writing: nothing
                is vented.
        """
        self._check_may_write()
        self.enabled, self._may_run = False, True
        if not self.connected:
            await self._open()  # a device can be vented without holding it
        refused: RefusedError | None = None
        try:
            for step in self.map.safe_sequence:
                await self._write_step(step)
        except RefusedError as error:
            refused = error
            if error.code == BUSY:
                self._hold = None  # the device does not expect the codes of this host
        exchange = await self.exchange()
        if not exchange.vented:
            raise refused or self._modbus.failed(
                'the device reports that it is not vented after it was commanded to vent'
            )
        self._may_run = False
        return exchange

    async def clear_faults(self) -> None:
        """Clear the driver's latched faults, and the device's if its map may be used for writing.

        The device stays vented; a fault that persists is latched again.
        """
        for step in [] if self.read_only else self.map.fault_clear_sequence:
            await self._write_step(step)
        self._found.clear()
        self._sensors.forget()

    @abstractmethod
    def _rounded(self, targets_pa: np.ndarray) -> np.ndarray:
        """Return the set points rounded to the steps of the device's registers [Pa]."""

    @abstractmethod
    async def _cycle(self, targets_pa: np.ndarray | None) -> Exchange:
        """Run one cycle with set points of `_rounded`.

        Set `_may_run` if the device is not vented and this host has started it.
        """

    def _check_may_write(self) -> None:
        if self.read_only:
            device = self.map.device
            raise RefusedError(
                f'register map {device.name!r} was never verified on the device ({device.source}) '
                f'and {self.map.link} is not this machine: it may only read; check the map, or set '
                f'accept_unverified_map:={device.name}'
            )

    def _latch(self, faults: Sequence[str]) -> tuple[str, ...]:
        """Latch these faults; return all that were found since the last `clear_faults`."""
        self._found |= dict.fromkeys(faults)
        return tuple(self._found)

    def _next_heartbeat(self) -> dict[str, float]:
        if self.map.heartbeat is None:
            return {}
        if self._hold is not None:
            self._heartbeat = self._hold.next_code()
        else:
            self._heartbeat = self._heartbeat % 0xFFFF + 1  # never 0, the value after a start
        return {self.map.heartbeat.counter: float(self._heartbeat)}

    async def _write_step(self, step: dict[str, Value]) -> None:
        code = self._next_heartbeat() if self._hold is not None else {}
        await self._write_values({**step, **code})

    async def _write_values(self, values: Values) -> None:
        spans = self.map.encode(values, self._written)
        self._written.update(values)
        for address, words in spans:
            await self._modbus.write(address, words)
