"""Table of a study: a folder of Parquet files, consistent after any kill, without duplicate runs.

A finished batch of runs becomes a file in `parts/`, written atomically. At the end, and when a
study resumes, the parts are merged into `runs.parquet`; after a kill between the two steps of
merging, a run may be in both, and the one in `runs.parquet` counts.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from pyarrow import compute, parquet

from soft_arm_studies.errors import StudyError
from soft_arm_studies.plan import Plan
from soft_arm_studies.runs import Row


class Table:
    """Finished runs of a study."""

    def __init__(self, folder: Path, plan: Plan, *, overwrite: bool = False) -> None:
        """Open or create the folder of a study, and lock it until this process ends.

        Args:
            folder: The folder.
            plan: The study's plan.
            overwrite: Remove its runs.

        Raises:
            StudyError: If the folder holds another study, or another process runs it.
        """
        self.path = folder / 'runs.parquet'
        self._plan = plan
        self._parts = folder / 'parts'
        self._columns = [_column([v[i] for v in plan.values]) for i in range(len(plan.places))]
        self._parts.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder)
        if overwrite:
            # The file that identifies the study goes last: a kill leaves no run to another study.
            for path in [*self._parts.glob('*.parquet'), self.path, folder / 'study.json']:
                path.unlink(missing_ok=True)
        _check_same(folder / 'study.json', plan)
        self.merge()

    def done(self, *, failed: bool = True) -> set[int]:
        """Return the numbers of the runs in the table, with or without failed ones."""
        table = self.read()
        if not failed:
            table = table.filter(compute.is_null(table['error']))
        return set(table['run'].to_pylist())

    def add(self, rows: list[Row]) -> None:
        """Store a batch of runs durably."""
        columns: dict[str, Any] = {
            'run': pa.array([row.run for row in rows], pa.int64()),
            **{
                key: pa.array([as_cell(self._plan.values[row.run][i]) for row in rows], kind)
                for i, (key, (kind, as_cell)) in enumerate(
                    zip(self._plan.places, self._columns, strict=True)
                )
            },
        }
        for name in dict.fromkeys(name for row in rows for name in row.results):
            columns[name] = pa.array([row.results.get(name) for row in rows], pa.float64())
        columns['run_s'] = pa.array([row.run_s for row in rows], pa.float64())
        columns['error'] = pa.array([row.error for row in rows], pa.string())
        _write(pa.table(columns), self._parts / f'{rows[0].run:09d}.parquet')

    def read(self) -> pa.Table:
        """Return all rows, sorted by run."""
        tables, seen = [], set[int]()
        for path in [self.path, *sorted(self._parts.glob('*.parquet'))]:
            if path.exists():
                table = _read(path)
                table = table.filter(pa.array([r not in seen for r in table['run'].to_pylist()]))
                seen |= set(table['run'].to_pylist())
                tables.append(table)
        if not tables:
            return pa.table({'run': pa.array([], pa.int64()), 'error': pa.array([], pa.string())})
        return pa.concat_tables(tables, promote_options='permissive').sort_by('run')

    def merge(self, drop: Iterable[int] = ()) -> None:
        """Merge the parts into `runs.parquet`, without the runs to drop."""
        parts = list(self._parts.glob('*.parquet'))
        table, dropped = self.read(), set(drop)
        if parts or dropped:
            keep = [run not in dropped for run in table['run'].to_pylist()]
            _write(table.filter(pa.array(keep, pa.bool_())), self.path)
        for path in [*parts, *self._parts.glob('*.new')]:
            path.unlink()

    def close(self) -> None:
        """Merge the parts and unlock the folder."""
        self.merge()
        self._lock.close()


def _column(values: list) -> tuple[pa.DataType, Any]:
    """Return the type of the column of a varied key, and the conversion of a value to a cell."""
    if all(isinstance(value, bool) for value in values):
        return pa.bool_(), bool
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return pa.int64(), int
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return pa.float64(), float
    if all(isinstance(value, str) for value in values):
        return pa.string(), str
    return pa.string(), json.dumps


def _locked(folder: Path) -> IO[str]:
    lock = (folder / 'lock').open('a')
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise StudyError(
            f'{folder}: another process runs this study: wait for it or give another --output'
        ) from None
    return lock


def _check_same(path: Path, plan: Plan) -> None:
    description: dict[str, Any] = {
        'fingerprint': plan.fingerprint,
        'runs': len(plan.values),
        'study': plan.study.model_dump(mode='json', exclude_unset=True),
        'contents': plan.contents,
    }
    if not path.exists():
        _replace(path, lambda file: file.write(json.dumps(description, indent=1).encode()))
        return
    try:
        known = json.loads(path.read_bytes())
        same, before = known['fingerprint'] == plan.fingerprint, known['contents']
    except (ValueError, TypeError, KeyError) as error:
        raise StudyError(f'{path} is damaged: give another --output, or --overwrite') from error
    if not same:
        changed = [root for root, value in plan.contents.items() if value != before.get(root)]
        raise StudyError(
            f'{path.parent} holds runs of another study, or of this one with another '
            f'{" and ".join(changed) or "vary"}: give another --output, or --overwrite'
        )


def _read(path: Path) -> pa.Table:
    try:
        return parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise StudyError(f'{path} is damaged: remove it, its runs are done again') from error


def _write(table: pa.Table, path: Path) -> None:
    _replace(path, lambda file: parquet.write_table(table, file))


def _replace(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file atomically."""
    new = path.with_suffix('.new')
    try:
        with new.open('wb') as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError as error:
        raise StudyError(
            f'{path} cannot be written ({error.strerror}): the runs before it are kept; '
            'make room, and the same command goes on'
        ) from error
