"""Two clicks for each line of a finger in a window."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from soft_arm_description.robot import Robot
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger.records import REFERENCE, PictureRecord, append_clicks


class LineClicks:
    """Collect clicks on an image: two per line, reference first, then base to tip.

    A right click undoes the last one.

    Args:
        figure: Figure that shows the image.
        picture: The image, RGB (h, w, 3) uint8.
        title: Title of the image.
        robot: Robot file of the finger.
    """

    def __init__(self, figure: Figure, picture: np.ndarray, title: str, robot: Robot):
        self._names, self._title = [REFERENCE, *robot.segment_names], title
        self._clicks: list[tuple[float, float]] = []
        figure.clear()
        self._figure, self._axes = figure, figure.add_subplot()
        self._axes.imshow(picture)
        self._connection = figure.canvas.mpl_connect('button_press_event', self._on_click)
        self._show()

    @property
    def lines_px(self) -> np.ndarray | None:
        """Ends of the lines (1 + n_segments, 2, 2) [px]; None until all have been clicked."""
        return (
            np.array(self._clicks).reshape(-1, 2, 2)
            if len(self._clicks) == 2 * len(self._names)
            else None
        )

    def _on_click(self, event: Any) -> None:
        if event.inaxes is not self._axes:
            return
        if event.button == 3:
            del self._clicks[-1:]
        elif event.button == 1:
            self._clicks.append((event.xdata, event.ydata))
        self._show()
        if self.lines_px is not None:
            self._figure.canvas.mpl_disconnect(self._connection)
            self._figure.canvas.stop_event_loop()

    def _show(self) -> None:
        number = len(self._clicks) // 2
        for line in list(self._axes.lines):
            line.remove()
        for start in range(0, len(self._clicks), 2):
            self._axes.plot(
                *np.transpose(self._clicks[start : start + 2]), '+-', color='C2' if start else 'C0'
            )
        name = self._names[min(number, len(self._names) - 1)]
        self._axes.set_title(
            f'{self._title}: {"end" if len(self._clicks) % 2 else "one end"} of the line of {name}'
        )
        self._figure.canvas.draw_idle()


def click_records(records: list[PictureRecord], done: set[str], path: Path, robot: Robot) -> None:
    """Ask for the lines of all images that are not `done`, and append them to a file of clicks.

    Raises:
        VisionError: Without a display, or if the window is closed before the last line.
    """
    from matplotlib import pyplot  # chooses the window system

    if pyplot.get_backend().lower() == 'agg':
        raise VisionError(
            'no display to click in: leave --click out, and give the lines with --clicks or '
            'let them be found'
        )
    figure = pyplot.figure(figsize=(12, 9))
    for record in records:
        if record.colour.name in done:
            continue
        session = LineClicks(
            figure,
            record.images()[0],
            f'{record.colour.name}, {record.pressure_pa / 1e3:.1f} kPa',
            robot,
        )
        figure.show()
        figure.canvas.start_event_loop()
        if session.lines_px is None:
            raise VisionError(
                f'the window was closed at {record.colour.name}: what was clicked before is '
                f'in {path}'
            )
        append_clicks(path, robot, record.colour.name, session.lines_px)
    pyplot.close(figure)
