"""Files of a bag (MCAP or SQLite), read one after the other, and recovery of truncated files.

Channels that hold no ROS 2 messages in CDR are left out and named: rosbags refuses the whole file
for one of them, and so do its topics whose QoS in metadata.yaml differs from the QoS in the file,
as in bags that `ros2 bag convert` or an older `ros2 bag` wrote.
"""

import shutil
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.reader import SeekingReader
from mcap.records import Channel, Chunk, ChunkIndex, Footer, Message, Schema, Statistics
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap.summary import Summary
from mcap.writer import CompressionType, Writer
from rosbags.interfaces import (
    Connection,
    ConnectionExtRosbag2,
    MessageDefinition,
    MessageDefinitionFormat,
    Qos,
)
from rosbags.rosbag2 import ReaderError
from rosbags.rosbag2.metadata import parse_qos

_FORMATS = {
    'ros2msg': MessageDefinitionFormat.MSG,
    'ros2idl': MessageDefinitionFormat.IDL,
    '': MessageDefinitionFormat.NONE,
    'unknown': MessageDefinitionFormat.NONE,  # of `ros2 bag` for types that it does not find
}
_Rows = Iterator[tuple[Connection, int, bytes]]
_CHUNK_HEADER_BYTES = 9  # opcode and length


class _Channels:
    """Channels of one file.

    Attributes:
        known: Those with ROS 2 messages by their id in the file.
        foreign: What the others hold, by topic.
    """

    def __init__(self) -> None:
        self.known: dict[int, Connection] = {}
        self.foreign: dict[str, str] = {}

    def add(
        self,
        key: int,
        topic: str,
        kind: str,
        encoding: str,
        definition: tuple[str, str],
        qos: str,
        count: int,
    ) -> None:
        """Add a channel; `definition` is its encoding and text."""
        if encoding != 'cdr' or definition[0] not in _FORMATS or not kind:
            schema = f' with schema {definition[0][:20]!r}' if definition[0] else ' without schema'
            self.foreign[topic] = f'{encoding[:20]!r}{schema}'
            return
        profiles: list[Qos] = []
        with suppress(Exception):  # a damaged profile can raise anything; the default serves
            profiles = parse_qos(qos)
        text = MessageDefinition(_FORMATS[definition[0]], definition[1])
        extension = ConnectionExtRosbag2(encoding, profiles)
        self.known[key] = Connection(key, topic, kind, text, '', count, extension, self)


class _File(Protocol):
    """One open file of a bag.

    Attributes:
        start_time, end_time: Times of its first and last message [ns].
        damaged: Time of the first message of each chunk that was found damaged [ns].
    """

    channels: _Channels
    damaged: list[int]
    message_count: int
    start_time: int
    end_time: int

    def messages(
        self, wanted: Mapping[int, Connection], start_ns: int | None, stop_ns: int | None
    ) -> _Rows:
        """Yield the messages of channels by id, in order, as their connections."""

    def close(self) -> None:
        """Close the file."""


class Files:
    """Files of one bag.

    Args:
        files: MCAP or SQLite files.
        compression: `message`, `file` or nothing: what of them is compressed with Zstandard.
        copies: Folder for decompressed and recovered files.

    Attributes:
        connections: One for each topic and type.
        foreign: What the topics hold that are left out.
        message_count: Number of messages in topics that can be read.
        start_time, duration: Time of the first message, and from there to the last [ns].
        is_cut: Whether the end of a file is missing.
    """

    def __init__(self, files: Collection[Path], compression: str, copies: Path):
        self.is_cut, self._is_compressed = False, compression == 'message'
        self._open: list[_File] = []
        self.foreign: dict[str, str] = {}
        found: dict[tuple[str, str], Connection] = {}
        try:
            for path in files:
                decompressed = _decompressed(path, copies) if compression == 'file' else path
                file, is_cut = _opened(decompressed, copies)
                self._open.append(file)
                self.is_cut |= is_cut
                self.foreign |= file.channels.foreign
                for new in file.channels.known.values():
                    before = found.get((new.topic, new.msgtype), new._replace(msgcount=0))
                    count = before.msgcount + new.msgcount
                    found[new.topic, new.msgtype] = before._replace(msgcount=count)
        except BaseException:
            self.close()
            raise
        self.connections = [c._replace(id=i) for i, c in enumerate(found.values(), 1)]
        held = [file for file in self._open if file.message_count]
        self.message_count = sum(connection.msgcount for connection in self.connections)
        self.start_time = min((file.start_time for file in held), default=0)
        self.duration = max((file.end_time for file in held), default=0) - self.start_time

    def messages(
        self, connections: Collection[Connection], start_ns: int | None, stop_ns: int | None
    ) -> _Rows:
        """Yield connection, time of recording [ns] and bytes of messages, file by file."""
        by_name = {(c.topic, c.msgtype): c for c in connections or self.connections}
        for file in self._open:
            wanted = {
                key: by_name[c.topic, c.msgtype]
                for key, c in file.channels.known.items()
                if (c.topic, c.msgtype) in by_name
            }
            for connection, at_ns, raw in file.messages(wanted, start_ns, stop_ns):
                yield connection, at_ns, _inflated(raw) if self._is_compressed else raw

    @property
    def damaged(self) -> list[int]:
        """Time of the first message of each chunk that was found damaged so far [ns]."""
        return [at_ns for file in self._open for at_ns in file.damaged]

    def close(self) -> None:
        """Close the files."""
        for file in self._open:
            file.close()
        self._open = []


class _McapFile:
    def __init__(self, path: Path):
        self._stream = path.open('rb')
        self.damaged: list[int] = []
        try:
            self._reader = SeekingReader(self._stream, validate_crcs=True)
            self.channels = _Channels()
            self._list(self._reader.get_summary())
        except BaseException:
            self._stream.close()
            raise

    def _list(self, summary: Summary | None) -> None:
        statistics = None if summary is None else summary.statistics
        if summary is None or statistics is None or not _is_complete(summary, statistics):
            raise McapError('the file has no complete index')
        counts = statistics.channel_message_counts
        for key, channel in summary.channels.items():
            schema = summary.schemas.get(channel.schema_id)
            self.channels.add(
                key,
                channel.topic,
                '' if schema is None else schema.name,
                channel.message_encoding,
                ('', '') if schema is None else (schema.encoding, _text(schema)),
                channel.metadata.get('offered_qos_profiles', ''),
                counts.get(key, 0),
            )
        self.message_count, self._chunks = statistics.message_count, summary.chunk_indexes
        self.start_time, self.end_time = statistics.message_start_time, statistics.message_end_time

    def messages(
        self, wanted: Mapping[int, Connection], start_ns: int | None, stop_ns: int | None
    ) -> _Rows:
        topics, read = {connection.topic for connection in wanted.values()}, 0
        while topics and self._chunks:
            found = self._reader.iter_messages(topics, starting_at=start_ns, ending_before=stop_ns)
            try:
                for _, channel, message in islice(found, read, None):
                    read += 1
                    if channel.id in wanted:
                        yield wanted[channel.id], message.log_time, message.data
                return
            except Exception:  # a damaged chunk can raise anything, before its first message
                if not self._leave_out_damaged():
                    raise

    def _leave_out_damaged(self) -> bool:
        """Remove damaged chunks from the index; return whether there are any."""
        damaged = [chunk for chunk in self._chunks if not self._is_sound(chunk)]
        self.damaged += [chunk.message_start_time for chunk in damaged]
        self._chunks[:] = [chunk for chunk in self._chunks if chunk not in damaged]
        return bool(damaged)

    def _is_sound(self, chunk: ChunkIndex) -> bool:
        with suppress(Exception):
            self._stream.seek(chunk.chunk_start_offset + _CHUNK_HEADER_BYTES)
            breakup_chunk(Chunk.read(ReadDataStream(self._stream)), validate_crc=True)
            return True
        return False

    def close(self) -> None:
        self._stream.close()


class _SqliteFile:
    def __init__(self, path: Path):
        self._database = sqlite3.connect(f'{path.resolve().as_uri()}?immutable=1', uri=True)
        self._database.text_factory = lambda text: text.decode(errors='replace')
        self.damaged: list[int] = []  # the format has no checksums
        try:
            self.channels = _Channels()
            self._list()
        except BaseException:
            self._database.close()
            raise

    def _list(self) -> None:
        def rows(query: str) -> list[Any]:
            return self._database.execute(query).fetchall()

        tables = {name for (name,) in rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {'topics', 'messages'} <= tables:
            raise ReaderError('it has no tables of topics and messages')
        columns = {column[1] for column in rows('PRAGMA table_info(topics)')}
        qos = 'offered_qos_profiles' if 'offered_qos_profiles' in columns else "''"
        definitions: dict[str, tuple[str, str]] = {}
        if 'message_definitions' in tables:
            names = 'topic_type, encoding, encoded_message_definition'
            definitions = {
                kind: (encoding, text)
                for kind, encoding, text in rows(f'SELECT {names} FROM message_definitions')
            }
        counts = dict(rows('SELECT topic_id, COUNT(*) FROM messages GROUP BY topic_id'))
        for key, topic, kind, encoding, profiles in rows(
            f'SELECT id, name, type, serialization_format, {qos} FROM topics ORDER BY id'
        ):
            definition = definitions.get(kind, ('', ''))
            count = counts.get(key, 0)
            self.channels.add(key, topic, kind, encoding, definition, profiles, count)
        ((first, last),) = rows('SELECT MIN(timestamp), MAX(timestamp) FROM messages')
        self.message_count, self.start_time = sum(counts.values()), first or 0
        self.end_time = last or 0

    def messages(
        self, wanted: Mapping[int, Connection], start_ns: int | None, stop_ns: int | None
    ) -> _Rows:
        query = 'SELECT topic_id, timestamp, data FROM messages WHERE topic_id IN '
        query += f'({", ".join("?" * len(wanted))}) AND timestamp >= ? AND timestamp < ? '
        bounds = (start_ns or 0, 2**63 - 1 if stop_ns is None else stop_ns)
        for key, at_ns, raw in self._database.execute(
            f'{query} ORDER BY timestamp, id', (*wanted, *bounds)
        ):
            yield wanted[key], at_ns, raw if isinstance(raw, bytes) else b''

    def close(self) -> None:
        self._database.close()


def _is_complete(summary: Summary, statistics: Statistics) -> bool:
    counts = len(summary.schemas), len(summary.channels), len(summary.chunk_indexes)
    stated = statistics.schema_count, statistics.channel_count, statistics.chunk_count
    return counts == stated and (statistics.chunk_count > 0 or not statistics.message_count)


def _text(schema: Schema) -> str:
    return schema.data.decode(errors='replace')


def _opened(path: Path, copies: Path) -> tuple[_File, bool]:
    """Return an open file, and whether its end is missing."""
    if path.suffix == '.db3':
        copy, is_cut = recover(path, copies)
        return _SqliteFile(copy), is_cut
    if path.suffix != '.mcap':
        raise ReaderError(f'{path.name} is neither a .mcap nor a .db3 file')
    try:
        return _McapFile(path), False
    except Exception:  # a damaged index can raise anything
        copy, is_cut = recover(path, copies)
        return _McapFile(copy), is_cut


def _decompressed(path: Path, copies: Path) -> Path:
    target = copies / path.stem
    with path.open('rb') as source, target.open('wb') as out:
        zstandard.ZstdDecompressor().copy_stream(source, out)
    return target


def _inflated(raw: bytes) -> bytes:
    """Return a message that was compressed; nothing if it is damaged."""
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(raw)
    except zstandard.ZstdError:
        return b''


def recover(file: Path, folder: Path) -> tuple[Path, bool]:
    """Return a complete file with all that is readable, and whether its end is missing.

    The recording itself is never changed.

    Args:
        file: MCAP file without an end or index, or SQLite file, possibly with the journal that a
            killed recorder leaves.
        folder: Folder for copies.
    """
    copy = folder / f'recovered_{file.name}'
    if file.suffix == '.mcap':
        with file.open('rb') as source, copy.open('wb') as target:
            return copy, not _copy_messages(source, target)
    companions = {ending: Path(f'{file}{ending}') for ending in ('-wal', '-journal')}
    journals = [e for e, path in companions.items() if path.exists() and path.stat().st_size]
    if not journals:
        return file, False
    for ending in ('', *journals):
        shutil.copyfile(f'{file}{ending}', f'{copy}{ending}')
    with closing(sqlite3.connect(copy)) as database:
        database.execute('PRAGMA journal_mode=DELETE')
    return copy, True


def _copy_messages(source: BinaryIO, target: BinaryIO) -> bool:
    """Copy the messages of an MCAP file up to its truncation; return whether it has an end."""
    writer = Writer(target, compression=CompressionType.NONE)
    writer.start('ros2')
    schemas: dict[int, int] = {0: 0}  # new ids by old
    channels: dict[int, int] = {}
    has_end = False
    with suppress(Exception):  # a damaged file can raise anything
        for record in StreamReader(source, validate_crcs=True).records:
            if isinstance(record, Schema):
                schemas[record.id] = writer.register_schema(
                    record.name, record.encoding, record.data
                )
            elif isinstance(record, Channel):
                channels[record.id] = writer.register_channel(
                    record.topic,
                    record.message_encoding,
                    schemas[record.schema_id],
                    record.metadata,
                )
            elif isinstance(record, Message):
                writer.add_message(
                    channels[record.channel_id],
                    record.log_time,
                    record.data,
                    record.publish_time,
                    record.sequence,
                )
            has_end |= isinstance(record, Footer)
    writer.finish()
    return has_end
