"""The messages of a bag by time: what was newest at any moment is found by bisection.

Messages stay as they were recorded, in memory, and are decoded when they are shown. Images are not
among them.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from softarm_cli.bags.file import Bag

LOGS_BEFORE = 100  # lines of the log that are shown after a jump
_TF, _DIAGNOSTICS = 'tf2_msgs/msg/TFMessage', 'diagnostic_msgs/msg/DiagnosticArray'
_LOGS = ('rcl_interfaces/msg/Log', 'soft_arm_msgs/msg/ControllerEvent')


class Recording:
    """All messages of some topics of a bag.

    Of a topic the newest message counts. Where nodes share a topic, the newest of each counts: they
    are told apart by the size of their messages, transforms also by the frames that come first in
    them, diagnostics by the names of the nodes. Of logs, every message counts.

    Args:
        bag: The bag; it must be open while this is made.
        topics: Full names of the topics; the bag need not hold them.
        progress: Is called with the number of messages read, now and then.

    Attributes:
        start_ns: Time of the first message of the bag [ns].
        duration_s: Time from its first message to its last [s].
    """

    def __init__(
        self, bag: Bag, topics: Collection[str], progress: Callable[[int], None] = lambda _: None
    ):
        self._bag = bag
        self.start_ns, self.duration_s = bag.start_ns, bag.duration_s
        wanted = [connection for connection in bag.connections if connection.topic in topics]
        entries = []
        for entry in bag.messages(wanted) if wanted else ():
            entries.append(entry)
            if len(entries) % 1000 == 0:
                progress(1000)
        entries.sort(key=lambda entry: entry[1])
        self._entries = entries
        self._stamps_ns = np.array([at_ns for _, at_ns, _ in entries], np.int64)
        self._logs = np.array(
            [i for i, (connection, _, _) in enumerate(entries) if connection.msgtype in _LOGS], int
        )
        self._streams: dict[str, list[np.ndarray]] = {}
        for (topic, *_), numbers in self._numbers_by_sender().items():
            self._streams.setdefault(topic, []).append(np.array(numbers, int))

    def _numbers_by_sender(self) -> dict[tuple, list[int]]:
        found: dict[tuple, list[int]] = {}
        for i, (connection, _, raw) in enumerate(self._entries):
            if connection.msgtype == _DIAGNOSTICS:
                names = [status.name for status in self._bag.decode(connection, raw).status]
                sender: tuple = (connection.topic, *names)
            elif connection.msgtype == _TF:
                sender = (connection.topic, len(raw), _first_frames(raw))
            else:
                sender = (connection.topic, len(raw))
            if connection.msgtype not in _LOGS:
                found.setdefault(sender, []).append(i)
        return found

    def newest(
        self, after_s: float | None, until_s: float, topics: Collection[str] | None = None
    ) -> Iterator[tuple[str, float, Any]]:
        """Yield topic, time [s] and message of what changes a state, in order.

        Args:
            after_s: Time of the state that is known [s]; None: no state is known.
            until_s: Time of the state that is asked for [s].
            topics: Those that count; None: all.

        Raises:
            BagError: If a message is damaged.
        """
        after_ns = self.start_ns - 1 if after_s is None else self._ns(after_s)
        until_ns = self._ns(until_s)
        found: list[int] = []
        for topic, streams in self._streams.items():
            if topics is None or topic in topics:
                for numbers in streams:
                    i = np.searchsorted(self._stamps_ns[numbers], until_ns, 'right') - 1
                    if i >= 0 and self._stamps_ns[numbers[i]] > after_ns:
                        found.append(int(numbers[i]))
        first, last = np.searchsorted(self._stamps_ns[self._logs], (after_ns, until_ns), 'right')
        first = max(first, last - LOGS_BEFORE) if after_s is None else first
        found += [
            i
            for i in self._logs[first:last].tolist()
            if topics is None or self._entries[i][0].topic in topics
        ]
        yield from map(self._message, sorted(found))

    def messages(self, topic: str) -> Iterator[tuple[str, float, Any]]:
        """Yield topic, time [s] and message of all messages of a topic, in order."""
        for i, (connection, _, _) in enumerate(self._entries):
            if connection.topic == topic:
                yield self._message(i)

    def _message(self, number: int) -> tuple[str, float, Any]:
        connection, at_ns, raw = self._entries[number]
        at_s = (at_ns - self.start_ns) * 1e-9
        return connection.topic, at_s, self._bag.decode(connection, raw)

    def _ns(self, time_s: float) -> int:
        return self.start_ns + round(time_s * 1e9)


def _first_frames(raw: bytes) -> bytes:
    """Return the names of the first two frames in a CDR message of transforms.

    Four bytes say how it is encoded; then come the number of transforms, a stamp of eight bytes,
    and both names, each after its length and from a multiple of four bytes on.
    """
    order = 'little' if raw[1] else 'big'
    length = int.from_bytes(raw[16:20], order)  # type: ignore[arg-type]
    child = 20 + length + -length % 4
    return raw[16 : child + 4 + int.from_bytes(raw[child : child + 4], order)]  # type: ignore[arg-type]
