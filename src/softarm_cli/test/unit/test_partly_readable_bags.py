"""Bags of which a part cannot be read: one message costs one message, one channel one channel."""

import json
import sqlite3
from contextlib import closing

import pytest
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from softarm_cli.bag_command import main
from softarm_cli.bags.file import open_bag

STORE = get_typestore(Stores.ROS2_JAZZY)
POINT = 'geometry_msgs/msg/PointStamped'
COUNT, BAD = 40, (3, 17, 29)
IDL = """================================================================================
IDL: my_msgs/msg/Part
module my_msgs { module msg { struct Part { double x; }; }; };
================================================================================
IDL: my_msgs/msg/Thing
module my_msgs { module msg { struct Thing { my_msgs::msg::Part part; }; }; };
"""


def points():
    """Times of recording [ns] and messages; those of `BAD` hold no UTF-8 in a string."""
    for number in range(COUNT):
        stamp = STORE.types['builtin_interfaces/msg/Time'](1, number)
        header = STORE.types['std_msgs/msg/Header'](stamp, 'frame')
        point = STORE.types['geometry_msgs/msg/Point'](float(number), 0.0, 0.0)
        raw = bytes(STORE.serialize_cdr(STORE.types[POINT](header, point), POINT))
        yield number * 10**8, raw.replace(b'frame', b'fr\xffme') if number in BAD else raw


@pytest.fixture(params=StoragePlugin)
def bag(request, tmp_path):
    """A bag of the points."""
    with Writer(tmp_path / 'bag', version=9, storage_plugin=request.param) as writer:
        link = writer.add_connection('/point', POINT, typestore=STORE)
        for at_ns, raw in points():
            writer.write(link, at_ns, raw)
    return tmp_path / 'bag'


def test_a_message_that_cannot_be_decoded_is_left_out_and_named(bag, capsys):
    with open_bag(bag) as opened:
        read = [m.point.x for _, _, m in opened.decoded(opened.connections)]
    assert read == [number for number in range(COUNT) if number not in BAD]
    error = capsys.readouterr().err
    assert f'3 of {COUNT} messages of /point cannot be decoded' in error
    assert 'the first 0.300 s after the start' in error and error.count('\n') == 1
    assert main(['plot', str(bag), '--topics', '/point', '-o', str(bag / 'plot.png')]) == 0
    assert f'3 of {COUNT} messages of /point' in capsys.readouterr().err


def test_a_topic_without_a_readable_message_is_an_error(bag, capsys):
    for file in (*bag.glob('*.mcap'), *bag.glob('*.db3')):
        file.write_bytes(file.read_bytes().replace(b'frame\0', b'fr\xffme\0'))
    assert main(['plot', str(bag), '--topics', '/point', '-o', str(bag / 'plot.png')]) == 2
    assert 'cannot be decoded' in capsys.readouterr().err


def chunked(path):
    """Write the points in a chunk each; return the file."""
    with path.open('wb') as stream:
        writer = McapWriter(stream, chunk_size=1, compression=CompressionType.NONE)
        writer.start('ros2')
        link = writer.register_channel('/point', 'cdr', writer.register_schema(POINT, '', b''))
        for at_ns, raw in points():
            writer.add_message(link, at_ns, raw, at_ns)
        writer.finish()
    return path


def test_a_damaged_chunk_is_left_out_and_named(tmp_path, capsys):
    path = chunked(tmp_path / 'bag.mcap')
    known = [raw for _, raw in points()]
    whole = path.read_bytes()
    for number in 5, 6, 21:
        whole = whole.replace(known[number], known[number][:-1] + b'!')
    path.write_bytes(whole)
    for _ in range(2):
        with open_bag(path) as bag:
            for start_ns, expected in (None, COUNT - 3), (6 * 10**8, COUNT - 8):
                assert len(list(bag.messages(start_ns=start_ns))) == expected
        assert '3 damaged chunks are left out, the first 0.500 s after' in capsys.readouterr().err
    path.write_bytes(whole.replace(b'frame', b'FRAME').replace(b'fr\xffme', b'FRAME'))
    assert main(['plot', str(path), '--topics', '/point', '-o', str(tmp_path / 'plot.png')]) == 2


def test_a_complete_file_without_metadata_is_complete(tmp_path, capsys):
    file = chunked(tmp_path / 'points.mcap')
    assert main(['info', str(tmp_path), '--json']) == 0
    captured = capsys.readouterr()
    assert 'truncated' not in captured.err and f'"message_count": {COUNT}' in captured.out
    file.write_bytes(file.read_bytes()[:-200])
    assert main(['info', str(tmp_path)]) == 0
    assert 'truncated' in capsys.readouterr().err


FOREIGN = [  # encodings of message and schema, name and text of the schema
    ('json', 'jsonschema', 'foxglove.Log', b'{"type": "object"}'),
    ('json', None, '', b''),
    ('ros1', 'ros1msg', 'std_msgs/String', b'string data'),
    ('protobuf', 'protobuf', 'my.Proto', b'\n\xff'),
    ('cdr', 'omg.new', 'my_msgs/msg/Thing', b'struct'),
    ('cdr', None, '', b''),
]


def with_channel(path, message, encoding, name, text, data=b'{"x": 1}'):
    """A file of the points with one more channel."""
    with path.open('wb') as stream:
        writer = McapWriter(stream)
        writer.start('ros2')
        schema = 0 if encoding is None else writer.register_schema(name, encoding, text)
        other = writer.register_channel('/other', message, schema)
        link = writer.register_channel('/point', 'cdr', writer.register_schema(POINT, '', b''))
        for at_ns, raw in points():
            writer.add_message(link, at_ns, raw, at_ns)
            writer.add_message(other, at_ns, data, at_ns)
        writer.finish()
    return path


@pytest.mark.parametrize('channel', FOREIGN, ids=lambda channel: f'{channel[0]}-{channel[1]}')
def test_a_channel_of_another_encoding_is_left_out_and_named(tmp_path, capsys, channel):
    bag = with_channel(tmp_path / 'bag.mcap', *channel)
    assert main(['info', str(bag), '--json']) == 0
    captured = capsys.readouterr()
    info = json.loads(captured.out)
    assert info['topics']['/point']['message_count'] == info['message_count'] == COUNT
    assert list(info['left_out']) == ['/other'] and repr(channel[0]) in info['left_out']['/other']
    assert '/other' in captured.err and 'not CDR' in captured.err
    assert main(['plot', str(bag), '--topics', '/other', '-o', str(tmp_path / 'plot.png')]) == 2
    assert f'holds {channel[0]!r} with' in capsys.readouterr().err
    assert main(['plot', str(bag), '--topics', '/point', '-o', str(tmp_path / 'plot.png')]) == 0


def test_a_type_without_a_definition_is_named(tmp_path, capsys):
    bag = with_channel(tmp_path / 'bag.mcap', 'cdr', '', 'my_msgs/msg/Thing', b'')
    assert main(['plot', str(bag), '--topics', '/other', '-o', str(tmp_path / 'plot.png')]) == 2
    assert 'no usable definition of my_msgs/msg/Thing' in capsys.readouterr().err


def test_definitions_in_idl_are_read(tmp_path):
    data = b'\0\1\0\0' + bytes(6) + b'\xf0\x3f'
    path = tmp_path / 'bag.mcap'
    with_channel(path, 'cdr', 'ros2idl', 'my_msgs/msg/Thing', IDL.encode(), data)
    with open_bag(path) as bag:
        [other] = [c for c in bag.connections if c.topic == '/other']
        assert [m.part.x for _, _, m in bag.decoded([other])] == [1.0] * COUNT


def test_topics_of_another_serialization_in_sqlite_are_left_out(tmp_path, capsys):
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        for topic in ('/point', '/other', '/rare'):
            link = writer.add_connection(topic, POINT, typestore=STORE)
            writer.write(link, 10**9, next(points())[1])
    [file] = (tmp_path / 'bag').glob('*.db3')
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE topics SET serialization_format = 'json' WHERE name = '/other'")
        database.execute("UPDATE message_definitions SET encoding = 'unknown'")
    with open_bag(tmp_path / 'bag') as bag:
        assert len(list(bag.decoded(bag.connections))) == 2
    assert "/other ('json'" in capsys.readouterr().err


def test_usual_names_with_other_types_are_not_drawn(tmp_path, capsys):
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for name in ('pressures', 'pressure_command', 'tip_pose', 'target', 'debug/tip_truth'):
            link = writer.add_connection(f'/arm/{name}', POINT, typestore=STORE)
            writer.write(link, 10**9, next(points())[1])
    assert main(['plot', str(tmp_path / 'bag'), '-o', str(tmp_path / 'plot.png')]) == 2
    assert 'neither pressures nor a tip' in capsys.readouterr().err
