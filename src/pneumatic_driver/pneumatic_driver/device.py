"""Base class of pneumatic Modbus devices: connect, verify, exchange, enable, vent.

Set points are written once and never restored: after a reconnection the device stays vented until
`enable`. A vent is pending until a read confirms it; meanwhile no heartbeat is sent, so that the
device's watchdog vents it as well.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

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
from pneumatic_driver.modbus_link import BUSY, Client, ModbusLink, Trace, client_for
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import Link, RegisterMap, Value, Values
from pneumatic_driver.sensor_check import SensorCheck

# Several watchdog times: an emulator's clock runs slow on a busy machine.
_HOLD_TIMEOUT_S = 1.0
_CLAIM_PERIOD_S = 0.05


class Device(ABC):
    """Pneumatic device on its link. Its coroutines must not run concurrently.

    Args:
        register_map: Register map, which includes the link.
        accept_unverified_map: Name of the map's device: permits writing with a map that was never
            verified on the device.
        clock: Time [s] by which answers and readings age; time-outs of the link use the wall
            clock.
        new_client: Creates the client of a link.

    Attributes:
        read_only: True if the map is unverified, so that nothing may be written.
        map: The register map.
        channels: Number of pressures that the device measures and sets.
        enabled: True while the device follows set points.
    """

    CYCLE_REGISTERS: ClassVar[tuple[str, ...]]  # must be in the first poll of the map

    def __init__(
        self,
        register_map: RegisterMap,
        accept_unverified_map: str = '',
        clock: Callable[[], float] = time.monotonic,
        new_client: Callable[[Link, Trace], Client] = client_for,
    ):
        device, link = register_map.device, register_map.link
        poll = register_map.polls[0]
        in_poll = register_map.decode(poll.start, [0] * poll.count)
        echo = [register_map.heartbeat.echo] if register_map.heartbeat else []
        for name in [*self.CYCLE_REGISTERS, *echo]:
            if name not in in_poll:
                raise RegisterMapError(
                    f'register map {device.name!r}: poll {poll.name!r} does not read a register '
                    f'{name!r}: this device needs {list(self.CYCLE_REGISTERS)}'
                )
        self.read_only = not (device.verified or link.local or accept_unverified_map == device.name)
        pressure = register_map.registers['pressure']
        self.map, self.channels = register_map, pressure.count
        self.enabled = False
        # From the first write that may start the device to a read that reports it vented.
        self._may_run = False
        self._modbus = ModbusLink(link, register_map.conventions, clock, new_client)
        valid_pa = pressure.valid and [v * SI_PER_UNIT[pressure.unit] for v in pressure.valid]
        self._sensors = SensorCheck(self.channels, valid_pa)
        self._latched: dict[str, None] = {}  # faults latched by the driver, oldest first
        self._clock = clock
        self._heartbeat = 0
        self._hold: Hold | None = None  # while this host holds a device that has a session
        # Last written values, for interlocks and for bits that share a word.
        self._written: dict[str, float | str | Sequence[float]] = {}

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
        """Connect, verify that the device matches the map, and hold it; its state is unchanged.

        Raises:
            LinkError: If it does not answer or does not match the map.
            HeldError: If another host holds it.
            RefusedError: If it answers with a Modbus exception.
        """
        await self._open()
        try:
            await self.hold(_HOLD_TIMEOUT_S)
        except BaseException:
            self.close()
            raise

    async def hold(self, wait_s: float = 0.0) -> None:
        """Claim the device if its map has a session and this host does not hold it yet.

        Without a session, `wait_s` > 0 checks by the heartbeat that no other host drives the
        device.

        Args:
            wait_s: Longest wait for the end of another host's hold [s].

        Raises:
            HeldError: If another host still holds or drives the device; nothing was changed.
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
        # If another host has claimed it meanwhile, a code of this host would vent it.
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
        # After this time without a new heartbeat the device has vented itself.
        end_s = time.monotonic() + heartbeat.device_timeout_s
        while time.monotonic() < end_s:
            beat = await self._read_register(heartbeat.echo)
            if beat == 0.0:  # value after power-on
                return
            if first not in (None, beat):
                raise HeldError(
                    f'{self.map.device.name} on {self.map.link}: its heartbeat counts, so another '
                    'client drives it: stop that client first'
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
            self._may_run = False  # only a vented device can be claimed by another host
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
        self._sensors.restart()
        self._modbus.close()

    def checked(self, targets_pa: ArrayLike) -> np.ndarray:
        """Return the set points rounded to the device's resolution, shape (channels,) [Pa].

        Raises:
            CommandError: If the number is wrong, or a value is not finite or outside the limits of
                the map.
        """
        targets = np.asarray(targets_pa, dtype=float)
        if targets.shape != (self.channels,):
            raise CommandError(
                f'{targets.size} set points for {self.channels} channels: give one for each'
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
        """Write set points and heartbeat, and read measurements; only read while a vent is pending.

        Args:
            targets_pa: Set points, shape (channels,) [Pa] gauge; None: write none.

        Raises:
            CommandError: If a set point is refused, or the device is not enabled; nothing is
                written.
            LinkError: If the device does not answer, or answers an earlier request. The write is
                not repeated.
            HeldError: If another host has claimed the device meanwhile.
            RefusedError: If the device answers with a Modbus exception.
        """
        if targets_pa is not None and not self.enabled:
            raise CommandError('the device is vented and accepts no set points: enable it first')
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
        """Vent all chambers, connecting if necessary; return the exchange that confirms the vent.

        After an error the vent remains pending: call again.

        Raises:
            LinkError: If the device does not answer or does not report that it is vented.
            RefusedError: If the device refuses the vent or the map is read-only: nothing is vented.
        """
        self._check_may_write()
        self.enabled, self._may_run = False, True
        if not self.connected:
            await self._open()  # venting does not require the hold
        refused: RefusedError | None = None
        try:
            for step in self.map.safe_sequence:
                await self._write_step(step)
        except RefusedError as error:
            refused = error
            if error.code == BUSY:
                self._hold = None  # the device expects another host's codes
        exchange = await self.exchange()
        if not exchange.vented:
            raise refused or self._modbus.failed(
                'the device reports that it is not vented after it was commanded to vent'
            )
        self._may_run = False
        return exchange

    async def clear_faults(self) -> None:
        """Clear the latched faults of the driver and, unless read-only, of the device.

        The device stays vented; a persisting fault is latched again.
        """
        for step in [] if self.read_only else self.map.fault_clear_sequence:
            await self._write_step(step)
        self._latched.clear()
        self._sensors.restart()

    @abstractmethod
    def _rounded(self, targets_pa: np.ndarray) -> np.ndarray:
        """Return the set points rounded to the resolution of the registers [Pa]."""

    @abstractmethod
    async def _cycle(self, targets_pa: np.ndarray | None) -> Exchange:
        """Run one cycle with set points from `_rounded`.

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
        """Latch faults; return all faults latched since the last `clear_faults`."""
        self._latched |= dict.fromkeys(faults)
        return tuple(self._latched)

    def _next_heartbeat(self) -> dict[str, float]:
        if self.map.heartbeat is None:
            return {}
        if self._hold is not None:
            self._heartbeat = self._hold.next_code()
        else:
            self._heartbeat = self._heartbeat % 0xFFFF + 1  # never 0, the value after power-on
        return {self.map.heartbeat.counter: float(self._heartbeat)}

    async def _write_step(self, step: dict[str, Value]) -> None:
        code = self._next_heartbeat() if self._hold is not None else {}
        await self._write_values({**step, **code})

    async def _write_values(self, values: Values) -> None:
        spans = self.map.encode(values, self._written)
        self._written.update(values)
        for address, words in spans:
            await self._modbus.write(address, words)
