"""Register maps of Modbus devices as YAML files; one schema for TCP and RTU.

A map holds addresses, types, scales, limits, and the sequences that enable and vent the device.
Numbers in the file and for `encode` are in the register's `unit`; `decode` returns SI units
(gauge). Unknown or missing keys, overlaps and values that a register cannot hold are refused.
"""

import importlib.resources
import ipaddress
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from pneumatic_driver.errors import RegisterMapError
from pneumatic_driver.register import SI_PER_UNIT, Address, Count, Name, Pair, Register, Typed
from soft_arm_io.yaml_file import load_yaml

Value = float | str | list[float]
Values = Mapping[str, float | str | Sequence[float]]  # by register
State = dict[str, Any]  # by register: a number, a list of numbers, or {flag: bool}


class Device(Typed):
    """Device of the map; `verified` if the map was checked on the device itself."""

    name: Name
    vendor: str
    verified: bool
    source: str


class TcpLink(Typed):
    """Modbus TCP."""

    kind: Literal['tcp']
    host: str
    port: Annotated[int, Field(ge=1, le=65535)]
    unit_id: Annotated[int, Field(ge=0, le=255)]
    timeout_s: Annotated[float, Field(gt=0, le=1)]

    @property
    def local(self) -> bool:
        """True if the device is on this machine: an emulator."""
        if self.host == 'localhost':
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:  # host name of any machine
            return False

    def __str__(self) -> str:
        return f'tcp {self.host}:{self.port} unit {self.unit_id}'


class RtuLink(Typed):
    """Modbus RTU on a serial port.

    Opening the port resets many boards; `boot_s` is their longest boot time.
    """

    kind: Literal['rtu']
    device: str
    baudrate: Annotated[int, Field(ge=1200, le=2_000_000)]
    parity: Literal['N', 'E', 'O']
    stopbits: Literal[1, 2]
    unit_id: Annotated[int, Field(ge=1, le=247)]
    timeout_s: Annotated[float, Field(gt=0, le=1)]
    boot_s: Annotated[float, Field(ge=0, le=5)] = 2.5
    local: ClassVar[bool] = False

    def __str__(self) -> str:
        return f'rtu {self.device} {self.baudrate} baud unit {self.unit_id}'


Link = TcpLink | RtuLink


class Conventions(Typed):
    """Addressing, word order and function codes; `cycle_fc` 23 writes and reads in one request."""

    address_base: Literal[0, 1]
    word_order: Literal['big', 'little']
    read_fc: Literal[3, 4]
    write_fc: Literal[6, 16]
    cycle_fc: Literal[23] | None = None


class Limits(Typed):
    """Limits of the pressures that may be commanded."""

    pressure_kpa: Pair
    slew_kpa_s: Annotated[float, Field(gt=0)]

    @field_validator('pressure_kpa')
    @classmethod
    def _ordered(cls, pair: Pair) -> Pair:
        if not pair[0] < pair[1]:
            raise ValueError(f'{list(pair)} kPa: the first must be smaller than the second')
        return pair


class Poll(Typed):
    """Block of consecutive registers that is read at a fixed rate."""

    name: Name
    start: Address
    count: Count
    rate_hz: Annotated[float, Field(gt=0, le=200)]

    def covers(self, register: Register) -> bool:
        """Return True if the whole register lies in the block."""
        end = self.start + self.count
        return self.start <= register.addr and register.addr + register.words <= end


class Heartbeat(Typed):
    """Register that the host changes, and its echo; without changes the device vents."""

    counter: Name
    echo: Name
    device_timeout_s: Annotated[float, Field(gt=0)]


class Identity(Typed):
    """Register and value that identify a device of this map."""

    id_register: Name
    value: float


class Session(Typed):
    """Registers of a host's claim (see `hold.py`): two words of key and the holder's name.

    They are written as one block. While a host holds the device, each of its writes carries the
    next code in the heartbeat's counter.
    """

    key: Name
    holder: Name


class Interlock(Typed):
    """Registers of which at most one may differ from its safe value."""

    never_both: Annotated[list[Name], Field(min_length=2)]


class RegisterMap(Typed):
    """Validated register map."""

    device: Device
    link: Annotated[Link, Field(discriminator='kind')]
    conventions: Conventions
    limits: Limits
    registers: dict[Name, Register]
    polls: Annotated[list[Poll], Field(min_length=1)]
    heartbeat: Heartbeat | None = None
    session: Session | None = None
    identity: Identity | None = None
    enable_sequence: list[dict[Name, Value]] = []
    safe_sequence: Annotated[list[dict[Name, Value]], Field(min_length=1)]
    fault_clear_sequence: list[dict[Name, Value]] = []
    interlocks: list[Interlock] = []

    @model_validator(mode='after')
    def _check(self) -> Self:
        self._check_overlaps()
        self._check_polls()
        named = [n for i in self.interlocks for n in i.never_both]
        named += [self.heartbeat.counter, self.heartbeat.echo] if self.heartbeat else []
        named += [self.identity.id_register] if self.identity else []
        for name in named:
            self.register(name)
        for step in self._steps:
            self.encode(step)
        if self.session:
            self._check_session(self.session)
        return self

    @property
    def _steps(self) -> list[dict[str, Value]]:
        return self.enable_sequence + self.safe_sequence + self.fault_clear_sequence

    def _check_session(self, session: Session) -> None:
        key, holder = self.register(session.key), self.register(session.holder)
        if self.heartbeat is None:
            raise ValueError('session: its codes are sent as heartbeat: add heartbeat')
        found = key.type, key.count, key.access, holder.type, holder.access
        if found != ('uint16', 2, 'w', 'uint16', 'rw'):
            raise ValueError(
                f'session: {session.key!r} must be 2 uint16 of access w, {session.holder!r} '
                'uint16 of access rw'
            )
        requests: list[dict[str, Value]] = [
            {session.key: 0.0, session.holder: 0.0},
            *({**step, self.heartbeat.counter: 0.0} for step in self._steps),
        ]
        for request in requests:
            if len(self.encode(request)) != 1:
                raise ValueError(
                    f'session: {sorted(request)} must be one run of addresses, so that one '
                    'request can write them'
                )

    def _check_overlaps(self) -> None:
        ordered = sorted(self.registers.items(), key=lambda item: (item[1].addr, item[1].bit or 0))
        for (name, register), (other_name, other) in pairwise(ordered):
            bits = register.bit, other.bit
            shared_word = register.addr == other.addr and None not in bits and bits[0] != bits[1]
            if register.addr + register.words > other.addr and not shared_word:
                raise ValueError(
                    f'registers {name!r} (addresses '
                    f'{register.addr}..{register.addr + register.words - 1}) and {other_name!r} '
                    f'({other.addr}..{other.addr + other.words - 1}) overlap: move one'
                )

    def _check_polls(self) -> None:
        for poll in self.polls:
            if not any('r' in r.access and poll.covers(r) for r in self.registers.values()):
                raise ValueError(
                    f'poll {poll.name!r} ({poll.start}..{poll.start + poll.count - 1}) covers no '
                    'readable register'
                )
        for name, register in self.registers.items():
            if register.access == 'r' and not any(poll.covers(register) for poll in self.polls):
                raise ValueError(
                    f'register {name!r} (address {register.addr}) is in no poll: extend a poll or '
                    'remove it'
                )

    def register(self, name: str) -> Register:
        """Return a register by name; RegisterMapError if it does not exist."""
        if name not in self.registers:
            raise RegisterMapError(f'no register {name!r}: the map has {sorted(self.registers)}')
        return self.registers[name]

    def encode(self, values: Values, last: Values | None = None) -> list[tuple[int, list[int]]]:
        """Encode values as words to write.

        Args:
            values: Value by register name: a number in the register's `unit`, one of its `names`,
                or `count` numbers.
            last: Values written before, for interlocks and for bits that share a word.

        Returns:
            (address, words) of each run of consecutive addresses, ascending.

        Raises:
            RegisterMapError: If a register is unknown or read-only, a value is outside its range,
                or an interlock forbids them.
        """
        after = {**(last or {}), **values}
        for interlock in self.interlocks:
            given = [n for n in interlock.never_both if n in after]
            active = [
                n for n in given if set(self._numbers(n, after[n])) != {self.register(n).safe}
            ]
            if len(active) > 1:
                safe = self.register(active[0]).safe
                raise RegisterMapError(
                    f'{active[0]!r} and {active[1]!r} must never be active together: set one of '
                    f'them to {safe:g} first'
                )
        words: dict[int, int] = {}
        for name, value in values.items():
            words |= self._words(name, value, after)
        spans: list[tuple[int, list[int]]] = []
        for address in sorted(words):
            first, run = spans[-1] if spans else (-1, [])
            if run and first + len(run) == address and self.conventions.write_fc != 6:
                run.append(words[address])
            else:
                spans.append((address, [words[address]]))
        return spans

    def decode(self, start: int, words: Sequence[int]) -> State:
        """Decode all readable registers inside a block of words, in SI units.

        Registers with `flags` give {name: bool}, registers with `count` > 1 a list.
        """
        values: State = {}
        for name, register in self.registers.items():
            first = register.addr - start
            last = first + register.words
            if 'r' not in register.access or first < 0 or last > len(words):
                continue
            numbers = register.unpack(words[first:last], self.conventions.word_order)
            if register.flags:
                values[name] = {
                    flag: bool(int(numbers[0]) >> bit & 1) for flag, bit in register.flags.items()
                }
            elif register.bit is not None:
                values[name] = float(int(numbers[0]) >> register.bit & 1)
            else:
                si = [register.si(n) for n in numbers]
                values[name] = si if register.count > 1 else si[0]
        return values

    def _numbers(self, name: str, value: float | str | Sequence[float]) -> list[float]:
        """Return the numbers of a register, in its unit."""
        register = self.register(name)
        if isinstance(value, str):
            if value not in register.names:
                raise RegisterMapError(
                    f'register {name!r}: {value!r} is not one of {sorted(register.names)}'
                )
            value = float(register.names[value])
        if isinstance(value, Sequence):
            return [float(v) for v in value]
        return [value] * register.count

    def _words(
        self, name: str, value: float | str | Sequence[float], after: Values
    ) -> dict[int, int]:
        register = self.register(name)
        if 'w' not in register.access:
            raise RegisterMapError(f'register {name!r} is read-only (access {register.access!r})')
        numbers = self._numbers(name, value)
        if len(numbers) != register.count:
            raise RegisterMapError(
                f'register {name!r} takes {register.count} values, given {len(numbers)}'
            )
        assert register.range is not None  # checked at load for writable registers
        low, high = register.range
        words: dict[int, int] = {}
        for i, number in enumerate(numbers):
            if not (math.isfinite(number) and low <= number <= high):
                raise RegisterMapError(
                    f'register {name!r}: {number:g} {register.unit} is outside [{low:g}, '
                    f'{high:g}] {register.unit}: nothing was written'
                )
            if register.bit is not None:
                return {register.addr: self._shared_word(register.addr, after)}
            raw = register.raw(number * SI_PER_UNIT[register.unit])
            packed = register.pack(raw, self.conventions.word_order)
            words |= dict(enumerate(packed, register.addr + i * register.words_each))
        return words

    def _shared_word(self, address: int, after: Values) -> int:
        word = 0
        for name, register in self.registers.items():
            if register.addr == address and register.bit is not None and 'w' in register.access:
                (number,) = self._numbers(name, after.get(name, register.safe or 0.0))
                word |= int(number) << register.bit
        return word

    def with_link(self, host: str = '', port: int = 0, serial_device: str = '') -> 'RegisterMap':
        """Return the map with another link: a TCP host and port, or a serial device.

        Empty arguments keep the values of the file. A serial device turns a TCP map into an RTU map
        with the serial settings of the valve board.
        """
        link: Link
        if serial_device and self.link.kind == 'rtu':
            link = self.link.model_copy(update={'device': serial_device})
        elif serial_device:
            link = RtuLink(
                kind='rtu',
                device=serial_device,
                baudrate=250_000,
                parity='N',
                stopbits=1,
                unit_id=self.link.unit_id,
                timeout_s=min(self.link.timeout_s, 0.05),
            )
        elif (host or port) and self.link.kind != 'tcp':
            raise RegisterMapError(
                f'host {host!r} and port {port} were given, but the map is for {self.link}: give '
                'the serial device'
            )
        else:
            given = {k: v for k, v in (('host', host), ('port', port)) if v}
            link = self.link.model_copy(update=given)
        return self.model_copy(update={'link': link})


def shipped_maps() -> dict[str, Path]:
    """Return the paths of the shipped register maps by name."""
    folder = Path(str(importlib.resources.files('pneumatic_driver'))) / 'maps'
    return {path.stem: path for path in folder.glob('*.yaml')}


def load_map(name_or_path: str | Path) -> RegisterMap:
    """Read and validate a register map.

    Args:
        name_or_path: Name of a shipped map (`valve_board`) or path of a YAML file.

    Raises:
        RegisterMapError: If the file is missing, is not YAML, or has a missing, unknown or
            impossible value.
    """
    shipped = shipped_maps()
    path = shipped.get(str(name_or_path), Path(name_or_path))
    remedy = f'give a path or one of {sorted(shipped)}'
    return load_yaml(RegisterMap, 'register map', path, RegisterMapError, remedy=remedy)
