"""Bags as files: rosbag2 folders (MCAP or SQLite), complete or truncated."""

import sqlite3
import struct
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NotRequired

from mcap.exceptions import McapError
from rosbags.interfaces import Connection, MessageDefinitionFormat
from rosbags.rosbag2 import Reader, ReaderError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from typing_extensions import TypedDict

from soft_arm_io.yaml_file import YamlFileError, checked, read_yaml
from softarm_cli.bags.storage import Files, recover
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

_Source = Reader | Files


class _Information(TypedDict):
    relative_file_paths: list[str]
    compression_mode: NotRequired[str]


class _Metadata(TypedDict):
    rosbag2_bagfile_information: _Information


class Bag:
    """An open bag.

    Attributes:
        path: Its folder.
        connections: One for each topic: `topic`, `msgtype`, `msgdef`, `msgcount`, and
            `ext.offered_qos_profiles`.
        start_ns: Stamp of the first message [ns].
        duration_s: Time from the first message to the last [s].
        message_count: Number of messages.
        is_cut: Whether it is truncated, because its recorder was killed.
    """

    def __init__(self, path: Path, source: _Source, is_cut: bool):
        self.path, self.is_cut, self._source = path, is_cut, source
        self.connections = sorted(
            (c for c in source.connections if c.msgcount or not is_cut), key=lambda c: c.topic
        )
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
            connections: Connections to read; empty: all.
            start_ns: Earliest time of recording [ns]; None: from the start.
            stop_ns: Time of recording at which to stop, excluded [ns]; None: to the end.

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
        """Return a message, decoded by its definition in the bag.

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
        except Exception as error:  # a damaged message can raise anything in the decoder
            raise BagError(
                f'{connection.topic} in {self.path} cannot be decoded: {type(error).__name__}'
            ) from error


@contextmanager
def open_bag(bag: Path) -> Iterator[Bag]:
    """Open a bag in a `with` statement; of a truncated bag, recover what was written.

    Raises:
        BagError: If the bag does not exist or is damaged.
    """
    bag = Path(bag)
    if not bag.exists():
        raise BagError(
            f'bag {bag} does not exist: give the folder of a recording, which holds metadata.yaml'
        )
    is_cut = bag.is_dir() and not (bag / 'metadata.yaml').exists()
    with tempfile.TemporaryDirectory(prefix='softarm_bag_') as copies:
        try:
            source = _recovered(bag, Path(copies)) if is_cut else _source(bag)
            source.open()
            if is_cut and not source.message_count:
                raise ReaderError('its recorder was killed before it had written anything')
        except _BROKEN as error:
            raise _unreadable(bag, error) from error
        try:
            yield Bag(bag, source, is_cut)
        finally:
            source.close()


def warn_of_cut(bag: Bag, who: str = 'softarm bag') -> None:
    """Warn on standard error if a bag is truncated."""
    if bag.is_cut:
        sys.stderr.write(
            f'{who}: the recorder of {bag.path} was killed: only what it had written is read\n'
        )


def _recovered(bag: Path, copies: Path) -> Files:
    files = sorted(bag.glob('*.mcap')) or sorted(bag.glob('*.db3'))
    if not files:
        raise ReaderError('it has neither metadata.yaml nor a .mcap or .db3 file')
    return Files([recover(file, copies) for file in files])


def _source(bag: Path) -> _Source:
    if not bag.is_dir():
        return Reader(bag)
    metadata = bag / 'metadata.yaml'
    try:
        read = checked(read_yaml(metadata), _Metadata)['rosbag2_bagfile_information']
    except YamlFileError as error:
        raise ReaderError(f'metadata.yaml: {error}') from error
    if read.get('compression_mode', '').lower() in ('message', 'file'):
        return Reader(bag)
    return Files([bag / Path(file).name for file in read['relative_file_paths']])


def _unreadable(bag: Path, error: Exception) -> BagError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return BagError(f'cannot read the bag {bag}: {reason[:160]}')
