"""Bags as files: rosbag2 folders (MCAP or SQLite), also those of a recorder that was killed."""

import sqlite3
import struct
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NotRequired

from mcap.exceptions import McapError
from rosbags.interfaces import Connection, MessageDefinitionFormat
from rosbags.rosbag2 import Reader, ReaderError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from typing_extensions import TypedDict

from soft_arm_description.yaml_file import YamlFileError, checked, read_yaml
from softarm_cli.bags.storage import CutMcap, CutSqlite, Files
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


_Source = Reader | Files | CutMcap


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

    def __init__(self, path: Path, source: _Source, is_cut: bool):
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


def warn_of_cut(bag: Bag, who: str = 'softarm bag') -> None:
    """Say on standard error that a bag is cut, if it is."""
    if bag.is_cut:
        sys.stderr.write(
            f'{who}: the recorder of {bag.path} was killed: only what it had written is read\n'
        )


def _source(bag: Path) -> tuple[_Source, bool]:
    metadata = bag / 'metadata.yaml'
    if not bag.is_dir():
        return Reader(bag), False
    if not metadata.exists():
        if files := sorted(bag.glob('*.mcap')):
            return CutMcap(files), True
        if files := sorted(bag.glob('*.db3')):
            return CutSqlite(files), True
        raise ReaderError('it has neither metadata.yaml nor a .mcap or .db3 file')
    try:
        read = checked(read_yaml(metadata), _Metadata)['rosbag2_bagfile_information']
    except YamlFileError as error:
        raise ReaderError(f'metadata.yaml: {error}') from error
    if read.get('compression_mode', '').lower() in ('message', 'file'):
        return Reader(bag), False
    return Files([bag / Path(file).name for file in read['relative_file_paths']]), False


def _unreadable(bag: Path, error: Exception) -> BagError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return BagError(f'cannot read the bag {bag}: {reason[:160]}')
