"""Read a timed path of the tip from a CSV file with the columns time_s, x_m, y_m and z_m."""

import csv
import math
from pathlib import Path

from soft_arm_control.errors import PathFileError

COLUMNS = ('time_s', 'x_m', 'y_m', 'z_m')
FARTHEST_M = 10.0
LONGEST_S = 3600.0
MOST_BYTES = 1_000_000
MOST_POINTS = 10_000


def read_path(path: Path) -> tuple[list[float], list[list[float]]]:
    """Read a path file.

    Returns:
        Times from the start [s], k strictly increasing ones, and k tip positions [m] in the arm's
        base frame.

    Raises:
        PathFileError: If a column, a number or a time is missing or wrong; names the line.
    """
    times_s: list[float] = []
    points_m: list[list[float]] = []
    for line, row in _rows(path):
        values = [_number(path, line, name, row[name]) for name in COLUMNS]
        time_s, point_m = values[0], values[1:]
        before_s = times_s[-1] if times_s else None
        if not 0.0 <= time_s <= LONGEST_S or (before_s is not None and time_s <= before_s):
            after = (
                'at least 0' if before_s is None else f'more than {before_s:g}, the time before it,'
            )
            raise PathFileError(
                f'{path}:{line}: time_s = {time_s:g} s: must be {after} and at most {LONGEST_S:g} s'
            )
        if max(map(abs, point_m)) > FARTHEST_M:
            raise PathFileError(
                f'{path}:{line}: {point_m} m: each coordinate must lie within {FARTHEST_M:g} m; '
                'the columns are in metres'
            )
        times_s.append(time_s)
        points_m.append(point_m)
    if not points_m:
        raise PathFileError(
            f'{path}: no waypoints: give at least one line below {",".join(COLUMNS)}'
        )
    if len(points_m) > MOST_POINTS:
        raise PathFileError(f'{path}: {len(points_m)} waypoints: give at most {MOST_POINTS}')
    return times_s, points_m


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the line number and the values by column of every line that is not empty."""
    if path.stat().st_size > MOST_BYTES:
        raise PathFileError(
            f'{path}: {path.stat().st_size} bytes: a path file has at most {MOST_BYTES} bytes'
        )
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            reader = csv.reader(file, strict=True)
            lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise PathFileError(f'{path}: not a CSV file in UTF-8: {error}') from error
    names = [cell.strip() for cell in lines[0][1]] if lines else []
    if sorted(names) != sorted(COLUMNS):
        raise PathFileError(
            f'{path}:1: the columns are {",".join(names)[:80] or "missing"}: the first line must '
            f'be {",".join(COLUMNS)}'
        )
    for line, row in lines[1:]:
        if len(row) != len(names):
            raise PathFileError(
                f'{path}:{line}: {len(row)} values: give {len(names)}, for {",".join(names)}'
            )
    return [(line, dict(zip(names, row, strict=True))) for line, row in lines[1:]]


def _number(path: Path, line: int, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise PathFileError(f'{path}:{line}: {name} = {text.strip()[:40]!r} is not a finite number')
    return value
