"""Bags as files: rosbag2 folders (MCAP or SQLite), also those of a recorder that was killed."""

import sqlite3
import struct
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NotRequired

from mcap.exceptions import McapError
from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader
from rosbags.interfaces import (
    Connection,
    ConnectionExtRosbag2,
    MessageDefinition,
    MessageDefinitionFormat,
)
from rosbags.rosbag2 import Reader, ReaderError
from rosbags.rosbag2.metadata import parse_qos
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

    def messages(
        self, connections: Collection[Connection] = ()
    ) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield connection, time of recording [ns] and bytes of each message, in order.

        Args:
            connections: Those whose messages are read; empty: all.

        Raises:
            BagError: If the bag is damaged.
        """
        messages = self._source.messages(connections)
        while True:
            try:
                message = next(messages)
            except StopIteration:
                return
            except _BROKEN as error:
                raise _unreadable(self.path, error) from error
            yield message


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
    """As `rosbags.rosbag2.Reader`, for MCAP files without an end, which it reads twice."""

    def __init__(self, files: list[Path]):
        self._files = files

    def open(self) -> None:
        channels: dict[_Key, Channel] = {}
        schemas: dict[_Key, Schema] = {}
        counts: Counter[_Key] = Counter()
        stamps: list[int] = []
        for key, schema, channel, message in self._records():
            channels[key], schemas[key] = channel, schema
            counts[key] += 1
            stamps = [stamps[0] if stamps else message.log_time, message.log_time]
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
        }
        self.connections, self.message_count = [*self._by_key.values()], counts.total()
        self.start_time, self.duration = stamps[0], stamps[1] - stamps[0]

    def messages(
        self, connections: Collection[Connection]
    ) -> Iterator[tuple[Connection, int, bytes]]:
        wanted = {connection.topic for connection in connections}
        for key, _, channel, message in self._records():
            if not wanted or channel.topic in wanted:
                yield self._by_key[key], message.log_time, message.data

    def close(self) -> None:
        pass  # files are open only while they are read

    def _records(self) -> Iterator[tuple[_Key, Schema, Channel, Message]]:
        """Yield messages with their schemas and channels, up to the cut."""
        for file in self._files:
            schemas: dict[int, Schema] = {}
            channels: dict[int, Channel] = {}
            with file.open('rb') as stream:
                try:
                    for record in StreamReader(stream).records:
                        if isinstance(record, Schema):
                            schemas[record.id] = record
                        elif isinstance(record, Channel):
                            channels[record.id] = record
                        elif isinstance(record, Message):
                            channel = channels[record.channel_id]
                            yield (file, channel.id), schemas[channel.schema_id], channel, record
                except (McapError, struct.error, EOFError):
                    continue  # the cut
