"""Draw a recording."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from soft_arm_identification.recording import Channels, Recording

# Unit and factor in which values of an SI unit are drawn.
_SHOWN = {'Pa': ('kPa', 1e-3), 'm': ('mm', 1e3), 'rad': ('deg', 180 / np.pi)}


def draw(recording: Recording, out: Path) -> None:
    """Write inputs and tip over time to a picture file.

    Raises:
        OSError: If the file cannot be written.
    """
    figure = Figure(figsize=(10, 6), layout='constrained')
    above, below = figure.subplots(2, 1, sharex=True)
    _draw_channels(above, recording.time_s, recording.inputs, '-')
    _draw_channels(above, recording.time_s, recording.measured, ':')
    above.set_title(f'{recording.name}: inputs (dotted: measured)', loc='left')
    for axis, name in enumerate('xyz' if recording.points else ''):
        below.plot(recording.time_s, 1e3 * recording.tip_m[:, axis], label=name)
    below.set_title(recording.points[-1] if recording.points else 'no positions', loc='left')
    below.set_ylabel('position [mm]')
    below.set_xlabel('time [s]')
    colours: dict[str, str] = {}
    for part in recording.dropped:
        for first_s, last_s in part.spans_s:
            label = None if part.reason in colours else f'dropped: {part.reason}'
            colour = colours.setdefault(part.reason, f'C{len(colours) + 3}')
            below.axvspan(first_s, last_s, color=colour, alpha=0.4, label=label)
    for axes in (above, below):
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(fontsize='x-small', loc='center left', bbox_to_anchor=(1.0, 0.5))
    figure.savefig(out, dpi=120)


def _draw_channels(axes: Axes, time_s: np.ndarray, channels: Channels, style: str) -> None:
    for place, (name, unit) in enumerate(zip(channels.names, channels.units, strict=True)):
        shown, factor = _SHOWN.get(unit, (unit, 1.0))
        axes.plot(
            time_s,
            factor * channels.values[:, place],
            style,
            color=f'C{place}',
            label=f'{name} [{shown}]',
        )
