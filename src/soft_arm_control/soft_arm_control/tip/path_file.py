"""Read a timed path of the tip from a CSV file with the columns time_s, x_m, y_m and z_m."""

from pathlib import Path

from soft_arm_control.errors import PathFileError
from soft_arm_io.csv_file import CsvFileError, Row, csv_rows

COLUMNS = ('time_s', 'x_m', 'y_m', 'z_m')
MAX_COORDINATE_M = 10.0
MAX_TIME_S = 3600.0
MAX_POINTS = 10_000


def read_path(path: Path) -> tuple[list[float], list[list[float]]]:
    """Read a path file.

    Returns:
        Times from the start [s], k strictly increasing ones, and k tip positions [m] in the arm's
        base frame.

    Raises:
        PathFileError: If a column, a number or a time is missing or wrong; names the line.
    """
    with csv_rows(path, PathFileError, *COLUMNS) as (_, rows):
        if not 1 <= len(rows) <= MAX_POINTS:
            raise CsvFileError(f'{len(rows)} waypoints: give 1 to {MAX_POINTS}')
        times_s: list[float] = []
        points_m: list[list[float]] = []
        for row in rows:
            time_s, *point_m = (row.number(name) for name in COLUMNS)
            _check(row, time_s, point_m, times_s[-1] if times_s else None)
            times_s.append(time_s)
            points_m.append(point_m)
    return times_s, points_m


def _check(row: Row, time_s: float, point_m: list[float], before_s: float | None) -> None:
    if not 0.0 <= time_s <= MAX_TIME_S or (before_s is not None and time_s <= before_s):
        least = 'at least 0' if before_s is None else f'more than {before_s:g}, the time before it,'
        raise row.error('time_s', f'{least} and at most {MAX_TIME_S:g}')
    for name, value in zip(COLUMNS[1:], point_m, strict=True):
        if abs(value) > MAX_COORDINATE_M:
            raise row.error(name, f'within {MAX_COORDINATE_M:g} m; the columns are in metres')
