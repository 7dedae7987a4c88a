"""The files of a bag, read one after the other: whole ones, and what a killed recorder left.

Each class offers what `rosbags.rosbag2.Reader` offers.
"""

import shutil
import sqlite3
import struct
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from pathlib import Path

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

_Key = tuple[Path, int]  # file, and number of the channel in it
_Span = tuple[int, int]  # stamps of the first and the last message [ns]
NOTHING_WRITTEN = 'its recorder was killed before it had written anything'


def merged(connections: Iterable[Connection]) -> dict[str, Connection]:
    """Return one connection for each topic, by its name, of those of several files."""
    found: dict[str, Connection] = {}
    for connection in connections:
        before = found.get(connection.topic)
        if before is None:
            found[connection.topic] = connection._replace(id=len(found) + 1)
        else:
            count = before.msgcount + connection.msgcount
            found[connection.topic] = before._replace(msgcount=count)
    return found


class Files:
    """MCAP or SQLite files that have an end.

    rosbags.rosbag2.Reader reads nothing of a topic whose QoS in metadata.yaml is another than in
    the file, as in bags that `ros2 bag convert` or an older `ros2 bag` wrote. Here the name counts.
    """

    def __init__(self, files: list[Path]):
        self._files = files
        self._readers: list[Reader] = []

    def open(self) -> None:
        """Look what the files hold."""
        for file in self._files:
            reader = Reader(file)
            reader.open()
            self._readers.append(reader)
        self.connections = [*merged(c for r in self._readers for c in r.connections).values()]
        for connection in self.connections:
            written_as = getattr(connection.ext, 'serialization_format', 'cdr')
            if written_as != 'cdr':
                raise ReaderError(f'{connection.topic} is serialized as {written_as!r}, not as cdr')
        held = [reader for reader in self._readers if reader.message_count]
        self.message_count = sum(reader.message_count for reader in held)
        self.start_time = min((reader.start_time for reader in held), default=0)
        self.duration = max((reader.end_time for reader in held), default=0) - self.start_time

    def messages(
        self, connections: Collection[Connection], start_ns: int | None, stop_ns: int | None
    ) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield connection, time of recording [ns] and bytes of messages, file by file."""
        by_topic = {c.topic: c for c in connections or self.connections}
        for reader in self._readers:
            wanted = [c for c in reader.connections if c.topic in by_topic]
            found = reader.messages(wanted, start_ns, stop_ns) if wanted else ()
            for connection, at_ns, raw in found:
                yield by_topic[connection.topic], at_ns, raw

    def close(self) -> None:
        """Close the files."""
        for reader in self._readers:
            reader.close()
        self._readers = []


class CutSqlite(Files):
    """SQLite files whose recorder was killed: what it had committed is read.

    A journal beside a file is applied to a copy, so that the recording stays as it was left.
    """

    def open(self) -> None:
        """Look what the files hold."""
        self._copies = tempfile.TemporaryDirectory(prefix='softarm_bag_')
        self._files = [_with_journal(file, Path(self._copies.name)) for file in self._files]
        super().open()
        self.connections = [c for c in self.connections if c.msgcount]
        if not self.message_count:
            self.close()
            raise ReaderError(NOTHING_WRITTEN)

    def close(self) -> None:
        """Close the files and delete the copies."""
        super().close()
        self._copies.cleanup()


def _with_journal(file: Path, folder: Path) -> Path:
    """Return a database file, or a copy in a folder to which the journal beside it was applied."""
    journals = [file.with_name(file.name + end) for end in ('-wal', '-journal')]
    journals = [journal for journal in journals if journal.exists()]
    if not journals:
        return file
    for path in (file, *journals):
        shutil.copyfile(path, folder / path.name)
    with closing(sqlite3.connect(folder / file.name)) as database:
        database.execute('PRAGMA journal_mode=DELETE')
    return folder / file.name


class CutMcap:
    """As `rosbags.rosbag2.Reader`, for MCAP files without an end."""

    def __init__(self, files: list[Path]):
        self._files = files
        self._chunks: list[tuple[Path, int, _Span]] = []  # file, place in it, and what it spans

    def open(self) -> None:
        """Look what the files hold."""
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
            raise ReaderError(NOTHING_WRITTEN)
        found = {
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
        by_topic = merged(found.values())
        self._by_key = {key: by_topic[found[key].topic] for key in found}
        self.connections, self.message_count = [*by_topic.values()], counts.total()
        self.start_time = min(first for _, _, (first, _) in self._chunks)
        self.duration = max(last for _, _, (_, last) in self._chunks) - self.start_time

    def messages(
        self, connections: Collection[Connection], start_ns: int | None, stop_ns: int | None
    ) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield connection, time of recording [ns] and bytes of messages, file by file."""
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
        """Do nothing: files are open only while they are read."""


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
