"""The source of a replay: a recorded bag, shown at any time, forth and back, at any speed.

It never publishes: it joins no graph. Its ages and events go by the bag's clock.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from soft_arm_twin.controls import Choice, Control, Slider, Switch
from soft_arm_twin.graph.drawing import Drawing
from soft_arm_twin.graph.known_graph import KnownGraph
from soft_arm_twin.replay.marks import find_marks
from soft_arm_twin.replay.recorded_camera import RecordedCamera
from soft_arm_twin.replay.recording import Recording
from soft_arm_twin.replay.systems import find_systems
from soft_arm_twin.scene import Scene
from soft_arm_twin.source import (
    Answer,
    Cloud,
    Diagnostic,
    Jpeg,
    Mark,
    Panel,
    Series,
    Snapshot,
    TextBlock,
)
from softarm_cli.bags.file import open_bag
from softarm_cli.errors import BagError

SPEEDS = ('0.25', '0.5', '1', '2', '4', '8')
RATE_HZ, PANEL_EVERY = 30, 3
PLOTTED_S, PLOT_STEP_S = 60.0, 0.5  # what plots show after a jump
SETTLED_S = 0.3  # after the last of several jumps, plots are filled
FILLING_PANELS = 4  # so many hold these points: a slow page may miss one
_CUT = 'the recorder was killed: the recording ends at the cut'


class BagSource:
    """Shows a bag. Use it in a `with` statement.

    Args:
        path: Folder of the bag.
        robots: Name or path of the robot file, by namespace, see `find_systems`.
        progress: Is called with the number of messages read, now and then.
        play: Whether it plays from the start; else it stands there.

    Attributes:
        duration_s: Time from the first message to the last [s].
        is_cut: Whether the recorder was killed.
        marks: On the time line.

    Raises:
        BagError: If there is no bag, or it is damaged.
        TwinError: If its robots are not known.
    """

    def __init__(
        self,
        path: Path,
        robots: Mapping[str, str] | None = None,
        progress: Callable[[int], None] = lambda _: None,
        play: bool = True,
    ):
        self._known = KnownGraph(lambda: self._start_s + self._at_s)
        self._history = KnownGraph(lambda: 0.0)
        with open_bag(path) as bag:
            systems = find_systems(bag, robots or {})
            for known in (self._known, self._history):
                systems.add_to(known)
            topics = {topic.name for topic in self._known.topics()}
            self._recording = Recording(bag, topics, progress)
            self._camera = RecordedCamera(path, bag.connections, bag.start_ns)
        self.title, self._path, self.is_cut = f'replay of {bag.path.name}', path, bag.is_cut
        self._start_s, self.duration_s = 1e-9 * bag.start_ns, max(bag.duration_s, 0.1)
        self._at_s = self.duration_s
        self._drawing = Drawing(self._known)
        self._apply(self._known, None, self.duration_s)  # robots' descriptions, and their places
        self._drawing.scene()
        self._described = {topic for topic in topics if topic.endswith('/robot_description')}
        self._plotted = {
            topic.name for robot in self._history.soft_robots for topic in robot.topics()
        }
        found, self._more_marks = find_marks(self._recording, self._known)
        cut = (Mark(self.duration_s, 'warning', _CUT),) if self.is_cut else ()
        self.marks = (*found, *cut)
        self._wake, self._ended = threading.Condition(), False
        self._asked_s: float | None = None
        self._error: BagError | None = None
        self._playing, self._speed = play, '1'
        self._filling: tuple[Series, ...] | None = None
        self._to_fill = 0
        self._jumped_s = 0.0
        self._jump(0.0)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, name='replay', daemon=True)
        self._thread.start()
        self._camera.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        with self._wake:
            self._ended = True
            self._wake.notify()
        self._thread.join()
        self._camera.__exit__(*error)

    def _run(self) -> None:
        try:
            self._go_on()
        except BagError as error:
            self._error = error

    def _go_on(self) -> None:
        """Move on, 30 times a second, until the source is left."""
        last_s, tick = time.monotonic(), 0
        while True:
            with self._wake:
                if self._asked_s is None:
                    self._wake.wait(1.0 / RATE_HZ)
                if self._ended:
                    return
                asked_s, self._asked_s = self._asked_s, None
            now_s = time.monotonic()
            step_s, last_s, tick = float(self._speed) * (now_s - last_s), now_s, tick + 1
            if asked_s is not None:
                self._jump(asked_s)
            elif self._playing:
                self._play(min(self._at_s + step_s, self.duration_s))
            if self._filling is None and now_s - self._jumped_s > SETTLED_S:
                self._filling, self._to_fill = self._past(), FILLING_PANELS
                self._show()
            elif self._playing and tick % PANEL_EVERY == 0:
                self._show()

    def _play(self, until_s: float) -> None:
        """Go on to a time [s]; at the end of the bag, stand still."""
        before_s, self._at_s = self._at_s, until_s
        self._apply(self._known, before_s, until_s, self._topics)
        self._snapshot = self._drawing.snapshot(time.monotonic())
        if until_s >= self.duration_s:
            self._playing = False
            self._show()

    def _jump(self, at_s: float) -> None:
        """Show another time [s]."""
        self._at_s = at_s
        self._epoch = self._known.forget()
        self._apply(self._known, None, at_s, self._topics)
        self._filling, self._jumped_s = None, time.monotonic()
        self._snapshot = self._drawing.snapshot(time.monotonic())
        self._show()

    @property
    def _topics(self) -> Collection[str]:
        """Topics whose messages change with time."""
        return {topic.name for topic in self._known.topics()} - self._described

    def _apply(
        self,
        known: KnownGraph,
        after_s: float | None,
        until_s: float,
        topics: Collection[str] | None = None,
    ) -> None:
        takes: dict[str, list[Callable[[Any, float], None]]] = {}
        for topic in known.topics():
            takes.setdefault(topic.name, []).append(topic.take)
        for name, at_s, message in self._recording.newest(after_s, until_s, topics):
            for take in takes[name]:
                take(message, at_s)

    def _past(self) -> tuple[Series, ...]:
        """Return the points of all plots before now, in order."""
        self._history.forget()
        known_s: float | None = None
        count = int(min(PLOTTED_S, self._at_s) / PLOT_STEP_S)
        points: dict[Series, None] = {}
        for i in range(count, -1, -1):
            until_s = self._at_s - i * PLOT_STEP_S
            self._apply(self._history, known_s, until_s, self._plotted)
            known_s = until_s
            points |= dict.fromkeys(self._history.plots())
        return tuple(points)

    def _show(self) -> None:
        """Make what stands beside the picture."""
        known, at_s = self._known, self._at_s
        cut = Diagnostic('warning', 'bag', _CUT, 'end softarm bag record with Ctrl-C')
        self._panel = Panel(
            values=known.values(),
            ages=known.ages(at_s),
            diagnostics=(*known.diagnostics(at_s), *((cut,) if self.is_cut else ())),
            events=known.journal.events(),
            plots=known.plots(),
            texts=(TextBlock('Recording', self._lines()), *known.texts()),
            marks=self.marks,
            epoch=self._epoch,
        )

    def _lines(self) -> tuple[str, ...]:
        now = time.localtime(self._start_s + self._at_s)
        lines = [
            f'{self._path}',
            f'recorded {time.strftime("%Y-%m-%d %H:%M:%S", now)}, '
            f'{self._at_s:.1f} s of {self.duration_s:.1f} s',
        ]
        if self.is_cut:
            lines.append(_CUT)
        if self._more_marks:
            lines.append(f'{self._more_marks} more goals, faults and saturations have no mark')
        return tuple(lines)

    def scene(self) -> Scene:
        """Return what is drawn."""
        return self._drawing.scene()

    def snapshot(self) -> Snapshot:
        """Return where everything was.

        Raises:
            BagError: If a message of that time is damaged.
        """
        if self._error is not None:
            raise self._error
        return self._snapshot

    def panel(self) -> Panel:
        """Return what stands beside the picture."""
        panel, filling = self._panel, self._filling
        plots: tuple[Series, ...] = ()
        if filling is not None:
            plots = (*filling, *panel.plots) if self._to_fill > 0 else panel.plots
            self._to_fill -= 1
        return replace(panel, controls=self._controls(), plots=plots)

    def _controls(self) -> tuple[Control, ...]:
        asked_s = self._asked_s
        return (
            Switch(
                name='play', label='Play', group='Replay', value=self._playing, needs_control=False
            ),
            Slider(
                name='time',
                label='Time',
                group='Replay',
                low=0.0,
                high=self.duration_s,
                step=0.1,
                value=self._at_s if asked_s is None else asked_s,
                unit='s',
                needs_control=False,
            ),
            Choice(
                name='speed',
                label='Speed',
                group='Replay',
                options=SPEEDS,
                value=self._speed,
                needs_control=False,
            ),
            *self._camera.controls(),
        )

    def image(self) -> Jpeg | None:
        """Return the picture of the camera that is chosen."""
        return self._camera.image(self._at_s)

    def cloud(self) -> Cloud | None:
        """Return no points."""
        return None

    def command(self, control: str, value: Any, owner: bool) -> Answer:
        """Move the time; from the end, playing begins anew."""
        if control == 'camera/image':
            self._camera.choose(value)
            return Answer(True)
        with self._wake:
            if control == 'time':
                self._asked_s = value
            elif control == 'speed':
                self._speed = value
            else:
                if value and self._at_s >= self.duration_s and self._asked_s is None:
                    self._asked_s = 0.0
                self._playing = value
            self._wake.notify()
        return Answer(True)

    def released(self) -> None:
        """Do nothing: a replay moves nothing."""
