"""Recordings of bags: pressures at the times of the tip."""

from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from soft_arm_identification.cli.recording_import import main
from soft_arm_identification.recording import Recording

ROOT = Path(__file__).parents[4]
STORE = get_typestore(Stores.ROS2_JAZZY)
CHAMBERS, POSE = 'soft_arm_msgs/msg/ChamberPressures', 'geometry_msgs/msg/PoseStamped'
STORE.register(
    get_types_from_msg((ROOT / 'src/soft_arm_msgs/msg/ChamberPressures.msg').read_text(), CHAMBERS)
)
STEP_NS, COUNT = 20_000_000, 50


def header(at_ns):
    time = STORE.types['builtin_interfaces/msg/Time'](at_ns // 10**9, at_ns % 10**9)
    return STORE.types['std_msgs/msg/Header'](time, 'base')


def pressures(at_ns, *values_pa):
    return STORE.types[CHAMBERS](header(at_ns), ['a', 'b'], np.array(values_pa), 'x 1')


def pose(at_ns, x, w=1.0):
    point = STORE.types['geometry_msgs/msg/Point'](x, 0.0, 0.2)
    turn = STORE.types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, w)
    return STORE.types[POSE](header(at_ns), STORE.types['geometry_msgs/msg/Pose'](point, turn))


def messages(ns='/arm'):
    """A command every 100 ms, pressures every 20 ms, poses between them; one pose is lost."""
    for number in range(COUNT):
        at_ns = 10**9 + number * STEP_NS
        if number >= 5 and number % 5 == 0:
            yield f'{ns}/pressure_command', pressures(at_ns, float(number), 0.0)
        yield f'{ns}/pressures', pressures(at_ns, 10.0 * number, -1.0)
        lost = 0.0 if number == 20 else 1.0
        yield f'{ns}/virtual_rig/debug/tip_truth', pose(at_ns + STEP_NS // 2, 0.001 * number, lost)


def write(path, *sources):
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        links = {}
        for source in sources:
            for at_ns, (topic, message) in enumerate(source, 1):
                kind = message.__msgtype__
                if topic not in links:
                    links[topic] = writer.add_connection(topic, kind, typestore=STORE)
                writer.write(links[topic], at_ns, STORE.serialize_cdr(message, kind))
    return str(path)


def test_commands_hold_and_measured_pressures_are_interpolated(tmp_path, capsys):
    assert main([write(tmp_path / 'run', messages()), '-o', str(tmp_path / 'out')]) == 0
    found = Recording.load(tmp_path / 'out' / 'run.npz')
    numbers = np.delete(np.arange(5, COUNT - 1), 15)  # the last pose is later than all pressures
    np.testing.assert_allclose(found.time_s, (numbers - 5) * 0.02, atol=1e-9)
    np.testing.assert_allclose(found.inputs.values[:, 0], numbers // 5 * 5)
    np.testing.assert_allclose(found.measured.values[:, 0], 10 * (numbers + 0.5))
    np.testing.assert_allclose(found.tip_m[:, 0], 0.001 * numbers)
    assert found.measured.names == ('a', 'b')
    assert {part.reason: part.samples for part in found.dropped} == {
        'before the first command': 5,
        'outside the time of the measured pressures': 1,
        'tip lost: no pose': 1,
    }
    assert 'before the first command' in capsys.readouterr().out


def test_topics_are_named_where_there_are_several(tmp_path, capsys):
    bag = write(tmp_path / 'two', messages('/left'), messages('/right'))
    assert main([bag, '-o', str(tmp_path / 'out')]) == 2
    assert '/right/virtual_rig/debug/tip_truth: name the topics' in capsys.readouterr().err
    given = [
        *('--tip-topic', '/left/virtual_rig/debug/tip_truth'),
        *('--command-topic', '/left/pressure_command', '--measured-topic', '/left/pressures'),
    ]
    assert main([bag, '-o', str(tmp_path / 'out'), *given]) == 0
    assert main([bag, '-o', str(tmp_path / 'out'), *given[:-1], '/left/pressure']) == 2
    assert 'holds no topic /left/pressure;' in capsys.readouterr().err


def test_poses_in_several_frames_are_refused(tmp_path, capsys):
    def moved():
        for number, (topic, message) in enumerate(messages()):
            if number > 100 and topic.endswith('tip_truth'):
                message.header.frame_id = 'map'
            yield topic, message

    assert main([write(tmp_path / 'run', moved()), '-o', str(tmp_path / 'out')]) == 2
    assert 'in the frames base, map' in capsys.readouterr().err


@pytest.mark.parametrize('missing', ['tip_truth', 'pressure'])
def test_what_a_bag_lacks_is_named(tmp_path, capsys, missing):
    part = (item for item in messages() if missing not in item[0])
    assert main([write(tmp_path / 'run', part), '-o', str(tmp_path / 'out')]) == 2
    assert 'holds no ' in capsys.readouterr().err
