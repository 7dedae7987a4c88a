"""Convert recorded files to recordings; report data that contradicts the mapping."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from soft_arm_identification.errors import RecordingError
from soft_arm_identification.lost import NORM, lost_samples
from soft_arm_identification.mapping import Channel, Mapping, Point
from soft_arm_identification.recording import Channels, Dropped, Recording
from soft_arm_identification.tables import Rows, read_rows
from soft_arm_identification.units import UNITS, units_of

MAX_DROPPED = 0.2  # share of samples that may contradict the mapping
MAX_LOST = 0.95  # share of samples in which a point may be lost
RATES_HZ = 0.05, 20_000.0
SPAN = 0.15, 4.0  # extent of all positions in lengths of the arm
_Value = TypeVar('_Value')
# Correlation of a measured input with the command of another one, and its excess over that with its
# own command, from which columns are considered swapped.
MIN_CORRELATION, MIN_EXCESS = 0.7, 0.3


def convert(path: Path, mapping: Mapping) -> Iterator[Recording]:
    """Yield the recording of each run in a file.

    Raises:
        RecordingError: If the file does not fit the mapping; one line with the name of the file.
    """
    try:
        runs = read_rows(path, mapping.table, mapping.join)
        for number, rows in enumerate(runs, 1):
            suffix = f'_{number:0{len(str(len(runs)))}d}' if len(runs) > 1 else ''
            yield _recording(f'{path.stem}{suffix}', path.stem, rows, mapping)
    except RecordingError as error:
        raise RecordingError(f'{path.name}: {error}') from error


def _recording(name: str, file: str, rows: Rows, mapping: Mapping) -> Recording:
    time_s = _times(rows, mapping)
    inputs = _channels(rows, mapping.inputs, file)
    lacking = [c for c in mapping.measured if c.optional and not rows.has(c.column)]
    mapped = [] if lacking else mapping.measured
    measured = _channels(rows, mapped, file)
    reasons = {'no time': ~np.isfinite(time_s)}
    latest_s = np.fmax.accumulate(np.where(reasons['no time'], -np.inf, time_s))
    rises = np.r_[True, time_s[1:] > latest_s[:-1]]
    reasons['time that does not rise'] = ~rises & ~reasons['no time']
    reasons |= _unusable('input', inputs, mapping.inputs)
    reasons |= _unusable('measured', measured, mapped)
    keep = np.ones(len(time_s), bool)
    for reason, bad in reasons.items():
        if bad.mean() > MAX_DROPPED:
            raise RecordingError(
                f'{bad.mean():.0%} of the samples have {reason}: check columns, units and limits '
                'of the mapping'
            )
        keep &= ~bad
    if keep.sum() < 2:
        raise RecordingError(f'{keep.sum()} usable samples: at least 2 are needed')
    elapsed_s = time_s - time_s[keep][0]
    dropped = [Dropped(reason, count, ()) for reason, count in rows.left_out.items()]
    timed = np.isfinite(time_s)
    dropped += [_dropped(reason, bad & timed, elapsed_s) for reason, bad in reasons.items()]
    _check_rate(elapsed_s[keep], mapping)
    points_m, quaternions, lost = _points(rows, mapping, file, elapsed_s, keep)
    found = Recording(
        name,
        elapsed_s[keep],
        Channels(inputs.names, inputs.units, inputs.values[keep]),
        Channels(measured.names, measured.units, measured.values[keep]),
        tuple(point.name for point in mapping.points),
        points_m,
        quaternions,
        mapping.length_m,
        tuple(part for part in (*dropped, *lost) if part.samples),
    )
    _check_pairs(found)
    return found


def _times(rows: Rows, mapping: Mapping) -> np.ndarray:
    time = mapping.time
    if time.column is not None:
        return rows.column(time.column) * UNITS[time.unit][1]
    return np.arange(len(rows.lines)) / (time.rate_hz or 1.0)


def _channels(rows: Rows, channels: list[Channel], file: str) -> Channels:
    values = np.empty((len(rows.lines), len(channels)))
    for place, channel in enumerate(channels):
        if channel.column is not None:
            given: np.ndarray | float = rows.column(channel.column)
        else:
            given = _by_file(channel.by_file, file, f'by_file of input {channel.name}')
        values[:, place] = np.asarray(given) * UNITS[channel.unit][1]
    units = tuple(UNITS[channel.unit][0] for channel in channels)
    return Channels(tuple(channel.name for channel in channels), units, values)


def _by_file(values: dict[str, _Value], file: str, what: str) -> _Value:
    for pattern, value in values.items():
        if fnmatchcase(file, pattern):
            return value
    raise RecordingError(f'{what} has no entry for this file: add its name')


def _unusable(kind: str, channels: Channels, mapped: list[Channel]) -> dict[str, np.ndarray]:
    """Return where signals are missing or outside their limits, by reason."""
    reasons = {}
    for place, channel in enumerate(mapped):
        values = channels.values[:, place] / UNITS[channel.unit][1]
        reasons[f'no number for {kind} {channel.name}'] = ~np.isfinite(values)
        if channel.limits is not None:
            low, high = channel.limits
            outside = (values < low) | (values > high)
            reached = f'{np.nanmin(values):g} to {np.nanmax(values):g}' if outside.any() else ''
            stated = f'{low:g} to {high:g} {channel.unit}'
            reasons[f'{kind} {channel.name} outside {stated} ({reached})'] = outside
    return reasons


def _check_rate(time_s: np.ndarray, mapping: Mapping) -> None:
    step_s = float(np.median(np.diff(time_s)))
    if not RATES_HZ[0] <= 1 / step_s <= RATES_HZ[1]:
        raise RecordingError(
            f'the median time between samples is {step_s:g} s: is the unit of time '
            f'{mapping.time.unit!r}, and column {mapping.time.column} the time?'
        )


def _points(
    rows: Rows, mapping: Mapping, file: str, time_s: np.ndarray, keep: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[Dropped]]:
    """Return positions (n, m, 3) [m] and quaternions (n, m, 4) of the kept samples, and losses."""
    names = [point.name for point in mapping.points]
    order = _by_file(mapping.order, file, 'order') if mapping.order else range(len(names))
    time_s, dropped = time_s[keep], []
    points_m = np.empty((len(time_s), len(names), 3))
    quaternions = np.full((len(time_s), len(names), 4), np.nan)
    for place, name in enumerate(names):
        point = mapping.points[order[place]]
        columns = np.column_stack([rows.column(column) for column in point.columns])
        points_m[:, place] = columns[keep] * UNITS[point.unit][1]
        if point.quaternion is not None:
            columns = np.column_stack([rows.column(column) for column in point.quaternion])
            quaternions[:, place] = columns[keep]
            _check_norms(points_m[:, place], quaternions[:, place], point)
        is_still = name == mapping.relative_to
        losses = lost_samples(
            points_m[:, place],
            quaternions[:, place] if point.quaternion is not None else None,
            mapping.lost.model_copy(update={'repeated': None}) if is_still else mapping.lost,
        )
        for reason, lost in losses.items():
            dropped.append(_dropped(f'{name} lost: {reason}', lost, time_s))
            points_m[lost, place] = quaternions[lost, place] = np.nan
        share = np.isnan(points_m[:, place, 0]).mean()
        if share > MAX_LOST:
            reason = max(losses, key=lambda reason: losses[reason].sum())
            raise RecordingError(f'{name} is lost in {share:.0%} of the samples: {reason}')
    if mapping.relative_to is not None:
        points_m -= np.nanmedian(points_m[:, names.index(mapping.relative_to)], axis=0)
    if mapping.length_m is not None and names:
        _check_span(points_m, mapping.points[-1].unit, mapping.length_m)
    return points_m, quaternions, dropped


def _check_norms(points_m: np.ndarray, quaternions: np.ndarray, point: Point) -> None:
    """Refuse columns that hold no unit quaternions where the point is not at zero."""
    norms = np.linalg.norm(quaternions[(points_m != 0).any(1)], axis=1)
    if len(norms) and not np.mean(np.abs(norms - 1) < NORM) > 1 - MAX_DROPPED:
        raise RecordingError(
            f'columns {list(point.quaternion or ())} of {point.name} have a median norm of '
            f'{np.median(norms):.3g}, that of a quaternion is 1: are columns swapped?'
        )


def _check_span(points_m: np.ndarray, unit: str, length_m: float) -> None:
    """Refuse positions whose extent does not fit the length of the arm."""
    low_m, high_m = np.nanmin(points_m, axis=(0, 1)), np.nanmax(points_m, axis=(0, 1))
    span_m = float(np.linalg.norm(high_m - low_m))
    fitting = [
        name
        for name in units_of('m')
        if SPAN[0] <= span_m * UNITS[name][1] / UNITS[unit][1] / length_m <= SPAN[1]
    ]
    if unit not in fitting:
        raise RecordingError(
            f'the positions extend over {span_m:g} m, the arm is {length_m:g} m long: '
            + (
                f'is their unit {" or ".join(fitting)}?'
                if fitting
                else 'check columns and length_m'
            )
        )


def _check_pairs(recording: Recording) -> None:
    """Refuse measured inputs that follow the commands of others."""
    inputs, measured = recording.inputs, recording.measured
    if len(inputs.names) != len(measured.names) or inputs.units != measured.units:
        return
    moved = [i for i in range(len(inputs.names)) if np.ptp(inputs.values[:, i]) > 0]
    moved = [i for i in moved if np.ptp(measured.values[:, i]) > 0]
    if len(moved) < 2:
        return
    both = np.corrcoef(inputs.values[:, moved].T, measured.values[:, moved].T)
    correlation = both[: len(moved), len(moved) :]
    for one, other in zip(*linear_sum_assignment(-correlation), strict=True):
        better = correlation[one, other] - correlation[one, one]
        if one != other and correlation[one, other] > MIN_CORRELATION and better > MIN_EXCESS:
            raise RecordingError(
                f'measured {measured.names[moved[other]]} follows the command '
                f'{inputs.names[moved[one]]} (correlation {correlation[one, other]:.2f}), and '
                f'{measured.names[moved[one]]} does not: are columns swapped?'
            )


def _dropped(reason: str, bad: np.ndarray, time_s: np.ndarray) -> Dropped:
    edges = np.flatnonzero(np.diff(np.r_[False, bad, False]))
    spans = [
        (round(float(time_s[first]), 4), round(float(time_s[last - 1]), 4))
        for first, last in edges.reshape(-1, 2)
    ]
    return Dropped(reason, int(bad.sum()), tuple(spans))
