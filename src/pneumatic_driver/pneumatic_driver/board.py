"""One valve board over Modbus TCP or RTU: connect and verify, exchange set points for measurements, enable, vent.

Nothing here retries a write, and nothing brings a set point back: after a new connection the board is vented until `enable`.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pymodbus.client import AsyncModbusSerialClient, AsyncModbusTcpClient
from pymodbus.constants import ExcCodes
from pymodbus.exceptions import ModbusException

from pneumatic_driver.errors import CommandError, LinkError, RefusedError, RegisterMapError
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import RegisterMap, Value

_log = logging.getLogger(__name__)
_NEEDED = ('pressure', 'target', 'drive', 'status', 'faults', 'uptime', 'supply', 'overruns')
_KEPT_FRAMES = 20


@dataclass(frozen=True)
class Exchange:
    """What one cycle brought; pressures are gauge.

    Attributes:
        at_s: When the answer came, on the monotonic clock [s].
        round_trip_s: From request to answer [s].
        pressures_pa: Measured, shape (channels,) [Pa].
        targets_pa: Set points that were written, rounded to the board's steps, shape (channels,) [Pa]; None if none were.
        drives_pa: What the board asks of its valves now, after its slew limit, shape (channels,) [Pa].
        running: Whether the board follows set points; False: vented or held.
        faults: Latched faults, by the names in the register map.
        uptime_s: Since the board started [s].
        supply_pa: Supply pressure [Pa].
        overruns: Passes of the board's own loop that took too long.
    """

    at_s: float
    round_trip_s: float
    pressures_pa: np.ndarray
    targets_pa: np.ndarray | None
    drives_pa: np.ndarray
    running: bool
    faults: tuple[str, ...]
    uptime_s: float
    supply_pa: float
    overruns: int


class Board:
    """A valve board on its link. Coroutines of one board must not run at the same time.

    Args:
        register_map: What its registers mean and where it is.
        accept_unverified_map: Name of the map's device, to write with a map that was never checked against it.
    """

    def __init__(self, register_map: RegisterMap, accept_unverified_map: str = ''):
        missing = [name for name in _NEEDED if name not in register_map.registers]
        if missing:
            raise RegisterMapError(
                f'register map {register_map.device.name!r} has no register {missing[0]!r}: a valve board needs {list(_NEEDED)}'
            )
        device, link = register_map.device, register_map.link
        self.read_only = not (device.verified or link.local or accept_unverified_map == device.name)
        self.map = register_map
        self.channels = register_map.registers['target'].count
        self.enabled = False
        self.frames: deque[str] = deque(maxlen=_KEPT_FRAMES)
        self._pa_per_unit = SI_PER_UNIT[register_map.registers['target'].unit]
        self._client: AsyncModbusTcpClient | AsyncModbusSerialClient | None = None
        self._heartbeat = 0
        self._written: dict[str, Value] = {}  # by the sequences: interlocks and shared words depend on it
        self._last_good_s: float | None = None

    @property
    def age_s(self) -> float | None:
        """Age of the last good answer [s]; None before the first on this connection."""
        return None if self._last_good_s is None else time.monotonic() - self._last_good_s

    @property
    def connected(self) -> bool:
        """Whether there is a connection; it says nothing about the board at its other end, see `age_s`."""
        return self._client is not None and self._client.connected

    async def connect(self) -> None:
        """Connect and check that the board speaks this map. It is left as it is: vented, if nobody else drives it.

        Raises:
            LinkError: If it does not answer or speaks another map.
        """
        self.close()
        link = self.map.link
        options = {'timeout': link.timeout_s, 'retries': 0, 'reconnect_delay': 0, 'trace_packet': self._record}
        if link.kind == 'tcp':
            self._client = AsyncModbusTcpClient(link.host, port=link.port, **options)
        else:
            self._client = AsyncModbusSerialClient(
                link.device, baudrate=link.baudrate, parity=link.parity, stopbits=link.stopbits, **options
            )
        if not await self._client.connect():
            self.close()
            raise LinkError(f'{link}: no connection within {link.timeout_s:g} s: is the board powered, and is the address right?')
        try:
            await self._verify()
        except (LinkError, RefusedError):
            self.close()
            raise

    async def _verify(self) -> None:
        identity, link = self.map.identity, self.map.link
        if identity is None:
            return
        found = await self._identity(time.monotonic() + (link.boot_s if link.kind == 'rtu' else 0.0))
        if found != identity.value:
            raise LinkError(
                f'{link}: the board says map id {found:g}, map {self.map.device.name!r} is for {identity.value:g}: '
                f'use the map of this board, or flash the firmware of this map'
            )

    async def _identity(self, deadline_s: float) -> float:
        name = self.map.identity.id_register
        register = self.map.registers[name]
        while True:
            try:
                words = await self._read(register.addr, register.words)
                return self.map.decode(register.addr, words)[name]
            except LinkError:
                if time.monotonic() >= deadline_s or not self.connected:
                    raise
                await asyncio.sleep(self.map.link.timeout_s)

    def close(self) -> None:
        """Close the connection; the board's own watchdog vents it if it was enabled."""
        self.enabled = False
        self._last_good_s = None
        if self._client is not None:
            self._client.close()
            self._client = None

    def checked(self, targets_pa: Sequence[float]) -> np.ndarray:
        """Set points as the board can hold them: rounded to its steps.

        Raises:
            CommandError: If one is not finite or outside the map's limits, or their number is wrong.
        """
        targets_pa = np.asarray(targets_pa, dtype=float)
        if targets_pa.shape != (self.channels,):
            raise CommandError(f'{targets_pa.size} set points: this board has {self.channels} channels, give one for each')
        low_pa, high_pa = (1e3 * limit for limit in self.map.limits.pressure_kpa)
        for channel, target_pa in enumerate(targets_pa):
            if not (np.isfinite(target_pa) and low_pa <= target_pa <= high_pa):
                raise CommandError(f'channel {channel}: {target_pa:g} Pa is outside [{low_pa:g}, {high_pa:g}] Pa: nothing was written')
        register = self.map.registers['target']
        return np.array([register.si(register.raw(target_pa)) for target_pa in targets_pa])

    async def exchange(self, targets_pa: Sequence[float] | None = None) -> Exchange:
        """One cycle: write set points and heartbeat, read everything back. None: only read, the board stays as it is.

        Raises:
            CommandError: If a set point is refused, or the board is not enabled; nothing is written.
            LinkError: If no answer, or one to an earlier request, comes back. The write is not repeated.
            RefusedError: If the board answers with a Modbus exception.
        """
        poll, applied_pa, spans = self.map.polls[0], None, []
        if targets_pa is not None:
            if not self.enabled:
                raise CommandError('the board is vented and takes no set points: enable it first')
            applied_pa = self.checked(targets_pa)
            spans = self.map.encode({'target': list(applied_pa / self._pa_per_unit), **self._next_heartbeat()})
        started_s = time.monotonic()
        if len(spans) == 1 and self.map.conventions.cycle_fc == 23:
            words = await self._request(
                'readwrite_registers',
                read_address=self._wire(poll.start),
                read_count=poll.count,
                write_address=self._wire(spans[0][0]),
                values=spans[0][1],
            )
        else:
            for address, values in spans:
                await self._write(address, values)
            words = await self._read(poll.start, poll.count)
        state = self.map.decode(poll.start, words)
        if spans and self.map.heartbeat is not None and state[self.map.heartbeat.echo] != self._heartbeat:
            raise self._failed(f'the answer is to an earlier request: heartbeat {state[self.map.heartbeat.echo]:g}, sent {self._heartbeat}')
        self._last_good_s = time.monotonic()
        return Exchange(
            at_s=self._last_good_s,
            round_trip_s=self._last_good_s - started_s,
            pressures_pa=np.array(state['pressure']),
            targets_pa=applied_pa,
            drives_pa=np.array(state['drive']),
            running=state['status']['run'],
            faults=tuple(name for name, latched in state['faults'].items() if latched),
            uptime_s=state['uptime'],
            supply_pa=state['supply'],
            overruns=int(state['overruns']),
        )

    async def enable(self) -> None:
        """Let the board follow set points, from ambient pressure.

        Raises:
            RefusedError: If a fault is latched, or the map may not be used for writing.
            LinkError: If the board does not answer.
        """
        if self.read_only:
            device = self.map.device
            raise RefusedError(
                f'register map {device.name!r} was never verified on the device ({device.source}) and {self.map.link} is '
                f'not this machine: it may only read; check the map, or set accept_unverified_map:={device.name}'
            )
        faults = (await self.exchange()).faults
        if faults:
            raise RefusedError(f'the board has latched {", ".join(faults)}: find the cause, then clear the faults')
        for step in self.map.enable_sequence:
            await self._write_step(step)
        self.enabled = True

    async def vent(self) -> None:
        """Vent every chamber, connecting first if there is no connection, and see that the board says so.

        Raises:
            LinkError: If the board does not answer, or still runs; then its own watchdog vents it.
        """
        self.enabled = False
        if self.read_only:
            return
        if not self.connected:
            await self.connect()
        for step in self.map.safe_sequence:
            await self._write_step(step)
        if (await self.exchange()).running:
            raise self._failed('the board says that it still follows set points after it was told to vent')

    async def clear_faults(self) -> None:
        """Give the key that clears latched faults; the board stays vented, and latches again what still holds."""
        for step in self.map.fault_clear_sequence:
            await self._write_step(step)

    def _next_heartbeat(self) -> dict[str, float]:
        if self.map.heartbeat is None:
            return {}
        self._heartbeat = (self._heartbeat + 1) % 0x10000
        return {self.map.heartbeat.counter: float(self._heartbeat)}

    async def _write_step(self, step: dict[str, Value]) -> None:
        spans = self.map.encode(step, self._written)
        self._written |= step
        for address, values in spans:
            await self._write(address, values)

    def _wire(self, address: int) -> int:
        return address - self.map.conventions.address_base

    async def _read(self, address: int, count: int) -> list[int]:
        method = {3: 'read_holding_registers', 4: 'read_input_registers'}[self.map.conventions.read_fc]
        return await self._request(method, address=self._wire(address), count=count)

    async def _write(self, address: int, values: list[int]) -> None:
        if self.map.conventions.write_fc == 6:
            await self._request('write_register', address=self._wire(address), value=values[0])
        else:
            await self._request('write_registers', address=self._wire(address), values=values)

    async def _request(self, method: str, **arguments) -> list[int]:
        if not self.connected:
            raise self._failed('not connected')
        try:
            answer = await getattr(self._client, method)(device_id=self.map.link.unit_id, **arguments)
        except ModbusException as error:
            raise self._failed(' '.join(str(error).split())) from error
        if answer.isError():
            code = answer.exception_code
            name = ExcCodes(code).name.lower().replace('_', ' ') if code in [c.value for c in ExcCodes] else 'unknown'
            raise RefusedError(f'{self.map.link}: {method} {arguments}: the board answers exception {code} ({name}); nothing was changed')
        return answer.registers

    def _failed(self, what: str) -> LinkError:
        if self._last_good_s is not None:  # a board that was never reached has left no trace
            _log.warning('%s: %s; last frames: %s', self.map.link, what, ' | '.join(self.frames))
        age = 'none yet' if self.age_s is None else f'{1e3 * self.age_s:.0f} ms ago'
        return LinkError(f'{self.map.link}: {what} (last good answer {age})')

    def _record(self, sending: bool, data: bytes) -> bytes:
        self.frames.append(f'{time.monotonic():.3f} {"to" if sending else "from"} {data.hex(" ")}')
        return data
