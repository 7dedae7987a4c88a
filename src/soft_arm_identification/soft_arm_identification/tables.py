"""Read recorded tables: rows of text (CSV and the like), and NumPy arrays."""

import csv
import pickle
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from soft_arm_identification.errors import RecordingError
from soft_arm_identification.mapping import Column, Join, Table
from soft_arm_io.yaml_file import shown, shown_path

MAX_BYTES = 500_000_000
# Numbers with separators that float() does not accept.
_GROUPED = re.compile(r"[-+]?\d{1,3}([.,' ]\d{3})+([.,]\d+)?|[-+]?\d+,\d+")
_HARMLESS = {  # globals of pickled arrays; any other could execute code
    (f'numpy.{core}.multiarray', name)
    for core in ('core', '_core')
    for name in ('_reconstruct', 'scalar')
} | {('numpy', 'ndarray'), ('numpy', 'dtype'), ('_codecs', 'encode')}


@dataclass(frozen=True)
class Rows:
    """Rows of a file.

    Attributes:
        names: Names of the columns; numbers if the file has none.
        texts: Texts of each row, or numbers, shape (n, k).
        lines: Line number of each row, for errors.
        left_out: Number of skipped rows by reason.
        form: Separators in the numbers.
    """

    names: tuple[str, ...]
    texts: list[list[str]] | np.ndarray
    lines: tuple[int, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    form: Table = field(default_factory=Table)

    def column(self, key: Column) -> np.ndarray:
        """Return a column as numbers, NaN where the text is empty or no number, shape (n,).

        Raises:
            RecordingError: If the column does not exist, or uses separators in its numbers that the
                mapping does not state.
        """
        place = self.index(key)
        if isinstance(self.texts, np.ndarray):
            return self.texts[:, place]
        return np.array(
            [
                self._number(row[place], line, key)
                for row, line in zip(self.texts, self.lines, strict=True)
            ]
        )

    def has(self, key: Column | None) -> bool:
        """Return True if the column exists."""
        return key in self.names if isinstance(key, str) else (key or 0) < len(self.names)

    def index(self, key: Column) -> int:
        """Return the place of a column. Raises RecordingError."""
        place = key
        if isinstance(key, str):
            if self.names.count(key) > 1:
                raise RecordingError(
                    f'{self.names.count(key)} columns are named {shown(key)}: use the number of one'
                )
            place = self.names.index(key) if key in self.names else len(self.names)
        if isinstance(place, int) and place < len(self.names):
            return place
        raise RecordingError(
            f'column {shown(key)} does not exist; the {len(self.names)} columns, numbered from 0: '
            f'{shown(", ".join(self.names), plain=True)}'
        )

    def _number(self, text: str, line: int, key: Column) -> float:
        decimal, thousands = self.form.decimal, self.form.thousands
        whole, mark, fraction = text.strip().rpartition(decimal)
        plain = f'{whole.replace(thousands, "") if thousands else whole}{"." if mark else ""}'
        plain += fraction if mark or not thousands else fraction.replace(thousands, '')
        try:
            return float(plain)
        except ValueError:
            if _GROUPED.fullmatch(text.strip()):
                raise RecordingError(
                    f'line {line}, column {key}: {shown(text.strip())} has separators between '
                    'digits: set table.decimal or table.thousands in the mapping file'
                ) from None
            return np.nan


def read_rows(path: Path, form: Table, join: Join | None = None) -> list[Rows]:
    """Return the rows of each run in a file.

    Raises:
        RecordingError: If the file cannot be read or has another form.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RecordingError(f'larger than {MAX_BYTES / 1e6:g} MB: split it')
        if path.suffix in ('.npy', '.npz'):
            return _runs(_arrays(path), form)
        rows = _text_rows(path, form)
        return [rows if join is None else _joined(rows, path, form, join)]
    except OSError as error:
        raise RecordingError(f'{shown_path(error.filename or path)}: {error.strerror}') from error


def _text_rows(path: Path, form: Table) -> Rows:
    try:
        content = path.read_text(encoding='utf-8-sig')
    except UnicodeDecodeError as error:
        raise RecordingError(f'not UTF-8 text (byte {error.start}): save it as UTF-8') from error
    found = [
        (number, [text.strip() for text in _split(line, form.delimiter)])
        for number, line in enumerate(content.splitlines(), 1)
        if line.strip() and not line.startswith('#')
    ]
    if not found:
        raise RecordingError('the file is empty')
    counts = [len(texts) for _, texts in found]
    width = counts[0] if form.header else max(set(counts), key=counts.count)
    names = tuple(found[0][1]) if form.header else tuple(map(str, range(width)))
    rows = found[1:] if form.header else found
    whole = [(line, texts) for line, texts in rows if len(texts) == width]
    if 2 * len(whole) < len(rows) or not whole:
        raise RecordingError(
            f'{len(rows) - len(whole)} of {len(rows)} rows do not have {width} values: check '
            'delimiter and header in table of the mapping'
        )
    return Rows(
        names,
        [texts for _, texts in whole],
        tuple(line for line, _ in whole),
        {'too few or too many values in a row': len(rows) - len(whole)},
        form,
    )


def _split(line: str, delimiter: str) -> list[str]:
    if delimiter == 'whitespace':
        return line.split()
    return next(csv.reader([line], delimiter=delimiter))


def _joined(rows: Rows, path: Path, form: Table, join: Join) -> Rows:
    """Return the rows joined with the second file; rows without a counterpart are skipped."""
    match = re.fullmatch(join.pattern, path.name)
    if match is None:
        raise RecordingError(
            f'its name does not match {join.pattern!r} (join of the mapping): the file with the '
            'positions is given, the other one is found in its folder'
        )
    other = _text_rows(path.with_name(_expanded(match, join.file)), form)
    key, common = rows.index(join.on), other.index(join.on)
    joined = {texts[common]: [*texts[:common], *texts[common + 1 :]] for texts in other.texts}
    paired = [
        (line, [*texts, *joined[texts[key]]])
        for line, texts in zip(rows.lines, rows.texts, strict=True)
        if texts[key] in joined
    ]
    left_out = {f'no row with this {join.on} in the other file': len(rows.lines) - len(paired)}
    return Rows(
        (*rows.names, *other.names[:common], *other.names[common + 1 :]),
        [texts for _, texts in paired],
        tuple(line for line, _ in paired),
        rows.left_out | left_out,
        form,
    )


def _expanded(match: re.Match, file: str) -> str:
    try:
        return match.expand(file)
    except (re.error, IndexError) as error:
        raise RecordingError(f'file {file!r} of join cannot be used: {error}') from error


class _ArraysOnly(pickle.Unpickler):
    """Unpickles arrays, lists, dicts, numbers and texts."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _HARMLESS:
            raise RecordingError(
                f'it holds a pickled {module}.{name}, which could run code: save plain arrays'
            )
        return super().find_class(module, name)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a .npz file, or of a .npy file with an array or a dict of arrays."""
    try:
        if path.suffix == '.npz':
            with np.load(path, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        with path.open('rb') as file:
            version = np.lib.format.read_magic(file)
            read_header = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            if not read_header(file)[2].hasobject:
                file.seek(0)
                return {'array': np.load(file, allow_pickle=False)}
            content = _ArraysOnly(file).load()
        content = content.item() if content.shape == () else content
        return {str(k): np.asarray(v, float) for k, v in content.items()}
    except RecordingError:
        raise
    except (
        ValueError,
        TypeError,
        AttributeError,
        EOFError,
        pickle.UnpicklingError,
        zipfile.BadZipFile,
    ) as error:
        raise RecordingError(f'not a readable NumPy file: {shown(error, True)}') from error


def _runs(arrays: dict[str, np.ndarray], form: Table) -> list[Rows]:
    """Return one table for each index of the axis `run`."""
    sizes: dict[str, int] = {}
    for name, axes in form.arrays.items():
        if name not in arrays:
            raise RecordingError(f'there is no array {name!r}: there are {", ".join(arrays)}')
        shape = arrays[name].shape
        if len(axes) != len(shape):
            raise RecordingError(
                f'array {name!r} has the shape {shape}, the mapping names {len(axes)} axes'
            )
        for axis, size in zip(axes, shape, strict=True):
            if axis != 'column' and sizes.setdefault(axis, size) != size:
                raise RecordingError(
                    f'axis {axis} is {size} long in {name!r}, {sizes[axis]} before'
                )
    if 'time' not in sizes:
        raise RecordingError('no array has an axis time: name the axes in table.arrays')
    tables = []
    for run in range(sizes.get('run', 1)):
        names, columns = [], []
        for name, axes in form.arrays.items():
            flat = _flat(np.asarray(arrays[name], float), axes, run, sizes['time'])
            names += [f'{name}/{number}' for number in range(flat.shape[1])]
            columns.append(flat)
        rows = np.hstack(columns)
        tables.append(Rows(tuple(names), rows, tuple(range(1, len(rows) + 1))))
    return tables


def _flat(array: np.ndarray, axes: Sequence[str], run: int, length: int) -> np.ndarray:
    """Return the columns of an array over the time of one run, shape (length, k)."""
    if 'run' in axes:
        array = array.take(run, axes.index('run'))
        axes = [axis for axis in axes if axis != 'run']
    if 'time' in axes:
        array = np.moveaxis(array, axes.index('time'), 0)
    else:
        array = np.broadcast_to(array, (length, *array.shape))
    return array.reshape(length, -1)
