"""Runs of a study: a Python function of the merged keys, called on a worker.

Such a function takes one dict with the roots `robot`, `assembly`, `world`, `simulation` (those that
the study gives), `actuation`, `controller`, `parameters`, `results` and `seed`, and returns a flat
dict of numbers.
"""

import importlib
import numbers
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from soft_arm_io.command_line import one_line
from soft_arm_studies.errors import StudyError
from soft_arm_studies.keys import merged
from soft_arm_studies.study_file import CLOSED_LOOP, SIMULATE

RunFunction = Callable[[dict[str, Any]], dict[str, float]]

_BUILT_IN = {
    SIMULATE: 'soft_arm_studies.simulate:simulate',
    CLOSED_LOOP: 'soft_arm_studies.closed_loop:closed_loop',
}

TAKEN = ('run', 'seed', 'run_s', 'error')
"""Columns of the table of runs, forbidden as names of results."""


@dataclass(frozen=True)
class Row:
    """Outcome of one run."""

    run: int
    results: dict[str, float]
    error: str | None
    run_s: float
    """Wall-clock duration [s]."""


def run_function(experiment: str) -> RunFunction:
    """Import the function of an experiment: a built-in one, or `module:function`.

    Raises:
        StudyError: If there is none.
    """
    module, _, name = _BUILT_IN.get(experiment, experiment).partition(':')
    try:
        function = getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever the user's module raises
        raise StudyError(
            f'experiment {experiment}: {type(error).__name__}: {one_line(error)}'
        ) from error
    if not callable(function):
        raise StudyError(f'experiment {experiment}: {name} is not a function')
    return function


def run_batch(
    experiment: str, contents: dict[str, Any], places: dict, batch: list[tuple[int, tuple]]
) -> list[Row]:
    """Run a batch in turn; a run that fails becomes a row with its error.

    Args:
        experiment: A built-in one, or `module:function`.
        contents: Contents of the files common to all runs.
        places: Places of each varied key.
        batch: Number and values of each run.
    """
    function = run_function(experiment)
    return [_row(function, run, merged(contents, places, values)) for run, values in batch]


def _row(function: RunFunction, run: int, keys: dict[str, Any]) -> Row:
    start = time.perf_counter()
    try:
        results, error = _numbers(function(keys)), None
    except Exception as failure:  # whatever the user's function raises
        results, error = {}, one_line(f'{type(failure).__name__}: {failure}')
    return Row(run, results, error, time.perf_counter() - start)


def _numbers(returned: object) -> dict[str, float]:
    if not isinstance(returned, dict):
        raise TypeError(f'the run returned a {type(returned).__name__}, not a dict of numbers')
    for key, value in returned.items():
        if not isinstance(key, str) or not isinstance(value, numbers.Real):
            raise TypeError(f'the run returned {key!r}: {value!r}, not a name with a number')
        if key in TAKEN or '.' in key:
            raise TypeError(
                f'the run returned {key!r}: give it a name without dots, none of {TAKEN}'
            )
    return {key: float(value) for key, value in returned.items()}
