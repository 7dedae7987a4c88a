"""Base of every pneumatic device on Modbus: connect, verify, exchange, enable, vent.

No write is ever repeated and no set point restored: after a new connection the device stays vented
until `enable`.
"""

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pymodbus.exceptions import ModbusException

from pneumatic_driver.errors import (
    CommandError,
    HeldError,
    LinkError,
    NoConnectionError,
    RefusedError,
    RegisterMapError,
)
from pneumatic_driver.hold import Hold, name_text, name_words, own_name
from pneumatic_driver.link_client import Client, Trace, client_for
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import Link, RegisterMap, State, Value, Values
from pneumatic_driver.sensor_check import SensorCheck

_log = logging.getLogger(__name__)
_KEPT_FRAMES = 20
_DUMP_PERIOD_S = 5.0
# Time for the hold of a killed host to lapse: several watchdog times, since an emulator's clock is
# slow on a busy machine.
_LAPSE_S = 1.0
_CLAIM_PERIOD_S = 0.05
_BUSY = 6
_EXCEPTIONS = {
    1: 'illegal function',
    2: 'illegal address',
    3: 'illegal value',
    4: 'device failure',
    5: 'acknowledge',
    6: 'device busy',
    8: 'memory parity error',
    10: 'gateway path unavailable',
    11: 'gateway no response',
}


@dataclass(frozen=True)
class Exchange:
    """Result of one cycle; pressures are gauge.

    Attributes:
        at_s: Time of the answer on the device's `clock` [s].
        round_trip_s: Time from request to answer [s].
        pressures_pa: Measured pressures, shape (channels,) [Pa].
        targets_pa: Written set points, rounded to the device's steps, shape (channels,) [Pa]; None
            if none were written.
        running: Whether the device drives its outputs as commanded; False if it is vented, held, or
            commanded by another client.
        faults: Latched faults: the device's own by their names in the register map, and those found
            by the driver.
        halted: Reason why the device does not run or must not go on, in words; '' if there is none.
    """

    at_s: float
    round_trip_s: float
    pressures_pa: np.ndarray
    targets_pa: np.ndarray | None
    running: bool
    faults: tuple[str, ...]
    halted: str


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
        self.frames: deque[str] = deque(maxlen=_KEPT_FRAMES)
        pressure = register_map.registers['pressure']
        valid_pa = (
            None
            if pressure.valid is None
            else [limit * SI_PER_UNIT[pressure.unit] for limit in pressure.valid]
        )
        self._sensors = SensorCheck(channels, valid_pa)
        self._found: dict[str, None] = {}  # faults latched by the driver, oldest first
        self._clock, self._new_client = clock, new_client
        self._client: Client | None = None
        self._heartbeat = 0
        self._hold: Hold | None = None  # while this host holds a device that has a session
        # the values written last, on which interlocks and shared words depend
        self._written: dict[str, float | str | Sequence[float]] = {}
        self._last_good_s: float | None = None
        self._dumped_s = -_DUMP_PERIOD_S

    @property
    def age_s(self) -> float | None:
        """Age of the last good answer [s]; None before the first on this connection."""
        return None if self._last_good_s is None else self._clock() - self._last_good_s

    @property
    def connected(self) -> bool:
        """Whether the connection is open; whether the device answers is told by `age_s`."""
        return self._client is not None and self._client.connected

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
        except (LinkError, RefusedError):
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
                if error.code != _BUSY:
                    raise
                if time.monotonic() >= end_s:
                    raise await self._held() from error
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
        words = await self._read(register.addr, register.words)
        return self.map.decode(register.addr, words)[name]

    async def _held(self) -> HeldError:
        return HeldError(
            f'{self.map.device.name} on {self.map.link} is held by {await self._holder()!r}: stop '
            'that driver first',
            _BUSY,
        )

    async def _open(self) -> None:
        self.close()
        link = self.map.link
        self._client = self._new_client(link, self._record)
        if not await self._client.connect():
            self.close()
            raise NoConnectionError(
                f'{link}: no connection within {link.timeout_s:g} s: is the device powered, and '
                'is the address right?'
            )
        try:
            await self._verify()
        except (LinkError, RefusedError):
            self.close()
            raise

    async def _verify(self) -> None:
        identity, link = self.map.identity, self.map.link
        deadline_s = time.monotonic() + (link.boot_s if link.kind == 'rtu' else 0.0)
        if identity is None:
            poll = self.map.polls[0]
            words = await self._first_answer(poll.start, poll.count, deadline_s)
            self._check_plausible(self.map.decode(poll.start, words))
            return
        register = self.map.registers[identity.id_register]
        words = await self._first_answer(register.addr, register.words, deadline_s)
        found = self.map.decode(register.addr, words)[identity.id_register]
        if found != identity.value:
            raise LinkError(
                f'{link}: the device says map id {found:g}, map {self.map.device.name!r} is for '
                f'{identity.value:g}: use the map of this device, or flash the firmware of this map'
            )

    def _check_plausible(self, state: State) -> None:
        """Check a device without an identity: its set points must be within their ranges."""
        for name, register in self.map.registers.items():
            if name not in state or register.range is None:
                continue
            low, high = (limit * SI_PER_UNIT[register.unit] for limit in register.range)
            values = np.atleast_1d(state[name])
            if not np.all((low <= values) & (values <= high)):
                raise LinkError(
                    f'{self.map.link}: register {name!r} holds {values}, outside its range '
                    f'[{low:g}, {high:g}] in SI units: map {self.map.device.name!r} is not the map '
                    'of this device'
                )

    async def _first_answer(self, address: int, count: int, deadline_s: float) -> list[int]:
        while True:
            try:
                return await self._read(address, count)
            except LinkError:
                if time.monotonic() >= deadline_s or not self.connected:
                    raise
                await asyncio.sleep(self.map.link.timeout_s)

    def close(self) -> None:
        """Close the connection; an enabled device is then vented by its watchdog, if any."""
        self.enabled = False
        self._last_good_s = None
        self._hold = None
        self._sensors.forget()
        if self._client is not None:
            self._client.close()
            self._client = None

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
            if self._hold is None or error.code != _BUSY:
                raise
            self._hold, self.enabled = None, False
            raise await self._held() from error
        self._last_good_s = self._clock()
        return exchange

    async def enable(self) -> None:
        """Let the device follow set points, from ambient pressure.

        Raises:
            RefusedError: If a fault is latched, or the map may not be used for writing.
            LinkError: If the device does not answer.
        """
        self._check_may_write()
        await self.hold()
        faults = (await self.exchange()).faults
        if faults:
            raise RefusedError(
                f'latched {", ".join(faults)}: find the cause, then clear the faults'
            )
        for step in self.map.enable_sequence:
            await self._write_step(step)
        self.enabled = True

    async def vent(self) -> None:
        """Vent every chamber and check that the device reports it; connect first if necessary.

        Raises:
            LinkError: If the device does not answer, or still runs; then its own watchdog vents it.
            RefusedError: If the map may not be used for writing: nothing is vented.
        """
        self.enabled = False
        self._check_may_write()
        if not self.connected:
            await self._open()  # a device can be vented without holding it
        for step in self.map.safe_sequence:
            await self._write_step(step)
        if (await self.exchange()).running:
            raise self._failed(
                'the device says that it still drives its outputs after it was told to vent'
            )

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
        """Run one cycle with set points of `_rounded`."""

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
            await self._write(address, words)

    def _wire(self, address: int) -> int:
        return address - self.map.conventions.address_base

    async def _read(self, address: int, count: int) -> list[int]:
        holding = self.map.conventions.read_fc == 3
        method = 'read_holding_registers' if holding else 'read_input_registers'
        return await self._request(method, address=self._wire(address), count=count)

    async def _write(self, address: int, values: list[int]) -> None:
        if self.map.conventions.write_fc == 6:
            await self._request('write_register', address=self._wire(address), value=values[0])
        else:
            await self._request('write_registers', address=self._wire(address), values=values)

    async def _request(self, method: str, **arguments: int | list[int]) -> list[int]:
        if not self.connected:
            raise self._failed('not connected')
        try:
            answer = await getattr(self._client, method)(
                device_id=self.map.link.unit_id, **arguments
            )
        except ModbusException as error:
            raise self._failed(' '.join(str(error).split())) from error
        if answer.isError():
            code = answer.exception_code
            raise RefusedError(
                f'{self.map.link}: {method} {arguments}: the device answers exception {code} '
                f'({_EXCEPTIONS.get(code, "unknown")}); nothing was changed',
                code,
            )
        return answer.registers

    def _failed(self, what: str) -> LinkError:
        now_s = time.monotonic()
        # a device that was never reached has left no frames
        if self._last_good_s is not None and now_s - self._dumped_s > _DUMP_PERIOD_S:
            self._dumped_s = now_s
            _log.warning('%s: %s', self.map.link, what)
            _log.debug('last frames of %s: %s', self.map.link, ' | '.join(self.frames))
        age = 'none yet' if self.age_s is None else f'{1e3 * self.age_s:.0f} ms ago'
        return LinkError(f'{self.map.link}: {what} (last good answer {age})')

    def _record(self, sending: bool, data: bytes) -> bytes:
        self.frames.append(f'{time.monotonic():.3f} {"to" if sending else "from"} {data.hex(" ")}')
        return data
