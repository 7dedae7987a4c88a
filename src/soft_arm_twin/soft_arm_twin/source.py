"""Interface between the server and a source: a model or a ROS graph.

The server makes all calls from one asyncio thread. Each must return within 5 ms: a source does its
work in separate threads or callbacks and return finished results.
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from soft_arm_twin.controls import Control
from soft_arm_twin.scene import Scene

Level = Literal['info', 'warning', 'error']


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Poses of all frames at one time.

    Attributes:
        stamp_s: `time.monotonic()` at which the newest data in it arrived [s].
        frames: Affine maps from frame to world, shape (n_frames, 3, 4), float32. They may scale (an
            ellipsoid is a scaled sphere). All zeros: what follows this frame is hidden.
    """

    stamp_s: float
    frames: np.ndarray


@dataclass(frozen=True, eq=False)
class Jpeg:
    """Camera image; `number` grows with each new image, `stamp_s` is as in `Snapshot`."""

    number: int
    stamp_s: float
    data: bytes


@dataclass(frozen=True, eq=False)
class Cloud:
    """Point cloud in the world.

    Attributes:
        number: Grows with each new cloud.
        stamp_s: As in `Snapshot`.
        points_m: Shape (n, 3) [m].
        colours_rgb: Shape (n, 3), uint8.
    """

    number: int
    stamp_s: float
    points_m: np.ndarray
    colours_rgb: np.ndarray


@dataclass(frozen=True)
class Value:
    """Displayed number.

    Attributes:
        group: Heading on the page.
        name: Label.
        value: Value [unit], None if unknown.
        unit: Displayed unit: 'kPa', 'mm'.
        set_point: Set point [unit], or None.
        low: Lower limit [unit], or None.
        high: Upper limit [unit], or None.
        source: Name of the `Age` of its data, or empty; the page strikes out stale values.
    """

    group: str
    name: str
    value: float | None
    unit: str
    set_point: float | None = None
    low: float | None = None
    high: float | None = None
    source: str = ''


@dataclass(frozen=True)
class Age:
    """Age of the newest data of a source [s], None before the first, and its limit [s]."""

    name: str
    age_s: float | None
    limit_s: float


@dataclass(frozen=True)
class Diagnostic:
    """Diagnostic status and its remedy (empty if none is needed)."""

    level: Level
    name: str
    text: str
    remedy: str = ''


@dataclass(frozen=True)
class Event:
    """Logged event.

    Attributes:
        number: Grows by one with each event.
        time_s: Seconds since 1970 UTC, by the graph's clock or as recorded.
        level: Severity.
        source: Name of the reporting node or part.
        text: One line.
    """

    number: int
    time_s: float
    level: Level
    source: str
    text: str


@dataclass(frozen=True)
class Series:
    """Newest point of a line in a running plot; `y` is None without a value.

    Attributes:
        plot: Title of the plot.
        name: Name of the line; all lines of a plot have the same unit.
        unit: Displayed unit of `y`.
        t_s: Time on one clock for all series [s]; a point of an unchanged time is drawn once.
        y: Value [unit].
    """

    plot: str
    name: str
    unit: str
    t_s: float
    y: float | None


@dataclass(frozen=True)
class TextBlock:
    """Lines of text under a title."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Panel:
    """Contents of the side panels, requested ten times a second.

    `events` holds the newest, at most 500, oldest first; the server sends each page what is new to
    it.
    """

    controls: tuple[Control, ...] = ()
    values: tuple[Value, ...] = ()
    ages: tuple[Age, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    events: tuple[Event, ...] = ()
    plots: tuple[Series, ...] = ()
    texts: tuple[TextBlock, ...] = ()


@dataclass(frozen=True)
class Answer:
    """Outcome of a command, in one line.

    A source that hands out a file (a pose, a table) names it and gives its text: the page that
    asked saves it.
    """

    accepted: bool
    text: str = ''
    file_name: str = ''
    file_text: str = ''


class Source(Protocol):
    """Displayed and commanded system."""

    title: str

    def scene(self) -> Scene:
        """Return the scene: the same object until it changes."""

    def snapshot(self) -> Snapshot:
        """Return the present poses: the same object until something has moved.

        The scene's `n_frames` and the number of frames agree; asked for 30 times a second.
        """

    def panel(self) -> Panel:
        """Return the contents of the side panels."""

    def image(self) -> Jpeg | None:
        """Return the newest camera image; images are sent at most 5 times a second."""

    def cloud(self) -> Cloud | None:
        """Return the newest cloud; clouds are sent at most 10 times a second."""

    def command(self, control: str, value: object, owner: bool) -> Answer | Awaitable[Answer]:
        """Execute a command of a page.

        The server has checked it against the newest panel: the control exists and is enabled, type,
        range and finiteness of the value are right (see `controls`), and the page has control if
        the control needs it.

        Args:
            control: Name of the control.
            value: Float for a slider, bool for a switch, None for a button, str for a choice or a
                text, a tuple of three floats [m] for a point.
            owner: Whether the page has control.
        """

    def released(self) -> None:
        """Stop all that needs an owner: the owner has released control or disconnected."""
