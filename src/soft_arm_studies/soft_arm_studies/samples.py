"""Samples of a study: values of its keys by run."""

import itertools
import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Discriminator, Field, StrictBool, Tag, model_validator
from scipy.stats import qmc

from soft_arm_io.fields import Strict, number

MAX_RUNS = 1_000_000

Scalar = float | int | str | bool | list[float]
Bound = Annotated[float, number(-1e12, 1e12, '')]
Count = Annotated[int, number(1, MAX_RUNS, '', int)]


class Range(Strict):
    """Numbers from `low` to `high` inclusive; whole numbers if `whole`."""

    low: Bound
    high: Bound
    scale: Literal['linear', 'log'] = 'linear'
    whole: StrictBool = False

    @model_validator(mode='after')
    def _check(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f'low {self.low:g} must be smaller than high {self.high:g}')
        if self.scale == 'log' and not self.low > 0.0:
            raise ValueError(f'low {self.low:g} must be positive with scale: log')
        if self.whole and (self.low % 1 or self.high % 1):
            raise ValueError('low and high must be whole numbers with whole: true')
        return self

    def at(self, fractions: np.ndarray) -> list[float] | list[int]:
        """Return the values at fractions (n,) of the range, in [0, 1)."""
        low, high = self.low, self.high + (1.0 if self.whole else 0.0)
        if self.scale == 'log':
            values = low * (high / low) ** fractions
        else:
            values = low + (high - low) * fractions
        return [math.floor(value) for value in values] if self.whole else values.tolist()


class Steps(Range):
    """`count` values from `low` to `high`, evenly spaced on the scale."""

    count: Annotated[int, number(2, MAX_RUNS, '', int)]

    def values(self) -> list[float] | list[int]:
        """Return the values; duplicate whole numbers only once."""
        space = np.geomspace if self.scale == 'log' else np.linspace
        values = space(self.low, self.high, self.count)
        if self.whole:
            return [int(value) for value in np.unique(np.round(values))]
        return values.tolist()


def _form(value: object) -> str:
    return 'range' if isinstance(value, dict | Range) else 'values'


Values = Annotated[tuple[Scalar, ...], Field(min_length=1), Tag('values')]
GridValues = Annotated[Values | Annotated[Steps, Tag('range')], Discriminator(_form)]
DrawnValues = Annotated[Values | Annotated[Range, Tag('range')], Discriminator(_form)]
Key = Annotated[str, Field(pattern=r'^[A-Za-z]\w*(\.(\w+|\*))*$', max_length=200)]


class Drawn(Strict):
    """`count` samples, each with a value for every key."""

    count: Count
    keys: Annotated[dict[Key, DrawnValues], Field(min_length=1)]

    def points(self, fractions: np.ndarray) -> list[tuple]:
        """Return the values at fractions (count, keys) of the ranges and lists."""
        columns = [
            values.at(column)
            if isinstance(values, Range)
            else [values[int(fraction * len(values))] for fraction in column]
            for values, column in zip(self.keys.values(), fractions.T, strict=True)
        ]
        return list(zip(*columns, strict=True))


class Vary(Strict):
    """Varied keys of a study with their values; the runs are the product of the three parts."""

    grid: dict[Key, GridValues] = {}
    random: Drawn | None = None
    latin_hypercube: Drawn | None = None

    @model_validator(mode='after')
    def _check(self) -> Self:
        keys = self.keys
        if not keys:
            raise ValueError('nothing is varied: add keys to grid, random or latin_hypercube')
        for key in keys:
            if keys.count(key) > 1:
                raise ValueError(f'{key} is varied twice: remove one')
        if self.n_runs > MAX_RUNS:
            raise ValueError(f'{self.n_runs} runs are more than {MAX_RUNS}: vary fewer values')
        return self

    @property
    def keys(self) -> list[str]:
        """The varied keys, in the order of `samples`."""
        drawn = [key for part in (self.random, self.latin_hypercube) if part for key in part.keys]
        return [*self.grid, *drawn]

    @property
    def log_keys(self) -> set[str]:
        """Keys with a logarithmic range."""
        ranges: dict[str, object] = dict(self.grid)
        for part in (self.random, self.latin_hypercube):
            ranges |= part.keys if part else {}
        return {k for k, v in ranges.items() if isinstance(v, Range) and v.scale == 'log'}

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        n_runs = 1
        for values in self.grid.values():
            n_runs *= values.count if isinstance(values, Steps) else len(values)
        for part in (self.random, self.latin_hypercube):
            n_runs *= part.count if part else 1
        return n_runs


def samples(vary: Vary, seed: int) -> list[tuple]:
    """Return the values of `vary.keys`, run by run; the same for the same seed.

    References:
        Latin hypercube: McKay, Beckman, Conover, Technometrics 21(2), 1979 (scipy.stats.qmc).
    """
    for_random, for_hypercube = np.random.default_rng(seed).spawn(2)
    parts: list[list[tuple]] = [
        [(value,) for value in (values.values() if isinstance(values, Steps) else values)]
        for values in vary.grid.values()
    ]
    if drawn := vary.random:
        parts.append(drawn.points(for_random.random((drawn.count, len(drawn.keys)))))
    if drawn := vary.latin_hypercube:
        sampler = qmc.LatinHypercube(len(drawn.keys), rng=for_hypercube)
        parts.append(drawn.points(sampler.random(drawn.count)))
    return [tuple(itertools.chain(*point)) for point in itertools.product(*parts)]
