"""Bags as files: command topics, topics of a replay, truncated bags, plots."""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from softarm_cli.bag_command import main
from softarm_cli.bags.file import open_bag
from softarm_cli.bags.replay import Replay, choose
from softarm_cli.errors import BagError
from softarm_cli.graph.command_topics import is_command

ROOT = Path(__file__).parents[4]
BAG = ROOT / 'src' / 'soft_arm_calibration' / 'test' / 'data' / 'virtual_rig_bag'
TRUTH = '/virtual_rig/debug/tip_truth'
CHAMBERS = 'soft_arm_msgs/msg/ChamberPressures'
PAGE = (ROOT / 'docs' / 'reference' / 'interfaces.md').read_text()
OBEYING = [
    *ROOT.glob('src/pneumatic_driver/*/ros/*.py'),
    *ROOT.glob('src/soft_arm_kinematics/*/ros/limb_states_node.py'),
]


def obeyed():
    """(type, name) of the topics that drivers and limbs subscribe to."""
    pattern = r"create_subscription\(\s*(\w+), '(\w+)'"
    return sorted(
        {match for source in OBEYING for match in re.findall(pattern, source.read_text())}
    )


def test_subscriptions_of_drivers_are_commands_and_documented():
    assert ('ChamberPressures', 'pressure_command') in obeyed()
    listed = re.search(r'(?ms)^Commands: .*?\n\n', PAGE)[0]
    for kind, name in obeyed():
        assert (
            is_command(f'/any/namespace/{name}', f'soft_arm_msgs/msg/{kind}')
            and f'`{name}`' in listed
        )


@pytest.mark.parametrize(
    'topic, kind, expected',
    [
        ('/left/arm/pressure_command', CHAMBERS, True),
        ('/left/set_points', CHAMBERS, True),  # remapped
        ('/soft_arm/pressures', CHAMBERS, False),
        ('/soft_arm/configuration', 'soft_arm_msgs/msg/ArmConfiguration', False),
        ('/cmd_vel', 'some_msgs/msg/Unknown', True),
        ('/soft_arm/tip_pose', 'geometry_msgs/msg/PoseWithCovarianceStamped', False),
    ],
)
def test_commands_are_known_by_name_and_type(topic, kind, expected):
    assert is_command(topic, kind) == expected


def test_unknown_topics_are_refused_with_similar_ones():
    with open_bag(BAG) as bag:
        with pytest.raises(BagError, match=f'did you mean {TRUTH}'):
            choose(bag, Replay(topics=('/virtual_rig/tip_truth',)))
        sent, left_out = choose(bag, Replay(topics=(TRUTH,)))
    assert [connection.topic for connection in sent] == [TRUTH] and left_out == {}


def test_a_truncated_bag_is_read_up_to_its_last_message(tmp_path, capsys):
    store = get_typestore(Stores.ROS2_JAZZY)
    text = store.types['std_msgs/msg/String']
    with Writer(tmp_path / 'whole', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        link = writer.add_connection('/words', 'std_msgs/msg/String', typestore=store)
        for number in range(40):  # more than a chunk, which is 1 MiB
            writer.write(
                link,
                10**9 + number * 10**7,
                store.serialize_cdr(text(f'{number} ' + 'x' * 100_000), link.msgtype),
            )
        shutil.copytree(
            tmp_path / 'whole', tmp_path / 'truncated'
        )  # as it stands when the recorder is killed now
    (tmp_path / 'truncated' / 'metadata.yaml').unlink(missing_ok=True)
    with open_bag(tmp_path / 'truncated') as bag:
        assert bag.is_cut and [connection.msgtype for connection in bag.connections] == [
            'std_msgs/msg/String'
        ]
        words = [
            store.deserialize_cdr(raw, connection.msgtype).data.split()[0]
            for connection, _, raw in bag.messages()
        ]
        part = [at_ns for _, at_ns, _ in bag.messages((), 10**9 + 3 * 10**7, 10**9 + 7 * 10**7)]
    assert bag.message_count == len(words) and words == [
        str(number) for number in range(len(words))
    ]
    assert part == [10**9 + number * 10**7 for number in (3, 4, 5, 6)]
    assert 10 <= len(words) < 40 and bag.duration_s == pytest.approx((len(words) - 1) * 0.01)
    assert main(['info', str(tmp_path / 'truncated')]) == 0
    assert 'was killed' in capsys.readouterr().err


def words_of(path, plugin, **qos):
    """A whole bag of three words, as `ros2 bag` writes it."""
    store = get_typestore(Stores.ROS2_JAZZY)
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        link = writer.add_connection('/words', 'std_msgs/msg/String', typestore=store, **qos)
        for number in range(3):
            text = store.types['std_msgs/msg/String'](f'word {number}')
            writer.write(link, 10**9 + number, store.serialize_cdr(text, link.msgtype))
    return path


def words_in(path):
    with open_bag(path) as bag:
        assert len(bag.connections) == 1
        return bag.is_cut, [m.data for _, _, m in bag.decoded(bag.connections)]


WORDS = ['word 0', 'word 1', 'word 2']


@pytest.mark.parametrize('plugin', StoragePlugin)
def test_a_bag_is_read_whatever_qos_its_metadata_names(tmp_path, plugin):
    """The files of `ros2 bag convert` and of older releases name another than metadata.yaml."""
    path = words_of(tmp_path / 'bag', plugin, offered_qos_profiles=[QOS])
    metadata = (path / 'metadata.yaml').read_text()
    assert metadata.count('depth: 7') == 1
    (path / 'metadata.yaml').write_text(metadata.replace('depth: 7', 'depth: 8'))
    assert words_in(path) == (False, WORDS)


QOS = Qos(
    QosHistory.KEEP_LAST,
    7,
    QosReliability.RELIABLE,
    QosDurability.VOLATILE,
    QosTime(0, 0),
    QosTime(0, 0),
    QosLiveliness.AUTOMATIC,
    QosTime(0, 0),
    False,
)


@pytest.mark.parametrize('journal', ['wal', 'delete'])
def test_committed_messages_of_a_truncated_sqlite_bag_are_read(tmp_path, journal):
    whole = words_of(tmp_path / 'whole', StoragePlugin.SQLITE3)
    [file] = whole.glob('*.db3')
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute(f'PRAGMA journal_mode={journal}')
        database.execute('PRAGMA wal_autocheckpoint=0')
        more = 'INSERT INTO messages (topic_id, timestamp, data) SELECT topic_id, 2000000000, data '
        more += 'FROM messages WHERE timestamp = 1000000000'
        database.execute(more)
        database.execute('BEGIN')
        database.execute(more)  # never committed
        shutil.copytree(whole, tmp_path / 'truncated')  # as it stands when it is killed now
        database.execute('ROLLBACK')
    (tmp_path / 'truncated' / 'metadata.yaml').unlink()
    left = {path.name: path.read_bytes() for path in (tmp_path / 'truncated').iterdir()}
    assert words_in(tmp_path / 'truncated') == (True, [*WORDS, 'word 0'])
    assert left == {path.name: path.read_bytes() for path in (tmp_path / 'truncated').iterdir()}


@pytest.mark.parametrize('given', ['folder', 'file'])
def test_a_whole_sqlite_file_without_metadata_is_not_called_truncated(tmp_path, given, capsys):
    bag = words_of(tmp_path / 'bag', StoragePlugin.SQLITE3)
    [file] = bag.glob('*.db3')
    path = bag if given == 'folder' else file
    assert words_in(path) == (False, WORDS) and not capsys.readouterr().err
    (bag / 'metadata.yaml').unlink()
    assert words_in(path) == (False, WORDS)
    error = capsys.readouterr().err
    assert 'metadata.yaml is missing' in error and 'truncated' not in error


def test_several_files_without_metadata_are_one_bag(tmp_path):
    for number in range(2):
        [file] = words_of(tmp_path / f'{number}', StoragePlugin.MCAP).glob('*.mcap')
        (tmp_path / 'bag').mkdir(exist_ok=True)
        shutil.copyfile(file, tmp_path / 'bag' / f'bag_{number}.mcap')
    assert words_in(tmp_path / 'bag') == (False, WORDS * 2)


@pytest.mark.parametrize(
    'content, message',
    [
        (None, 'neither metadata.yaml nor a .mcap or .db3 file'),
        (b'', 'metadata'),
        (b'\xff\xfe\x00', 'cannot read the bag'),
        (b'[1, 2]', 'cannot read the bag'),
        (b'a: ' + b'x' * 2_000_000, 'larger than 1 MB'),
    ],
    ids=['nothing', 'empty', 'binary', 'list', 'large'],
)
def test_a_damaged_bag_is_refused_in_one_line(tmp_path, content, message, capsys):
    (tmp_path / 'bag').mkdir()
    if content is not None:
        (tmp_path / 'bag' / 'metadata.yaml').write_bytes(content)
    assert main(['info', str(tmp_path / 'bag')]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count('\n') == 1 and len(error) <= 301


def test_a_plot_of_the_truth_is_written_and_said(tmp_path, capsys):
    assert main(['plot', str(BAG), '-o', str(tmp_path / 'p.png')]) == 0
    assert (tmp_path / 'p.png').read_bytes().startswith(b'\x89PNG') and str(
        tmp_path / 'p.png'
    ) in capsys.readouterr().out
    assert main(['plot', str(BAG), '-o', str(tmp_path / 'p.png'), '--topics', '/nothing']) == 2


@pytest.mark.parametrize(
    'arguments',
    [
        ['--namespace', '1x'],
        ['--namespace', ''],
        ['--topics', 'a b'],
        ['--domain', '233'],
        ['--rate', '0'],
    ],
)
def test_names_that_are_none_are_refused_before_anything_is_joined(arguments, capsys):
    assert main(['play', str(BAG), *arguments]) == 2
    assert capsys.readouterr().err.count('\n') == 1
