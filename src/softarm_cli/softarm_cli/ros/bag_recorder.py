"""Recording of topics as rosbag2 folders (MCAP), without rosbag2.

Messages are taken from DDS and written as bytes, never decoded. Their definitions and type hashes
come from the packages' share folders.
"""

import logging
import queue
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from rclpy.qos import QoSProfile
from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError

from soft_arm_node_kit.session import Session
from softarm_cli.errors import BagError, MessageTypeError
from softarm_cli.graph.message_types import message_class, message_definition
from softarm_cli.ros.graph import matching_qos

_BAG_VERSION: Literal[9] = 9  # the metadata.yaml of Jazzy
_QUEUE_DEPTH = 1000  # covers delays of the disk
_SCAN_S = 0.25
_IMAGE, _CLOUD = 'sensor_msgs/msg/Image', 'sensor_msgs/msg/PointCloud2'
_UNSPECIFIED = QosTime(0, 0)

_log = logging.getLogger(__name__)


class Recorder:
    """Record topics from `start` to `stop`, with a node and threads.

    A topic is recorded from its discovery on, up to 3 s after its publisher starts.
    """

    def __init__(self) -> None:
        self._session = Session('bag_recorder')
        self._queue: queue.SimpleQueue = queue.SimpleQueue()
        self._subscriptions: dict[str, object] = {}
        self._connections: dict[str, Connection] = {}
        self._wanted: frozenset[str] | None = None
        self._images = False
        self._failed: OSError | None = None
        self.message_count = 0
        self.byte_count = 0

    @property
    def topics(self) -> list[str]:
        """Names of the topics found so far."""
        return sorted(
            name for name, subscription in self._subscriptions.items() if subscription is not None
        )

    def start(self, topics: Iterable[str] | None, out: Path, images: bool = False) -> None:
        """Start recording.

        Args:
            topics: Full names of the topics; None is every topic but raw images and point clouds.
            out: Folder of the bag; must not exist.
            images: Whether to include the raw images of every camera.

        Raises:
            BagError: If the folder exists or cannot be created.
        """
        self._wanted, self._images = None if topics is None else frozenset(topics), images
        out = Path(out)
        if out.exists():
            raise BagError(
                f'{out} exists already: give another folder with -o, so that no recording is lost'
            )
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            self._writer = Writer(out, version=_BAG_VERSION, storage_plugin=StoragePlugin.MCAP)
            self._writer.open()
        except (WriterError, OSError) as error:
            raise BagError(f'cannot write the bag {out}: {error}') from error
        self._session.__enter__()
        self._scan()
        self._session.node.create_timer(_SCAN_S, self._scan)
        self._session.spin_in_thread()
        self._thread = threading.Thread(target=self._write, name='bag write')
        self._thread.start()

    def stop(self) -> dict:
        """Stop recording; return its `topics`, `message_count` and `byte_count`.

        Raises:
            BagError: If writing failed; earlier messages are kept.
        """
        self._session.__exit__()
        self._queue.put(None)
        self._thread.join()
        self._writer.close()
        if self._failed is not None:
            raise BagError(f'the bag is incomplete: {self._failed}') from self._failed
        return {
            'topics': self.topics,
            'message_count': self.message_count,
            'byte_count': self.byte_count,
        }

    def _scan(self) -> None:
        for name, types in self._session.node.get_topic_names_and_types():
            if name in self._subscriptions or not self._is_wanted(name, types[0]):
                continue
            offered = [
                info.qos_profile for info in self._session.node.get_publishers_info_by_topic(name)
            ]
            if offered:
                self._subscriptions[name] = self._subscribe(name, types[0], offered)

    def _is_wanted(self, name: str, type_name: str) -> bool:
        if (
            type_name == _IMAGE and self._images and '/debug/' not in name
        ):  # debug images are drawn only for subscribers
            return True
        if self._wanted is not None:
            return name in self._wanted
        return (
            type_name not in (_IMAGE, _CLOUD) and '/_' not in name
        )  # hidden topics are omitted, as by ros2 bag

    def _subscribe(self, name: str, type_name: str, offered: list[QoSProfile]) -> Any:
        try:
            kind, definition = message_class(type_name), message_definition(type_name)
        except MessageTypeError as error:
            _log.warning('%s is not recorded: %s', name, error)
            return None
        self._queue.put(
            (self._add, (name, type_name, definition, [_bag_qos(qos) for qos in offered]))
        )
        return self._session.node.create_subscription(
            kind,
            name,
            lambda raw: self._queue.put((self._append, (name, time.time_ns(), raw))),
            matching_qos(offered, _QUEUE_DEPTH),
            raw=True,
        )

    def _write(self) -> None:
        """Write to the file, in a single thread."""
        while (item := self._queue.get()) is not None:
            action, arguments = item
            if self._failed is None:
                try:
                    action(*arguments)
                except OSError as error:
                    self._failed = error

    def _add(
        self, name: str, type_name: str, definition: tuple[str, str], offered: list[Qos]
    ) -> None:
        text, type_hash = definition
        self._connections[name] = self._writer.add_connection(
            name, type_name, msgdef=text, rihs01=type_hash, offered_qos_profiles=offered
        )

    def _append(self, name: str, stamp_ns: int, raw: bytes) -> None:
        self._writer.write(self._connections[name], stamp_ns, raw)
        self.message_count += 1
        self.byte_count += len(raw)


def _bag_qos(qos: QoSProfile) -> Qos:
    return Qos(
        QosHistory.KEEP_LAST,
        qos.depth or 10,  # DDS does not announce the depth
        QosReliability(qos.reliability.value),
        QosDurability(qos.durability.value),
        _UNSPECIFIED,
        _UNSPECIFIED,
        QosLiveliness.AUTOMATIC,
        _UNSPECIFIED,
        False,
    )
