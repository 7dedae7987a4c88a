"""Files of a bag, read one after the other, and recovery of the files of a killed recorder."""

import shutil
import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import BinaryIO

from mcap.exceptions import McapError
from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType, Writer
from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader, ReaderError


def merged(connections: Iterable[Connection]) -> dict[str, Connection]:
    """Return the connections of several files by topic, one for each topic."""
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
    """Complete MCAP or SQLite files, with the interface of `rosbags.rosbag2.Reader`.

    rosbags.rosbag2.Reader skips topics whose QoS in metadata.yaml differs from the QoS in the file,
    as in bags that `ros2 bag convert` or an older `ros2 bag` wrote. Here topics match by name.
    """

    def __init__(self, files: list[Path]):
        self._files = files
        self._readers: list[Reader] = []

    def open(self) -> None:
        """Read the index."""
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


def recover(file: Path, folder: Path) -> Path:
    """Return a complete file with everything that a killed recorder had written.

    The recording itself is never changed.

    Args:
        file: MCAP file without an end, or SQLite file, possibly with its journal.
        folder: Folder for copies.
    """
    if file.suffix == '.mcap':
        with file.open('rb') as source, (folder / file.name).open('wb') as target:
            _copy_messages(source, target)
        return folder / file.name
    journals = [file.with_name(file.name + end) for end in ('-wal', '-journal')]
    journals = [journal for journal in journals if journal.exists()]
    if not journals:
        return file
    for path in (file, *journals):
        shutil.copyfile(path, folder / path.name)
    with closing(sqlite3.connect(folder / file.name)) as database:
        database.execute('PRAGMA journal_mode=DELETE')
    return folder / file.name


def _copy_messages(source: BinaryIO, target: BinaryIO) -> None:
    """Copy the messages of an MCAP file up to its truncation."""
    writer = Writer(target, compression=CompressionType.NONE)
    writer.start('ros2')
    schemas: dict[int, int] = {}  # new ids by old
    channels: dict[int, int] = {}
    with suppress(McapError, struct.error, EOFError):
        for record in StreamReader(source).records:
            if isinstance(record, Schema):
                schemas[record.id] = writer.register_schema(
                    record.name, record.encoding, record.data
                )
            elif isinstance(record, Channel):
                schema = schemas[record.schema_id]
                channels[record.id] = writer.register_channel(
                    record.topic, record.message_encoding, schema, record.metadata
                )
            elif isinstance(record, Message):
                writer.add_message(
                    channels[record.channel_id],
                    record.log_time,
                    record.data,
                    record.publish_time,
                    record.sequence,
                )
    writer.finish()
