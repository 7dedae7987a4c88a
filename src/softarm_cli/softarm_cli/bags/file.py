"""Bags as files: rosbag2 folders (MCAP or SQLite), complete or truncated."""

import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NotRequired

from rosbags.interfaces import Connection, MessageDefinitionFormat
from rosbags.rosbag2 import ReaderError
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from typing_extensions import TypedDict

from soft_arm_io.yaml_file import YamlFileError, checked, read_yaml
from softarm_cli.bags.storage import Files
from softarm_cli.errors import BagError
from softarm_cli.graph.names import nearest


class _Information(TypedDict):
    relative_file_paths: list[str]
    compression_mode: NotRequired[str]


class _Metadata(TypedDict):
    rosbag2_bagfile_information: _Information


class Bag:
    """An open bag.

    Attributes:
        path: Its folder.
        connections: One for each topic and type: `topic`, `msgtype`, `msgdef`, `msgcount`, and
            `ext.offered_qos_profiles`.
        foreign: What the topics hold that are left out, since it is not CDR of ROS 2.
        start_ns: Stamp of the first message [ns].
        duration_s: Time from the first message to the last [s].
        message_count: Number of messages.
        is_cut: Whether it is truncated, such as by the end of its recorder.
    """

    def __init__(self, path: Path, source: Files, may_be_cut: bool):
        self.path, self.is_cut, self._source = path, source.is_cut, source
        self._may_be_cut = may_be_cut
        self.connections = sorted(
            (c for c in source.connections if c.msgcount or not self.is_cut), key=lambda c: c.topic
        )
        self.foreign = source.foreign
        self.start_ns, self.duration_s = source.start_time, source.duration * 1e-9
        self.message_count = source.message_count
        self._store = get_typestore(Stores.ROS2_JAZZY)
        self._unreadable: dict[str, dict[int, str]] = defaultdict(dict)  # reasons by topic and time

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
            except Exception as error:  # a damaged file can raise anything
                raise _unreadable(self.path, error) from error
            yield message

    def decoded(self, connections: Collection[Connection]) -> Iterator[tuple[Connection, int, Any]]:
        """Yield connection, time of recording [ns] and message of all that can be decoded.

        Raises:
            BagError: If the bag is damaged.
        """
        for connection, at_ns, raw in self.messages(connections) if connections else ():
            message = self.decode(connection, at_ns, raw)
            if message is not None:
                yield connection, at_ns, message

    def decode(self, connection: Connection, at_ns: int, raw: bytes) -> Any | None:
        """Return a message, decoded by its definition in the bag; None if it is damaged.

        `left_out` counts the messages that cannot be decoded.
        """
        kind = connection.msgtype
        try:
            if kind not in self._store.types:
                new = _types(connection)
                self._store.register({n: f for n, f in new.items() if n not in self._store.types})
            return self._store.deserialize_cdr(raw, kind)
        except Exception as error:  # a damaged message can raise anything in the decoder
            known = kind in self._store.types
            reason = type(error).__name__ if known else f'no usable definition of {kind}'
            self._unreadable[connection.topic][at_ns] = reason
            return None

    def missing(self, topic: str) -> BagError:
        """Return the error of a topic that is not among the connections."""
        if topic in self.foreign:
            return BagError(
                f'{topic} in {self.path} holds {self.foreign[topic]}: only CDR of ROS 2 is read'
            )
        held = [connection.topic for connection in self.connections]
        hint = nearest(topic, held, f'softarm bag info {self.path} lists all')
        return BagError(f'{self.path} holds no topic {topic}; {hint}')

    @property
    def left_out(self) -> list[str]:
        """Return the losses so far, one line for each cause."""
        lines = []
        if self.is_cut:
            lines.append('its recorder was killed, or it is truncated: only the rest is read')
        elif self._may_be_cut:
            lines.append(
                'metadata.yaml is missing, without which a SQLite file does not tell whether its '
                'recorder has finished: all messages in it are read'
            )
        if self.foreign:
            foreign = ', '.join(f'{topic} ({holds})' for topic, holds in self.foreign.items())
            lines.append(f'left out, since it is not CDR of ROS 2: {foreign}')
        if damaged := self._source.damaged:
            lines.append(
                f'{len(damaged)} damaged chunks are left out, the first '
                f'{(min(damaged) - self.start_ns) * 1e-9:.3f} s after the start'
            )
        counts = {connection.topic: connection.msgcount for connection in self.connections}
        for topic, reasons in self._unreadable.items():
            first_ns = min(reasons)
            lines.append(
                f'{len(reasons)} of {counts[topic]} messages of {topic} cannot be decoded and are '
                f'left out, the first {(first_ns - self.start_ns) * 1e-9:.3f} s after the start: '
                f'{reasons[first_ns]}'
            )
        return lines


def _types(connection: Connection) -> dict[str, Any]:
    """Return the types that a definition in a bag defines."""
    definition = connection.msgdef
    if definition.format == MessageDefinitionFormat.MSG:
        return dict(get_types_from_msg(definition.data, connection.msgtype))
    types: dict[str, Any] = {}
    for part in filter(str.strip, re.split(r'(?m)^=+\nIDL: .*$', definition.data)):
        types |= get_types_from_idl(part)
    return types


@contextmanager
def open_bag(bag: Path, is_quiet: bool = False) -> Iterator[Bag]:
    """Open a bag in a `with` statement; of a truncated bag, recover what was written.

    At the end of the statement, lines on standard error state what was not read, unless `is_quiet`.

    Raises:
        BagError: If the bag does not exist or is damaged.
    """
    bag = Path(bag)
    if not bag.exists():
        raise BagError(
            f'bag {bag} does not exist: give the folder of a recording, which holds metadata.yaml'
        )
    with tempfile.TemporaryDirectory(prefix='softarm_bag_') as copies:
        try:
            source, may_be_cut = _source(bag, Path(copies))
            if (source.is_cut or may_be_cut) and not source.message_count:
                raise ReaderError(
                    'nothing is readable: it is damaged, or its recorder was killed at once'
                )
        except Exception as error:  # a damaged file can raise anything
            raise _unreadable(bag, error) from error
        opened = Bag(bag, source, may_be_cut)
        try:
            yield opened
        finally:
            if not is_quiet:
                sys.stderr.writelines(f'{bag}: {line}\n' for line in opened.left_out)
            source.close()


def _source(bag: Path, copies: Path) -> tuple[Files, bool]:
    """Return the open files of a bag, and whether they do not tell if they are complete."""
    folder = bag if bag.is_dir() else bag.parent
    metadata, compression = folder / 'metadata.yaml', ''
    if not bag.is_dir():
        files = [bag]
    elif metadata.exists():
        try:
            read = checked(read_yaml(metadata), _Metadata)['rosbag2_bagfile_information']
        except YamlFileError as error:
            raise ReaderError(f'metadata.yaml: {error}') from error
        files = [bag / Path(file).name for file in read['relative_file_paths']]
        compression = read.get('compression_mode', '').lower()
    else:
        files = sorted(bag.glob('*.mcap')) or sorted(bag.glob('*.db3'))
        if not files:
            raise ReaderError('it has neither metadata.yaml nor a .mcap or .db3 file')
    may_be_cut = not metadata.exists() and any(file.suffix == '.db3' for file in files)
    return Files(files, compression, copies), may_be_cut


def _unreadable(bag: Path, error: Exception) -> BagError:
    reason = f'it is damaged ({type(error).__name__})'
    if isinstance(error, (ReaderError, OSError)) and str(error):
        reason = str(error).splitlines()[0]
    return BagError(f'cannot read the bag {bag}: {reason[:160]}')
