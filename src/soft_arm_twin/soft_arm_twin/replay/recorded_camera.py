"""Pictures of the cameras in a bag: read from the disk, in a thread, at the time that is shown."""

import threading
import time
from collections import deque
from pathlib import Path
from typing import Self

from rosbags.interfaces import Connection

from soft_arm_twin.controls import Choice, Control
from soft_arm_twin.graph.pictures import jpeg_data
from soft_arm_twin.source import Jpeg
from softarm_cli.bags.file import Bag, open_bag
from softarm_cli.errors import BagError

NONE = 'none'
IMAGE_TYPE = 'sensor_msgs/msg/Image'
LOOKED_BACK_S = 0.5  # a camera that is slower shows no picture
PERIOD_S = 0.2


class RecordedCamera:
    """The picture that is shown. Use it in a `with` statement.

    Args:
        path: The bag.
        connections: Its connections.
        start_ns: Time of its first message [ns].
    """

    def __init__(self, path: Path, connections: list[Connection], start_ns: int):
        self._path, self._start_ns = path, start_ns
        self._topics = tuple(
            c.topic for c in connections if c.msgtype == IMAGE_TYPE and 'depth' not in c.topic
        )
        self._chosen, self._number = NONE, 0
        self._at_s = 0.0
        self._shown: tuple[float, bytes] | None = None
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, name='pictures of a bag', daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def controls(self) -> tuple[Control, ...]:
        """Return the choice of a picture; empty if none is recorded."""
        if not self._topics:
            return ()
        choice = Choice(
            name='camera/image',
            label='Picture',
            group='camera',
            options=(NONE, *self._topics),
            value=self._chosen,
            needs_control=False,
        )
        return (choice,)

    def choose(self, topic: str) -> None:
        """Show another topic, or none."""
        self._chosen = topic

    def image(self, at_s: float) -> Jpeg | None:
        """Return the picture of about this time of the bag [s]; its age is by the bag's clock."""
        self._at_s, shown = at_s, self._shown
        if shown is None:
            return None
        self._number += 1
        return Jpeg(self._number, time.monotonic() - max(at_s - shown[0], 0.0), shown[1])

    def _run(self) -> None:
        with open_bag(self._path) as bag:
            read: tuple[str, float] = NONE, 0.0
            while not self._ended.wait(PERIOD_S):
                wanted = self._chosen, self._at_s
                if wanted == read:
                    continue
                read = wanted
                try:
                    self._shown = self._newest(bag, *wanted)
                except BagError:  # a damaged picture is not shown
                    self._shown = None

    def _newest(self, bag: Bag, topic: str, at_s: float) -> tuple[float, bytes] | None:
        """Return time [s] and JPEG of the newest picture; None without one."""
        cameras = [c for c in bag.connections if c.topic == topic]
        if not cameras:
            return None
        until_ns = self._start_ns + round(at_s * 1e9)
        since_ns = until_ns - round(LOOKED_BACK_S * 1e9)
        newest = deque(bag.messages(cameras, since_ns, until_ns + 1), maxlen=1)
        if not newest:
            return None
        connection, stamp_ns, raw = newest[0]
        data = jpeg_data(bag.decode(connection, raw))
        return None if data is None else ((stamp_ns - self._start_ns) * 1e-9, data)
