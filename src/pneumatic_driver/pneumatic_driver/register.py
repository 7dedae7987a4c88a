"""Register of a Modbus device: type, scale, unit, limits, and encoding in 16-bit words."""

import math
import struct
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from soft_arm_io.fields import Strict

SI_PER_UNIT = {
    '': 1.0,
    'Pa': 1.0,
    'kPa': 1e3,
    'mbar': 1e2,
    'bar': 1e5,
    's': 1.0,
    'ms': 1e-3,
    'kPa/s': 1e3,
    'V': 1.0,
    'mA': 1e-3,
}
_FORMATS = {'int16': '>h', 'uint16': '>H', 'int32': '>i', 'uint32': '>I', 'float32': '>f'}
_RAW_LIMITS = {
    'int16': (-(2**15), 2**15 - 1),
    'uint16': (0, 2**16 - 1),
    'int32': (-(2**31), 2**31 - 1),
    'uint32': (0, 2**32 - 1),
}

Name = Annotated[str, Field(pattern=r'^[a-z][a-z0-9_]*$')]
Address = Annotated[int, Field(ge=0, le=65535)]
Count = Annotated[int, Field(ge=1, le=125)]
Bit = Annotated[int, Field(ge=0, le=15)]
Flag = Annotated[int, Field(ge=0, le=31)]  # bit of a register of one or two words
Pair = Annotated[tuple[float, float], Field(strict=False)]


class Typed(Strict):
    """Base of the groups of a register map: values are not converted between types."""

    model_config = ConfigDict(strict=True)


class Register(Typed):
    """One value, or `count` values of the same kind at consecutive addresses.

    `range` limits the values that may be written. `valid` limits measurements: outside it the
    sensor is broken or the pressure must be cut.
    """

    addr: Address
    type: Literal['int16', 'uint16', 'int32', 'uint32', 'float32']
    scale: float = 1.0
    offset: float = 0.0
    unit: str = ''
    access: Literal['r', 'rw', 'w']
    range: Pair | None = None
    valid: Pair | None = None
    safe: float | None = None
    bit: Bit | None = None
    count: Count = 1
    names: dict[Name, int] = {}
    flags: dict[Name, Flag] = {}

    @model_validator(mode='after')
    def _check(self) -> Self:
        if self.unit not in SI_PER_UNIT:
            raise ValueError(f'unit {self.unit!r} is unknown: use one of {sorted(SI_PER_UNIT)}')
        if self.scale == 0:
            raise ValueError('scale must not be 0: give the unit per count')
        if 'w' in self.access and (self.range is None or self.safe is None):
            raise ValueError('a register that is written needs range and safe')
        types = {'uint16', 'uint32'} if self.bit is None else {'uint16'}
        if (self.flags or self.bit is not None) and (
            self.type not in types or self.scale != 1 or self.offset != 0 or self.count != 1
        ):
            raise ValueError(
                'bits need type uint16 (flags: or uint32), scale 1, offset 0 and count 1'
            )
        if self.flags and max(self.flags.values()) >= 16 * self.words:
            raise ValueError(f'flag {max(self.flags.values())}: {self.type} has {16 * self.words}')
        if self.bit is not None and self.range and not 0 <= self.range[0] <= self.range[1] <= 1:
            raise ValueError(f'range {list(self.range)} of a single bit must lie in [0, 1]')
        if self.valid is not None and not ('r' in self.access and self.valid[0] < self.valid[1]):
            raise ValueError(
                f'valid {list(self.valid)} {self.unit} needs access r, and the smaller limit first'
            )
        if self.range is not None:
            self._check_range(*self.range)
        return self

    def _check_range(self, low: float, high: float) -> None:
        if low > high:
            raise ValueError(f'range [{low}, {high}] {self.unit}: the smaller limit must be first')
        if self.safe is not None and not low <= self.safe <= high:
            raise ValueError(f'safe {self.safe} {self.unit} is outside the range [{low}, {high}]')
        for value in {low, high, low if self.safe is None else self.safe}:
            raw = self.raw(value * SI_PER_UNIT[self.unit])
            back = self.si(raw) / SI_PER_UNIT[self.unit]
            if abs(back - value) > 0.5 * abs(self.scale) + 1e-6 * abs(value):
                raise ValueError(
                    f'{value} {self.unit} comes back from the register as {back}: correct scale, '
                    'offset or range'
                )

    @cached_property
    def words_each(self) -> int:
        """Number of 16-bit words of one value."""
        return 2 if self.type in ('int32', 'uint32', 'float32') else 1

    @cached_property
    def words(self) -> int:
        """Number of 16-bit words of all values."""
        return self.words_each * self.count

    def raw(self, value_si: float) -> float:
        """Return the raw number for a value in SI units.

        Raises:
            ValueError: If the value is not finite or the type cannot hold it.
        """
        if not math.isfinite(value_si):
            raise ValueError(f'{value_si} is not a finite number')
        counts = (value_si / SI_PER_UNIT[self.unit] - self.offset) / self.scale
        if self.type == 'float32':
            return counts
        low, high = _RAW_LIMITS[self.type]
        if not low <= round(counts) <= high:
            value = value_si / SI_PER_UNIT[self.unit]
            raise ValueError(
                f'{value:g} {self.unit} needs {round(counts)} counts: {self.type} holds [{low}, '
                f'{high}]'
            )
        return round(counts)

    def si(self, raw: float) -> float:
        """Return the value in SI units of a raw number."""
        return (raw * self.scale + self.offset) * SI_PER_UNIT[self.unit]

    def pack(self, raw: float, word_order: str) -> list[int]:
        """Encode one raw number in 16-bit words."""
        data = struct.pack(_FORMATS[self.type], raw if self.type == 'float32' else int(raw))
        words = [int.from_bytes(data[i : i + 2], 'big') for i in range(0, len(data), 2)]
        return words if word_order == 'big' else words[::-1]

    def unpack(self, words: Sequence[int], word_order: str) -> list[float]:
        """Decode the `count` raw numbers in the register's words."""
        if self.words_each == 2 and word_order != 'big':
            words = [words[i ^ 1] for i in range(self.words)]
        data = struct.pack(f'>{self.words}H', *words)
        return list(struct.unpack(f'>{self.count}{_FORMATS[self.type][1]}', data))
