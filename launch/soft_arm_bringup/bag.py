"""Recording and replaying topics as rosbag2 folders (MCAP) that `ros2 bag` reads, without rosbag2 installed.

Messages are taken from DDS and written as bytes, never decoded. Their definitions and type hashes come from the packages' share folders.
"""

import importlib
import json
import logging
import queue
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import rclpy
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import Reader, ReaderError, StoragePlugin, Writer, WriterError

_BAG_VERSION = 9  # the metadata.yaml of Jazzy
_QUEUE_DEPTH = 1000  # messages that DDS may hold for us while the disk is busy
_SCAN_S = 0.25
_LARGE = ('sensor_msgs/msg/Image', 'sensor_msgs/msg/PointCloud2')
_UNSPECIFIED = QosTime(0, 0)

_log = logging.getLogger(__name__)


class BagError(ValueError):
    """A bag that cannot be written or read; one line with path and remedy."""


class Recorder:
    """Records topics from `start` to `stop`, on a node and threads of its own beside whatever the process runs.

    Only what is published after a topic was found is in the bag: finding takes up to 3 s after a publisher starts.
    """

    def __init__(self):
        self._queue: queue.SimpleQueue = queue.SimpleQueue()
        self._subscriptions: dict[str, object] = {}
        self._connections: dict[str, object] = {}
        self._wanted: frozenset[str] | None = None
        self._failed: OSError | None = None
        self.message_count = 0
        self.byte_count = 0

    @property
    def topics(self) -> list[str]:
        """Names of the topics found so far."""
        return sorted(name for name, subscription in self._subscriptions.items() if subscription is not None)

    def start(self, topics: Iterable[str] | None, out: Path) -> None:
        """Begin to record.

        Args:
            topics: Full names of the topics; None is every topic but raw images and point clouds.
            out: Folder of the bag; must not exist.

        Raises:
            BagError: If the folder cannot be made.
        """
        self._wanted = None if topics is None else frozenset(topics)
        out = Path(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._writer = Writer(out, version=_BAG_VERSION, storage_plugin=StoragePlugin.MCAP)
            self._writer.open()
        except (WriterError, OSError) as error:
            raise BagError(f'cannot write the bag {out}: {error}') from error
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = Node('bag_recorder', context=self._context, enable_rosout=False, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._scan()
        self._node.create_timer(_SCAN_S, self._scan)
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._spin, name='bag spin'), threading.Thread(target=self._write, name='bag write')]
        for thread in self._threads:
            thread.start()

    def stop(self) -> dict:
        """End the recording, complete the bag, and return `topics`, `message_count` and `byte_count`.

        Raises:
            BagError: If the disk refused; what was written before is kept.
        """
        self._stopping.set()
        spin, write = self._threads
        spin.join()
        self._queue.put(None)
        write.join()
        self._writer.close()
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()
        if self._failed is not None:
            raise BagError(f'the bag is incomplete: {self._failed}') from self._failed
        return {'topics': self.topics, 'message_count': self.message_count, 'byte_count': self.byte_count}

    def _spin(self) -> None:
        while not self._stopping.is_set():
            self._executor.spin_once(timeout_sec=0.1)

    def _scan(self) -> None:
        for name, types in self._node.get_topic_names_and_types():
            if name in self._subscriptions or not self._is_wanted(name, types[0]):
                continue
            offered = [info.qos_profile for info in self._node.get_publishers_info_by_topic(name)]
            if offered:
                self._subscriptions[name] = self._subscribe(name, types[0], offered)

    def _is_wanted(self, name: str, type_name: str) -> bool:
        if self._wanted is not None:
            return name in self._wanted
        return type_name not in _LARGE and '/_' not in name  # hidden topics are left out, as by ros2 bag

    def _subscribe(self, name: str, type_name: str, offered: list[QoSProfile]):
        try:
            kind, definition = message_class(type_name), message_definition(type_name)
        except BagError as error:
            _log.warning('%s is not recorded: %s', name, error)
            return None
        everyone_is_reliable = all(qos.reliability == ReliabilityPolicy.RELIABLE for qos in offered)
        everyone_is_latched = all(qos.durability == DurabilityPolicy.TRANSIENT_LOCAL for qos in offered)
        profile = QoSProfile(
            depth=_QUEUE_DEPTH,
            reliability=ReliabilityPolicy.RELIABLE if everyone_is_reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if everyone_is_latched else DurabilityPolicy.VOLATILE,
        )
        self._queue.put((self._add, (name, type_name, definition, [_bag_qos(qos) for qos in offered])))
        return self._node.create_subscription(
            kind, name, lambda raw: self._queue.put((self._append, (name, time.time_ns(), raw))), profile, raw=True
        )

    def _write(self) -> None:
        """The one thread that touches the file."""
        while (item := self._queue.get()) is not None:
            action, arguments = item
            if self._failed is None:
                try:
                    action(*arguments)
                except OSError as error:
                    self._failed = error

    def _add(self, name: str, type_name: str, definition: tuple[str, str], offered: list[Qos]) -> None:
        text, type_hash = definition
        self._connections[name] = self._writer.add_connection(name, type_name, msgdef=text, rihs01=type_hash, offered_qos_profiles=offered)

    def _append(self, name: str, stamp_ns: int, raw: bytes) -> None:
        self._writer.write(self._connections[name], stamp_ns, raw)
        self.message_count += 1
        self.byte_count += len(raw)


def play(bag: Path, rate: float = 1.0, stop: threading.Event | None = None, on_message=None) -> int:
    """Publish a bag's messages at their recorded distances in time; return how many were published.

    Args:
        bag: Folder of the bag.
        rate: 2.0 is twice as fast.
        stop: Ends the replay early when set.
        on_message: Called after each message with its time since the first [s], as recorded.

    Raises:
        BagError: If the bag cannot be read.
    """
    stop = stop or threading.Event()
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = Node('bag_player', context=context, enable_rosout=False, start_parameter_services=False)
    try:
        with open_bag(bag) as reader:
            publishers = {connection.id: _publisher(node, connection) for connection in reader.connections}
            _wait_for_subscribers(publishers.values(), stop)
            started, first_ns, count = time.monotonic(), None, 0
            for connection, stamp_ns, raw in reader.messages():
                first_ns = stamp_ns if first_ns is None else first_ns
                elapsed_s = (stamp_ns - first_ns) * 1e-9
                if stop.wait(max(0.0, started + elapsed_s / rate - time.monotonic())):
                    break
                if publishers[connection.id] is not None:
                    publishers[connection.id].publish(bytes(raw))
                    count += 1
                if on_message:
                    on_message(elapsed_s)
            for publisher in filter(None, publishers.values()):
                publisher.wait_for_all_acked(Duration(seconds=1))
            return count
    finally:
        node.destroy_node()
        context.try_shutdown()


def open_bag(bag: Path) -> Reader:
    """A rosbags Reader, to be used in a `with` statement.

    Raises:
        BagError: If there is no complete bag.
    """
    try:
        return Reader(bag)
    except (ReaderError, OSError) as error:
        raise BagError(f'cannot read the bag {bag}: {error}') from error


def message_class(type_name: str) -> type:
    """The Python class of a message type such as `std_msgs/msg/Header`."""
    package, kind, name = type_name.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.{kind}'), name)
    except (ImportError, AttributeError) as error:
        raise BagError(f'type {type_name} is not installed here') from error


def message_definition(type_name: str) -> tuple[str, str]:
    """The text of a message type with all it refers to, as bags hold it, and its RIHS01 hash."""
    package, kind, name = type_name.split('/')
    try:
        folder = Path(get_package_share_directory(package)) / kind
        description = json.loads((folder / f'{name}.json').read_text())
        parts = [(folder / f'{name}.msg').read_text()]
        for referred in description['type_description_msg']['referenced_type_descriptions']:
            other_package, other_kind, other = referred['type_name'].split('/')
            path = Path(get_package_share_directory(other_package)) / other_kind / f'{other}.msg'
            parts.append(f'MSG: {other_package}/{other}\n{path.read_text()}')
    except (PackageNotFoundError, OSError) as error:
        raise BagError(f'type {type_name} has no definition here: {error}') from error
    type_hash = next(entry['hash_string'] for entry in description['type_hashes'] if entry['type_name'] == type_name)
    return f'\n{"=" * 80}\n'.join(parts), type_hash


def _bag_qos(qos: QoSProfile) -> Qos:
    return Qos(
        QosHistory.KEEP_LAST,
        qos.depth or 10,  # the depth does not travel over DDS
        QosReliability(qos.reliability.value),
        QosDurability(qos.durability.value),
        _UNSPECIFIED,
        _UNSPECIFIED,
        QosLiveliness.AUTOMATIC,
        _UNSPECIFIED,
        False,
    )


def _publisher(node: Node, connection):
    offered = connection.ext.offered_qos_profiles
    profile = QoSProfile(depth=_QUEUE_DEPTH)
    if offered:
        profile.reliability = ReliabilityPolicy(offered[0].reliability.value)
        profile.durability = DurabilityPolicy(offered[0].durability.value)
    try:
        return node.create_publisher(message_class(connection.msgtype), connection.topic, profile)
    except BagError as error:
        _log.warning('%s is not replayed: %s', connection.topic, error)
        return None


def _wait_for_subscribers(publishers, stop: threading.Event, timeout_s: float = 3.0) -> None:
    """Discovery takes up to 3 s; without this the first messages go to nobody."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and not all(p is None or p.get_subscription_count() for p in publishers):
        if stop.wait(0.05):
            return
