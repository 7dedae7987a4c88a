"""Mapping files (YAML): which column of a recorded file holds what."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from soft_arm_identification.errors import RecordingError
from soft_arm_identification.units import UNITS, units_of
from soft_arm_io.fields import Number, Positive, Strict, Word
from soft_arm_io.yaml_file import load_yaml

SHIPPED = Path(__file__).parent / 'mappings'
Column = Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1, max_length=80)]
"""Number of a column from 0, or its name."""


def _unit(*dimensions: str) -> AfterValidator:
    known = [name for d in dimensions for name in units_of(d)] or list(UNITS)

    def check(unit: str) -> str:
        if unit not in known:
            raise ValueError(f'must be one of {", ".join(known)}')
        return unit

    return AfterValidator(check)


class Table(Strict):
    """Form of the file.

    Attributes:
        delimiter: Separator of values; `whitespace` for any number of blanks.
        header: Whether the first row names the columns.
        decimal, thousands: Separators in numbers. If they are equal, the last one is the decimal
            separator.
        arrays: Axes of each array of a .npy or .npz file: `run`, `time`, and `column` for all
            others, whose columns are named ARRAY/0, ARRAY/1, and so on.
    """

    delimiter: Literal['whitespace'] | Annotated[str, Field(min_length=1, max_length=1)] = ','
    header: bool = True
    decimal: Literal['.', ','] = '.'
    thousands: Literal['', '.', ',', "'", ' '] = ''
    arrays: dict[str, list[Literal['run', 'time', 'column']]] = {}


class Time(Strict):
    """Time column, or sample rate."""

    column: Column | None = None
    unit: Annotated[str, _unit('s')] = 's'
    rate_hz: Positive | None = None

    @model_validator(mode='after')
    def _one_of_both(self) -> 'Time':
        if (self.column is None) == (self.rate_hz is None):
            raise ValueError('needs either column or rate_hz')
        return self


class Channel(Strict):
    """One input.

    Attributes:
        column: Its column.
        by_file: Constant value by file name without extension; `*` matches any text.
        limits: Lowest and highest possible value in `unit`.
        optional: For measured inputs: whether files may lack it; they then have none.
    """

    name: Word
    unit: Annotated[str, _unit()]
    column: Column | None = None
    by_file: dict[str, Number] = {}
    limits: tuple[Number, Number] | None = None
    optional: bool = False

    @model_validator(mode='after')
    def _one_of_both(self) -> 'Channel':
        if (self.column is None) == (not self.by_file):
            raise ValueError('needs either column or by_file')
        return self


class Point(Strict):
    """One point of the body: columns of x, y and z, and of the quaternion x, y, z, w if known."""

    name: Word
    unit: Annotated[str, _unit('m')]
    columns: tuple[Column, Column, Column]
    quaternion: tuple[Column, Column, Column, Column] | None = None


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f'is not a regular expression: {error}') from error
    return pattern


class Lost(Strict):
    """Criteria for lost points.

    Attributes:
        zeros: Whether the position (0, 0, 0) counts as lost.
        jump_m: Displacement between two samples [m] that is larger than any real one.
        repeated: Number of identical consecutive positions that count as lost. Not applied to the
            point of `relative_to`, which is stationary.
    """

    zeros: bool = True
    jump_m: Positive | None = None
    repeated: Annotated[int, Field(ge=2)] | None = None


class Join(Strict):
    r"""A second file in the folder of the first whose columns are joined by a common one.

    Attributes:
        pattern: Regular expression of the name of the first file.
        file: Name of the second; `\1` stands for the first group of the pattern.
        on: Name of the common column.
    """

    pattern: Annotated[str, Field(max_length=200), AfterValidator(_compiles)]
    file: Annotated[str, Field(max_length=200)]
    on: Annotated[str, Field(max_length=80)]


class Mapping(Strict):
    """A mapping file.

    Attributes:
        length_m: Length of the arm from base to tip [m], by which the unit of points is checked.
        relative_to: Point whose median position is the origin of all positions; None: the origin
            of the measurement frame. Positions keep the axes of the measurement frame.
        order: Indices of the points from base to tip by file name (as in `by_file`), for markers
            whose column order differs between files.
    """

    source: Annotated[str, Field(max_length=300)] = ''
    length_m: Positive | None = None
    table: Table = Table()
    join: Join | None = None
    time: Time
    inputs: list[Channel] = []
    measured: list[Channel] = []
    points: Annotated[list[Point], Field(max_length=200)] = []
    relative_to: Word | None = None
    order: dict[str, list[int]] = {}
    lost: Lost = Lost()

    @model_validator(mode='after')
    def _names(self) -> 'Mapping':
        for kind in (self.inputs, self.measured, self.points):
            names = [one.name for one in kind]
            if len(set(names)) < len(names):
                raise ValueError(f'names {", ".join(names)} must differ')
        for channel in self.inputs:
            if channel.optional:
                raise ValueError(f'input {channel.name}: optional is for measured inputs only')
        if not (self.inputs or self.measured or self.points):
            raise ValueError('states neither inputs, measured nor points')
        if self.points and self.length_m is None:
            raise ValueError('length_m is missing: the unit of the points is checked by it')
        if self.relative_to is not None and self.relative_to not in [p.name for p in self.points]:
            raise ValueError(f'relative_to {self.relative_to!r} is none of the points')
        for file, order in self.order.items():
            if sorted(order) != list(range(len(self.points))):
                raise ValueError(
                    f'order of {file!r} must hold 0 to {len(self.points) - 1}, each once'
                )
        return self


def load_mapping(name: str) -> Mapping:
    """Read a mapping file, or a shipped one by its name.

    Raises:
        RecordingError: If it cannot be read or is invalid; one line.
    """
    shipped = {path.stem: path for path in sorted(SHIPPED.glob('*.yaml'))}
    return load_yaml(
        Mapping,
        'mapping file',
        shipped.get(name, Path(name)),
        RecordingError,
        remedy=f'the shipped ones are {", ".join(shipped)}',
    )
