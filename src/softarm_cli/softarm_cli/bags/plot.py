"""Plot of a bag: pressures and commands, tip by model, vision and truth, errors."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from softarm_cli.bags.file import Bag
from softarm_cli.errors import BagError

PRESSURES = 'pressures'
COMMANDS = 'pressure_command'
VISION = 'tip_pose'
TARGET = 'target'
TRUTH = 'debug/tip_truth'
_CHAMBERS_TYPE = 'soft_arm_msgs/msg/ChamberPressures'
_VISION_TYPE = 'geometry_msgs/msg/PoseWithCovarianceStamped'
_POSE_TYPE = 'geometry_msgs/msg/PoseStamped'
_TARGET_TYPE = 'visualization_msgs/msg/Marker'
_TF_TYPE = 'tf2_msgs/msg/TFMessage'
_TIP_BY_MODEL_SUFFIX = 'tip_by_model'
_STYLES = {'model': '-', 'vision': '.', 'truth': '--'}
_MAX_LINES = 24
_PANEL_SIZE_IN = (10.0, 2.8)


_Points = tuple[np.ndarray, np.ndarray]
"""Times [s] (n,), and points [m] (n, 3)."""


@dataclass(frozen=True)
class Line:
    """One line of a panel: label, times [s] (n,), values (n,), style and colour of Matplotlib."""

    label: str
    times_s: np.ndarray
    values: np.ndarray
    style: str
    colour: int


@dataclass(frozen=True)
class Panel:
    """One panel of the picture."""

    title: str
    unit: str
    lines: list[Line]


def panels(bag: Bag, topics: Collection[str] = ()) -> list[Panel]:
    """Return the panels of a plot.

    Args:
        bag: An open bag.
        topics: Full names of topics to plot completely; empty: pressures and tip.

    Raises:
        BagError: If the bag holds nothing to draw.
    """
    found = _named(bag, topics) if topics else _standard(bag)
    if not found:
        raise BagError(
            f'{bag.path} holds neither pressures nor a tip: name the topics to plot with --topics'
        )
    return found


def draw(found: list[Panel], name: str, out: Path) -> None:
    """Write panels over one axis of time to a picture file.

    Args:
        found: The panels.
        name: Name of the bag.
        out: The picture: .png, .pdf or .svg.

    Raises:
        BagError: If the picture cannot be written.
    """
    figure = Figure(
        figsize=(_PANEL_SIZE_IN[0], _PANEL_SIZE_IN[1] * len(found)), layout='constrained'
    )
    axes = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
    for axis, panel in zip(axes, found, strict=True):
        for line in panel.lines:
            axis.plot(
                line.times_s,
                line.values,
                line.style,
                label=line.label,
                linewidth=1.0,
                markersize=2.0,
                color=f'C{line.colour}',
            )
        axis.set_title(panel.title, loc='left', fontsize='medium')
        axis.set_ylabel(panel.unit)
        axis.grid(alpha=0.3)
        axis.legend(fontsize='x-small', loc='center left', bbox_to_anchor=(1.0, 0.5))
    axes[-1].set_xlabel(f'time since the first message of {name} [s]')
    try:
        figure.savefig(out, dpi=120)
    except OSError as error:
        raise BagError(f'cannot write {out}: {error.strerror}') from error


def _standard(bag: Bag) -> list[Panel]:
    def named(name: str, kind: str) -> list[str]:
        return [
            connection.topic
            for connection in bag.connections
            if connection.topic.endswith(f'/{name}') and connection.msgtype == kind
        ]

    measured, frames = named(PRESSURES, _CHAMBERS_TYPE), named('tf', _TF_TYPE)
    vision = next(iter(named(VISION, _VISION_TYPE)), None)
    tips = {
        'model': _series(bag, frames, _tip_by_model),
        'vision': _series(bag, [vision], lambda message: message.pose.pose.position),
        'truth': _series(
            bag,
            named(TRUTH, _POSE_TYPE),
            lambda message: message.pose.position,
        ),
    }
    tips = {name: series for name, series in tips.items() if len(series[0])}
    same_namespace = (vision or '').removesuffix(VISION) + TARGET
    target = _series(
        bag,
        [topic for topic in named(TARGET, _TARGET_TYPE) if topic == same_namespace],
        lambda message: message.pose.position,
    )
    found = [_pressure_panel(bag, topic) for topic in measured]
    found += [_tip_panel(tips, target), Panel('tip error', 'distance [mm]', _errors(tips, target))]
    return [panel for panel in found if panel.lines]


def _pressure_panel(bag: Bag, measured: str) -> Panel:
    commands = measured.removesuffix(PRESSURES) + COMMANDS
    is_given = any((c.topic, c.msgtype) == (commands, _CHAMBERS_TYPE) for c in bag.connections)
    lines, given = [], _chambers(bag, commands) if is_given else {}
    for colour, (chamber, (times_s, values_pa)) in enumerate(_chambers(bag, measured).items()):
        lines.append(Line(f'{chamber} measured', times_s, values_pa * 1e-3, '-', colour))
        if chamber in given:
            lines.append(
                Line(
                    f'{chamber} commanded', given[chamber][0], given[chamber][1] * 1e-3, ':', colour
                )
            )
    return Panel(f'{measured}, and commands', 'gauge pressure [kPa]', lines)


def _tip_panel(tips: dict[str, _Points], target: _Points) -> Panel:
    drawn = {f'by {name}': (*series, _STYLES[name]) for name, series in tips.items()}
    if len(target[0]):
        drawn['of the target'] = (*target, 'x')
    lines = [
        Line(f'{axis} {name}', times_s, 1e3 * points_m[:, i], style, i)
        for i, axis in enumerate('xyz')
        for name, (times_s, points_m, style) in drawn.items()
    ]
    return Panel('tip in the base frame', 'position [mm]', lines)


def _errors(tips: dict[str, _Points], target: _Points) -> list[Line]:
    lines: list[Line] = []
    reference = 'truth' if 'truth' in tips else 'vision'
    for name in (
        name
        for name in ('vision', 'model')
        if name in tips and name != reference and reference in tips
    ):
        lines.append(
            Line(
                f'{name} to {reference}',
                *_distance_mm(tips[name], tips[reference]),
                '-',
                len(lines),
            )
        )
    if reference in tips and len(target[0]):
        times_s, points_m = tips[reference]
        newest = np.searchsorted(target[0], times_s, side='right') - 1
        known = newest >= 0
        distance_m = np.linalg.norm(points_m[known] - target[1][newest[known]], axis=1)
        lines.append(
            Line(f'{reference} to the target', times_s[known], 1e3 * distance_m, '-', len(lines))
        )
    return lines


def _distance_mm(of: _Points, to: _Points) -> tuple[np.ndarray, np.ndarray]:
    """Return times [s] and distances [mm] (n,) from another, interpolated series."""
    times_s, points_m = of
    inside = (times_s >= to[0][0]) & (times_s <= to[0][-1])
    other_m = np.stack([np.interp(times_s[inside], to[0], to[1][:, i]) for i in range(3)], axis=1)
    return times_s[inside], 1e3 * np.linalg.norm(points_m[inside] - other_m, axis=1)


def _named(bag: Bag, topics: Collection[str]) -> list[Panel]:
    held = {connection.topic for connection in bag.connections}
    found = []
    for topic in topics:
        if topic not in held:
            raise bag.missing(topic)
        series: dict[str, list] = {}
        for time_s, message in _read(bag, [topic]):
            for name, value in _numbers(message):
                series.setdefault(name, []).append((time_s, value))
        if not series:
            raise BagError(f'{topic} holds no numbers that can be drawn')
        more = f' (first {_MAX_LINES} of {len(series)} numbers)' if len(series) > _MAX_LINES else ''
        lines = []
        for i, (name, rows) in enumerate(list(series.items())[:_MAX_LINES]):
            times_s, values = np.array(rows).T
            lines.append(Line(name, times_s, values, '-', i))
        found.append(Panel(f'{topic}{more}', 'value, in the unit of its field', lines))
    return found


def _numbers(value: Any, name: str = '') -> Iterator[tuple[str, float]]:
    """Yield all numbers of a message with their paths, except for headers and covariances."""
    if isinstance(value, (bool, int, float, np.number)):
        yield name, float(value)
    elif isinstance(value, np.ndarray) and value.ndim == 1:
        for i, number in enumerate(
            value[:_MAX_LINES].tolist() if value.dtype.kind in 'iuf' else ()
        ):
            yield f'{name}[{i}]', float(number)
    elif isinstance(value, list):
        for i, entry in enumerate(value[:_MAX_LINES]):
            yield from _numbers(entry, f'{name}[{i}]')
    elif hasattr(value, '__dataclass_fields__'):
        for field in value.__dataclass_fields__:
            if field not in ('header', 'covariance', '__msgtype__'):
                yield from _numbers(getattr(value, field), f'{name}.{field}' if name else field)


def _chambers(bag: Bag, topic: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return times [s] and pressures [Pa] (n,) of each chamber."""
    found: dict[str, list] = {}
    for time_s, message in _read(bag, [topic]):
        for name, pressure_pa in zip(message.names, message.pressures_pa, strict=False):
            found.setdefault(name, []).append((time_s, pressure_pa))
    tables = {name: np.array(rows) for name, rows in found.items()}
    return {name: (table[:, 0], table[:, 1]) for name, table in tables.items()}


def _series(bag: Bag, topics: Collection[str | None], point: Callable[[Any], Any]) -> _Points:
    """Return sorted times and points; `point` extracts a point from a message, or None."""
    rows = [
        (time_s, p.x, p.y, p.z) for time_s, m in _read(bag, topics) if (p := point(m)) is not None
    ]
    table = np.array(sorted(rows)).reshape(-1, 4)
    return table[:, 0], table[:, 1:]


def _tip_by_model(message: Any) -> Any:
    return next(
        (
            t.transform.translation
            for t in message.transforms
            if t.child_frame_id.endswith(_TIP_BY_MODEL_SUFFIX)
        ),
        None,
    )


def _read(bag: Bag, topics: Collection[str | None]) -> Iterator[tuple[float, Any]]:
    """Yield time [s] since the bag's start, by the header or else the recording, and message."""
    connections = [connection for connection in bag.connections if connection.topic in topics]
    first_ns = bag.start_ns
    for _, recorded_ns, message in bag.decoded(connections):
        header = getattr(message, 'header', None)
        stamp_ns = header.stamp.sec * 1_000_000_000 + header.stamp.nanosec if header else 0
        yield ((stamp_ns or recorded_ns) - first_ns) * 1e-9, message
