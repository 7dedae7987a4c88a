"""Read CSV files that people wrote, with one line for whatever is wrong."""

import csv
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from soft_arm_io.yaml_file import shown

MAX_BYTES = 20_000_000


class CsvFileError(ValueError):
    """The content of a file cannot be used; the message is one line without the file's name."""


@dataclass(frozen=True)
class Row:
    """One row: the line it stands on, and its texts by column."""

    line: int
    texts: dict[str, str]

    def number(self, column: str) -> float:
        """A finite number. Raises CsvFileError."""
        try:
            value = float(self.texts[column])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(column, 'a finite number')
        return value

    def one_of(self, column: str, *words: str) -> str:
        """One of these words. Raises CsvFileError."""
        if self.texts[column] not in words:
            raise self.error(column, 'one of ' + ', '.join(words))
        return self.texts[column]

    def error(self, column: str, wanted: str) -> CsvFileError:
        """Return the error for a text that is not a valid value."""
        return CsvFileError(
            f'line {self.line}: {column} {shown(self.texts[column])} must be {wanted}'
        )


def read_csv(path: str | Path) -> tuple[tuple[str, ...], list[Row]]:
    """Columns and rows of a file whose first line names the columns.

    Raises:
        OSError: If it cannot be read.
        CsvFileError: If it is not CSV in UTF-8, is larger than `MAX_BYTES`, or a row has more or
            fewer values than the first.
    """
    with Path(path).open('rb') as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise CsvFileError(f'larger than {MAX_BYTES / 1e6:g} MB')
    try:
        reader = csv.reader(content.decode('utf-8-sig').splitlines())
        columns = tuple(name.strip() for name in next(reader, ()))
        rows = [(reader.line_num, texts) for texts in reader if texts]
    except UnicodeDecodeError as error:
        raise CsvFileError(f'not UTF-8 text (byte {error.start}): save it as UTF-8') from error
    except csv.Error as error:
        raise CsvFileError(f'not CSV: {error}') from error
    for line, texts in rows:
        if len(texts) != len(columns):
            raise CsvFileError(
                f'line {line} has {len(texts)} values, and the first line names {len(columns)} '
                'columns'
            )
    return columns, [Row(line, dict(zip(columns, texts, strict=True))) for line, texts in rows]


def need(columns: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    """Raise CsvFileError if a column is missing."""
    for name in wanted:
        if name not in columns:
            raise CsvFileError(f'column {name!r} is missing; the columns are {",".join(wanted)}')


@contextmanager
def csv_rows(
    path: str | Path, error: type[Exception], *wanted: str
) -> Iterator[tuple[tuple[str, ...], list[Row]]]:
    """Give columns and rows of a file; raise what is wrong with them, also in the body.

    Args:
        path: The file.
        error: What is raised in place of OSError and CsvFileError; it names the file.
        wanted: Columns that it must have.
    """
    try:
        columns, rows = read_csv(path)
        need(columns, wanted)
        yield columns, rows
    except OSError as failure:
        names = f' with the columns {",".join(wanted)}' if wanted else ''
        raise error(f'{path}: {failure.strerror}; give a CSV file{names}') from failure
    except CsvFileError as failure:
        raise error(f'{path}: {failure}') from failure
