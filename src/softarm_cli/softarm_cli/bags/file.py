"""Bags as files: rosbag2 folders (MCAP or SQLite), also those of a recorder that was killed."""

import sqlite3
import struct
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NotRequired

from mcap.exceptions import McapError
from mcap.records import Channel, Chunk, Message, Schema
from mcap.stream_reader import StreamReader, breakup_chunk
from rosbags.interfaces import (
    Connection,
    ConnectionExtRosbag2,
    MessageDefinition,
    MessageDefinitionFormat,
)
from rosbags.rosbag2 import Reader, ReaderError
from rosbags.rosbag2.metadata import parse_qos
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from typing_extensions import TypedDict

from soft_arm_description.yaml_file import YamlFileError, checked, read_yaml
from softarm_cli.errors import BagError

_BROKEN = (
    ReaderError,
    McapError,
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AssertionError,
    struct.error,
    sqlite3.Error,
)


_Key = tuple[Path, int]  # file, and number of the channel in it
_Span = tuple[int, int]  # stamps of the first and the last message [ns]


class _Topic(TypedDict):
    topic_metadata: dict
    message_count: int


class _Information(TypedDict):
    version: int
    storage_identifier: str
    duration: dict[str, int]
    starting_time: dict[str, int]
    message_count: int
    topics_with_message_count: list[_Topic]
    relative_file_paths: list[str]
    compression_format: NotRequired[str]
    compression_mode: NotRequired[str]


class _Metadata(TypedDict):
    rosbag2_bagfile_information: _Information


class Bag:
    """A bag that is open.

    Attributes:
        path: Its folder.
        connections: One for each topic: `topic`, `msgtype`, `msgdef`, `msgcount`, and
            `ext.offered_qos_profiles`.
        start_ns: Stamp of the first message [ns].
        duration_s: Time from the first message to the last [s].
        message_count: How many messages it holds.
        is_cut: Whether its recorder was killed before it completed the bag.
    """

    def __init__(self, path: Path, source: 'Reader | _CutMcap', is_cut: bool):
        self.path, self.is_cut, self._source = path, is_cut, source
        self.connections = sorted(source.connections, key=lambda c: c.topic)
        self.start_ns, self.duration_s = source.start_time, source.duration * 1e-9
        self.message_count = source.message_count
        self._store = get_typestore(Stores.ROS2_JAZZY)

    def messages(
        self,
        connections: Collection[Connection] = (),
        start_ns: int | None = None,
        stop_ns: int | None = None,
    ) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield connection, time of recording [ns] and bytes of each message, in order.

        Args:
            connections: Those whose messages are read; empty: all.
            start_ns: Time of recording of the first that is read [ns]; None: from the start.
            stop_ns: Time of recording before which messages are read [ns]; None: to the end.

        Raises:
            BagError: If the bag is damaged.
        """
        messages = self._source.messages(connections, start_ns, stop_ns)
        while True:
            try:
                message = next(messages)
            except StopIteration:
                return
            except _BROKEN as error:
                raise _unreadable(self.path, error) from error
            yield message

    def decode(self, connection: Connection, raw: bytes) -> Any:
        """Return a message with the fields that its definition in the bag names.

        Raises:
            BagError: If it is damaged, or the bag has no definition of its type.
        """
        kind, definition = connection.msgtype, connection.msgdef
        try:
            if kind not in self._store.types and definition.format == MessageDefinitionFormat.MSG:
                known = get_types_from_msg(definition.data, kind)
                new = {
                    name: fields for name, fields in known.items() if name not in self._store.types
                }
                self._store.register(new)
            return self._store.deserialize_cdr(raw, kind)
        except Exception as error:  # whatever a damaged message makes of the decoder
            raise BagError(
                f'{connection.topic} in {self.path} cannot be decoded: {type(error).__name__}'
            ) from error


@contextmanager
def open_bag(bag: Path) -> Iterator[Bag]:
    """Open a bag in a `with` statement; of a cut one, what its recorder had written is read.

    Raises:
        BagError: If there is no bag, or it is damaged.
    """
    bag = Path(bag)
    if not bag.exists():
        raise BagError(
            f'there is no bag {bag}: give the folder of a recording, which holds metadata.yaml'
        )
    try:
        source, is_cut = _source(bag)
        source.open()
    except _BROKEN as error:
        raise _unreadable(bag, error) from error
    try:
        yield Bag(bag, source, is_cut)
    finally:
        source.close()


def _source(bag: Path) -> 'tuple[Reader | _CutMcap, bool]':
    metadata = bag / 'metadata.yaml'
    if bag.is_dir() and not metadata.exists():
        files = sorted(bag.glob('*.mcap'))
        if not files:
            raise ReaderError('it has neither metadata.yaml nor a .mcap file')
        return _CutMcap(files), True
    if metadata.exists():
        try:
            checked(read_yaml(metadata), _Metadata)
        except YamlFileError as error:
            raise ReaderError(f'metadata.yaml: {error}') from error
    return Reader(bag), False


def _unreadable(bag: Path, error: Exception) -> BagError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return BagError(f'cannot read the bag {bag}: {reason[:160]}')


class _CutMcap:
    """As `rosbags.rosbag2.Reader`, for MCAP files without an end."""

    def __init__(self, files: list[Path]):
        self._files = files
        self._chunks: list[tuple[Path, int, _Span]] = []  # file, place in it, and what it spans

    def open(self) -> None:
        channels: dict[_Key, Channel] = {}
        schemas: dict[_Key, Schema] = {}
        counts: Counter[_Key] = Counter()
        for file in self._files:
            for place, messages in _chunks(file, channels, schemas):
                counts.update((file, message.channel_id) for message in messages)
                stamps = [message.log_time for message in messages]
                if stamps:
                    self._chunks.append((file, place, (min(stamps), max(stamps))))
        if not counts:
            raise ReaderError('its recorder was killed before it had written anything')
        self._by_key = {
            key: Connection(
                number,
                channel.topic,
                schemas[key].name,
                MessageDefinition(MessageDefinitionFormat.MSG, schemas[key].data.decode()),
                '',
                counts[key],
                ConnectionExtRosbag2(
                    'cdr', parse_qos(channel.metadata.get('offered_qos_profiles', ''))
                ),
                self,
            )
            for number, (key, channel) in enumerate(channels.items(), 1)
            if key in counts
        }
        self.connections, self.message_count = [*self._by_key.values()], counts.total()
        self.start_time = min(first for _, _, (first, _) in self._chunks)
        self.duration = max(last for _, _, (_, last) in self._chunks) - self.start_time

    def messages(
        self, connections: Collection[Connection], start_ns: int | None, stop_ns: int | None
    ) -> Iterator[tuple[Connection, int, bytes]]:
        wanted = {connection.topic for connection in connections}
        for file, place, (first_ns, last_ns) in self._chunks:
            if (start_ns is not None and last_ns < start_ns) or (
                stop_ns is not None and first_ns >= stop_ns
            ):
                continue
            for message in _messages_at(file, place):
                connection, at_ns = self._by_key[file, message.channel_id], message.log_time
                if (
                    (not wanted or connection.topic in wanted)
                    and (start_ns is None or at_ns >= start_ns)
                    and (stop_ns is None or at_ns < stop_ns)
                ):
                    yield connection, at_ns, message.data

    def close(self) -> None:
        pass  # files are open only while they are read


def _chunks(
    file: Path, channels: dict[_Key, Channel], schemas: dict[_Key, Schema]
) -> Iterator[tuple[int, list[Message]]]:
    """Yield place and messages of each whole chunk, up to the cut; note channels and schemas."""
    by_id: dict[int, Schema] = {}
    with file.open('rb') as stream:
        place, records = 8, StreamReader(stream, emit_chunks=True).records  # after the magic bytes
        while True:
            try:
                record = next(records)
                inside = breakup_chunk(record) if isinstance(record, Chunk) else [record]
            except (McapError, struct.error, EOFError, StopIteration):
                return  # the cut
            for entry in inside:
                if isinstance(entry, Schema):
                    by_id[entry.id] = entry
                elif isinstance(entry, Channel):
                    channels[file, entry.id] = entry
                    schemas[file, entry.id] = by_id[entry.schema_id]
            yield place, [entry for entry in inside if isinstance(entry, Message)]
            place = stream.tell()


def _messages_at(file: Path, place: int) -> list[Message]:
    """Return the messages of one chunk, or one message that stands outside of chunks."""
    with file.open('rb') as stream:
        stream.seek(place)
        record = next(StreamReader(stream, skip_magic=True, emit_chunks=True).records)
    inside = breakup_chunk(record) if isinstance(record, Chunk) else [record]
    return [entry for entry in inside if isinstance(entry, Message)]
