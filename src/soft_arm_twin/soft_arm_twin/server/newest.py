"""Newest data of the source, encoded once for all pages."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from soft_arm_twin.controls import Control
from soft_arm_twin.errors import SceneError
from soft_arm_twin.scene import Scene
from soft_arm_twin.server import encoding
from soft_arm_twin.source import Event, Jpeg, Snapshot, Source

RATE_HZ = 30
PANEL_EVERY, CLOUD_EVERY, IMAGE_EVERY = 3, 3, 6  # ticks: 10, 10 and 5 Hz
_MAX_MISMATCH_TICKS = RATE_HZ  # ticks


@dataclass(frozen=True)
class Newest:
    """Encoded state at one time; the numbers identify what a page has been sent.

    Attributes:
        number: Number of this state.
        frames: Payload of the snapshot, and its `stamp_s`.
        scene: Message.
        panel: Message without the events.
        events: As in `Panel`.
        image: Newest camera image.
        cloud: Payload of the newest cloud with its number and `stamp_s`.
    """

    number: int = 0
    frames: bytes = b''
    stamp_s: float = 0.0
    scene_number: int = 0
    scene: str = ''
    panel_number: int = 0
    panel: str = ''
    events: tuple[Event, ...] = ()
    image: Jpeg | None = None
    cloud: tuple[int, float, bytes] | None = None
    event_texts: dict[int, str] = field(default_factory=dict)

    def events_after(self, number: int) -> str:
        """Return the message of all events newer than a number; empty if there are none."""
        if number not in self.event_texts:
            newer = [event for event in self.events if event.number > number]
            self.event_texts[number] = encoding.text('events', events=newer) if newer else ''
        return self.event_texts[number]


class Taker:
    """Poll the source at each tick.

    Attributes:
        newest: Newest state for the pages.
        controls: Controls of the newest panel by name, used to check commands.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._scene: Scene | None = None
        self._snapshot: Snapshot | None = None
        self._mismatches = 0
        self.newest = Newest()
        self.controls: dict[str, Control] = {}

    def tick(self) -> None:
        """Request the data that are due.

        Raises:
            SceneError: If for 1 s the snapshot had another number of frames than the scene. A
                source with threads may change its scene between two calls, so one tick may.
        """
        scene, snapshot = self._source.scene(), self._source.snapshot()
        if snapshot.frames.shape != (scene.n_frames, 3, 4):
            self._mismatches += 1
            if self._mismatches > _MAX_MISMATCH_TICKS:
                raise SceneError(
                    f'frames have shape {snapshot.frames.shape}, not ({scene.n_frames}, 3, 4)'
                )
            return
        self._mismatches = 0
        number = self.newest.number + 1
        changes: dict[str, Any] = {'number': number}
        if scene is not self._scene:
            changes |= {'scene_number': number, 'scene': encoding.scene_text(scene)}
        if snapshot is not self._snapshot:
            frames = np.ascontiguousarray(snapshot.frames, '<f4').tobytes()
            changes |= {'frames': frames, 'stamp_s': snapshot.stamp_s}
        if number % PANEL_EVERY == 1:
            changes |= self._panel(number)
        if number % CLOUD_EVERY == 1:
            changes |= self._cloud()
        if number % IMAGE_EVERY == 1:
            changes['image'] = self._source.image()
        self._scene, self._snapshot = scene, snapshot
        self.newest = replace(self.newest, **changes)

    def _panel(self, number: int) -> dict[str, Any]:
        panel = self._source.panel()
        self.controls = {control.name: control for control in panel.controls}
        content = {name: value for name, value in vars(panel).items() if name != 'events'}
        return {
            'panel_number': number,
            'panel': encoding.text('panel', **content),
            'events': panel.events,
            'event_texts': {},
        }

    def _cloud(self) -> dict[str, Any]:
        cloud = self._source.cloud()
        if cloud is None:
            return {'cloud': None}
        if self.newest.cloud and self.newest.cloud[0] == cloud.number:
            return {}
        return {'cloud': (cloud.number, cloud.stamp_s, encoding.cloud_payload(cloud))}
