"""Limits of benchmark figures: measure, compare, print."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

Figures = dict[str, Any]
"""Figures by name: a number, None, a list (its length counts), or further figures by name."""


@dataclass(frozen=True)
class Limit:
    """Bound of a figure; None and NaN miss every bound."""

    bound: float
    at_least: bool = False

    def is_kept(self, value: float | None) -> bool:
        """Return whether a value is within the bound."""
        if value is None:
            return False
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f'{">=" if self.at_least else "<="} {self.bound:g}'


def at_least(bound: float) -> Limit:
    """Return a lower limit."""
    return Limit(bound, at_least=True)


def at_most(bound: float) -> Limit:
    """Return an upper limit."""
    return Limit(bound)


def measured(parts: Mapping[str, Callable[[], Figures]]) -> Figures:
    """Measure the parts of a benchmark in turn, with a progress bar; return all figures."""
    figures: Figures = {}
    with tqdm(
        parts.items(), unit='part', file=sys.stderr, disable=not sys.stderr.isatty()
    ) as progress:
        for name, measure in progress:
            progress.set_description(name)
            figures |= measure()
    return figures


def report(figures: Figures, limits: Mapping[str, Limit], *, as_json: bool) -> int:
    """Print figures, limits and verdicts; return the exit status: 1 if a limit is missed, else 0.

    A limit on a nested figure has the name `outer.inner`. The JSON holds the figures and the names
    of the `missed` ones.
    """
    values = _flat(figures)
    missed = [name for name, limit in limits.items() if not limit.is_kept(values[name])]
    if as_json:
        print(json.dumps(figures | {'missed': missed}))
        return 1 if missed else 0
    for name, value in values.items():
        verdict = ''
        if name in limits:
            verdict = f'  {"missed" if name in missed else "kept"}: {limits[name]}'
        print(f'{name:40} {"none" if value is None else format(value, ".6g"):>12}{verdict}')
    return 1 if missed else 0


def _flat(figures: Figures) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            values |= {f'{name}.{inner}': found for inner, found in _flat(value).items()}
        else:
            values[name] = len(value) if isinstance(value, list) else value
    return values
