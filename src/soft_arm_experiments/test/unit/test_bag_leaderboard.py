"""`softarm bag evaluate`: figures that follow from how the bags were made."""

import json
import math
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from soft_arm_calibration.bags.track import GAP_NS, Track, distances_m
from soft_arm_description.robot import load_robot, shipped_robots
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_physics.pneumatic_arm import pneumatic_arm
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.placement import camera_for, jig_for
from softarm_cli.bag_command import main

ROOT = Path(__file__).parents[4]
PICTURES = Path(__file__).parents[3] / 'soft_arm_calibration/test/data/virtual_rig_bag'
STORE = get_typestore(Stores.ROS2_JAZZY)
CHAMBERS = 'soft_arm_msgs/msg/ChamberPressures'
STORE.register(
    get_types_from_msg((ROOT / 'src/soft_arm_msgs/msg/ChamberPressures.msg').read_text(), CHAMBERS)
)
OFFSET_M = np.array([0.0, 0.003, 0.004])  # true tip less the model's
BASE = 'soft_arm_base_link'
MODEL, ESTIMATE, DYNAMIC = 'calibrated model', "controller's estimate", 'dynamic model'


def header(stamp_ns, frame):
    time = STORE.types['builtin_interfaces/msg/Time'](stamp_ns // 10**9, stamp_ns % 10**9)
    return STORE.types['std_msgs/msg/Header'](time, frame)


def pose(point_m):
    types = STORE.types
    return types['geometry_msgs/msg/Pose'](
        types['geometry_msgs/msg/Point'](*point_m),
        types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0),
    )


def measured(stamp_ns, arm, pressures_pa):
    return STORE.types[CHAMBERS](
        header(stamp_ns, ''), list(arm.robot.chambers), np.array(pressures_pa, float), 'driver 1'
    )


def rig_messages(seconds=3.0, ns='/soft_arm', frame=BASE, truth='/virtual_rig/debug/tip_truth'):
    """An arm that bends slowly; its true tip is off the model's by `OFFSET_M`; the ring is true."""
    arm, types = load_bellows_arm(), STORE.types
    for number in range(int(seconds * 50)):
        stamp_ns = 10**9 + number * 20_000_000
        swing_pa = 4e3 * math.sin(0.5 * number * 0.02)
        pressures_pa = np.array([0.0, 0.0, 0.0, -20e3 + swing_pa, 0.0, -10e3])
        tip_m = arm.at(arm.lengths(pressures_pa)).tip_m + OFFSET_M
        yield f'{ns}/pressures', measured(stamp_ns, arm, pressures_pa), stamp_ns
        if truth:
            yield (
                truth,
                types['geometry_msgs/msg/PoseStamped'](header(stamp_ns, frame), pose(tip_m)),
                stamp_ns,
            )
        if number % 2 == 0:
            seen = types['geometry_msgs/msg/PoseWithCovariance'](
                pose(tip_m), 1e-8 * np.eye(6).ravel()
            )
            yield (
                f'{ns}/tip_pose',
                types['geometry_msgs/msg/PoseWithCovarianceStamped'](header(stamp_ns, BASE), seen),
                stamp_ns + 5_000_000,
            )


def write(path, messages, plugin=StoragePlugin.MCAP):
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        links = {}
        for topic, message, at_ns in messages:
            if topic not in links:
                links[topic] = writer.add_connection(topic, message.__msgtype__, typestore=STORE)
            writer.write(links[topic], at_ns, STORE.serialize_cdr(message, message.__msgtype__))
    return path


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write(tmp_path_factory.mktemp('bags') / 'rig', rig_messages())


def answer(capsys, *arguments):
    assert main(['evaluate', *map(str, arguments), '--json']) == 0
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def board(found):
    return {row['estimate']: row for row in found['leaderboard']}


def test_the_leaderboard_shows_the_errors_that_were_put_in(bag, capsys, tmp_path):
    found, _ = answer(capsys, bag, '--plot', tmp_path / 'error.png')
    rows = board(found)
    assert found['reference'] == 'truth'
    assert [*rows] == sorted(rows, key=lambda name: rows[name]['mean_m'])
    assert rows['vision']['mean_m'] == pytest.approx(0.0, abs=1e-12)
    assert rows['vision']['count'] == 75 and rows[MODEL]['count'] == 150
    off_m = np.linalg.norm(OFFSET_M)
    assert rows[MODEL]['mean_m'] == rows[MODEL]['p95_m'] == pytest.approx(off_m, abs=1e-9)
    # The camera teaches the estimate the offset; lag and creep alone do not know it.
    assert rows[ESTIMATE]['p95_m'] < 0.2 * off_m < rows[DYNAMIC]['mean_m']
    pairs = {(pair['one'], pair['other']): pair for pair in found['pairs']}
    assert pairs['vision', MODEL]['mean_m'] == pytest.approx(off_m, abs=1e-9)
    assert (tmp_path / 'error.png').read_bytes().startswith(b'\x89PNG')


def test_the_same_bag_gives_the_same_numbers(bag, capsys):
    assert answer(capsys, bag) == answer(capsys, bag)


def test_several_bags_are_one_table(bag, tmp_path, capsys):
    short = write(tmp_path / 'short', rig_messages(1.0), StoragePlugin.SQLITE3)
    found, _ = answer(capsys, bag, short)
    row = board(found)[MODEL]
    assert row['count'] == sum(one['count'] for one in row['by_bag']) == 200
    assert [one['bag'] for one in found['bags']] == [str(bag), str(short)]
    assert main(['evaluate', str(bag), str(short)]) == 0
    printed = capsys.readouterr().out
    assert '5.000 / 5.000 (200)' in printed and '5.000 / 5.000 (50)' in printed


def test_without_truth_the_camera_is_the_reference(bag, tmp_path, capsys):
    blind = write(tmp_path / 'blind', rig_messages(1.0, truth=None))
    found, _ = answer(capsys, bag, blind)
    assert found['reference'] == 'vision' and 'truth' not in board(found)
    assert board(found)[MODEL]['mean_m'] == pytest.approx(0.005, abs=1e-9)


def test_the_truth_of_a_motion_capture_is_named(tmp_path, capsys):
    path = write(tmp_path / 'bag', rig_messages(1.0, truth='/mocap/tip'))
    assert answer(capsys, path)[0]['reference'] == 'vision'
    assert answer(capsys, path, '--truth', '/mocap/tip')[0]['reference'] == 'truth'


def untracked(messages, topic, values, first=20, count=25):
    """The messages with other positions and quaternions in some poses of a topic."""
    number = 0
    for name, message, at_ns in messages:
        if name == topic:
            if first <= number < first + count:
                pose = getattr(message.pose, 'pose', message.pose)
                for part, axes in ((pose.position, 'xyz'), (pose.orientation, 'xyzw')):
                    for axis in axes:
                        setattr(part, axis, values[axis == 'w'])
            number += 1
        yield name, message, at_ns


@pytest.mark.parametrize('values', [(0.0, 0.0), (0.0, 1.0), (math.nan, math.nan), (0.0, math.inf)])
@pytest.mark.parametrize('topic', ['/mocap/tip', '/soft_arm/tip_pose'])
def test_poses_of_a_body_that_is_not_tracked_are_left_out_and_counted(
    tmp_path, capsys, values, topic
):
    messages = untracked(rig_messages(2.0, truth='/mocap/tip'), topic, values)
    found, error = answer(capsys, write(tmp_path / 'bag', messages), '--truth', '/mocap/tip')
    samples = 100 if topic == '/mocap/tip' else 50
    assert f'25 of {samples} poses of {topic} are left out' in error and error.count('\n') == 1
    assert board(found)['vision']['mean_m'] < 1e-4
    assert board(found)[MODEL]['mean_m'] == pytest.approx(np.linalg.norm(OFFSET_M), abs=1e-4)


def test_a_pose_that_is_repeated_exactly_is_reported(tmp_path, capsys):
    held = untracked(rig_messages(2.0, truth='/mocap/tip'), '/mocap/tip', (0.5, 0.5))
    _, error = answer(capsys, write(tmp_path / 'bag', held), '--truth', '/mocap/tip')
    assert '25 consecutive poses of /mocap/tip are identical' in error


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda m: m.pressures_pa.__setitem__(1, math.nan), 'm1_b2 at nan kPa'),
        (lambda m: m.pressures_pa.__setitem__(1, 1e6), 'm1_b2 at 1000 kPa'),
        (lambda m: m.names.__setitem__(1, m.names[0]), "'m1_b1' are given twice"),
        (lambda m: m.names.pop(), '5 names but 6 pressures'),
    ],
    ids=['nan', 'far outside its limits', 'repeated name', 'missing name'],
)
def test_pressures_that_nodes_refuse_are_left_out_and_counted(tmp_path, capsys, change, words):
    def changed():
        number = 0
        for topic, message, at_ns in rig_messages(1.0):
            if topic.endswith('/pressures'):
                if number < 5:
                    change(message)
                number += 1
            yield topic, message, at_ns

    found, error = answer(capsys, write(tmp_path / 'bag', changed()))
    assert '5 of 50 pressures of /soft_arm/pressures are left out; the first: ' in error
    assert words in error and error.count('\n') == 1
    assert board(found)[MODEL]['mean_m'] == pytest.approx(np.linalg.norm(OFFSET_M), abs=1e-4)


def test_a_truth_without_any_tracked_pose_is_refused(tmp_path, capsys):
    lost = untracked(rig_messages(1.0, truth='/mocap/tip'), '/mocap/tip', (0.0, 0.0), 0, 50)
    assert main(['evaluate', str(write(tmp_path / 'bag', lost)), '--truth', '/mocap/tip']) == 2
    error = capsys.readouterr().err
    assert '50 of 50' in error and 'no usable pose in /mocap/tip' in error


def test_images_come_before_recorded_poses(tmp_path, capsys):
    with Reader(PICTURES) as reader:
        seen = [
            (link.topic, STORE.deserialize_cdr(raw, link.msgtype), at_ns)
            for link, at_ns, raw in reader.messages()
        ]
    arm = load_bellows_arm()
    pressures_pa = [-96e3, -96e3, -96e3, 20e3, 0.0, -60e3]
    for number in range(12):
        at_ns = 990_000_000 + number * 20_000_000
        seen.append(('/soft_arm/pressures', measured(at_ns, arm, pressures_pa), at_ns))
    path = write(tmp_path / 'bag', sorted(seen, key=lambda one: one[2]))
    found, _ = answer(capsys, path)
    assert found['bags'][0]['topics']['colour'] == '/camera/camera/color/image_raw'
    assert found['bags'][0]['samples']['vision'] >= 5
    assert board(found)['vision']['mean_m'] < 2e-3  # with the error of the rig's extrinsics
    assert (found, _) == answer(capsys, path)


def test_a_cut_bag_is_compared_and_named(tmp_path, capsys):
    filler = STORE.types['std_msgs/msg/String']('x' * 20_000)  # a chunk is 1 MiB
    messages = rig_messages(4.0)
    many = write(
        tmp_path / 'whole',
        (one for topic, *rest in messages for one in ((topic, *rest), ('/x', filler, rest[1]))),
    )
    (tmp_path / 'cut').mkdir()
    data = next(many.glob('*.mcap')).read_bytes()
    (tmp_path / 'cut' / 'cut.mcap').write_bytes(data[: 7 * len(data) // 10])
    found, warning = answer(capsys, tmp_path / 'cut')
    assert found['bags'][0]['is_cut'] and 'was killed' in warning
    assert 0 < board(found)[MODEL]['count'] < 200
    assert board(found)[MODEL]['mean_m'] == pytest.approx(0.005, abs=1e-9)


def two_arms():
    return [*rig_messages(0.5, '/left'), *rig_messages(0.5, '/right')]


@pytest.mark.parametrize(
    'messages, arguments, words',
    [
        (
            lambda: rig_messages(0.5),
            ['--robot', 'four_piece_finger'],
            'must use the robot file four_piece_finger; give the --robot',
        ),
        (
            lambda: rig_messages(0.5, frame='map'),
            [],
            "is in frame 'map', the base of two_module_arm",
        ),
        (lambda: rig_messages(0.5), ['--truth', '/mocap/tip'], 'holds no topic /mocap/tip'),
        (two_arms, [], 'choose one with --namespace'),
        (two_arms, ['--namespace', 'middle'], 'there are: /left, /right'),
        (lambda: [next(iter(rig_messages(0.5)))], ['--plot', 'error.png'], 'nothing to draw'),
        (lambda: [*rig_messages(0.5)][1:2], [], 'nothing to compare: no model of the robot file'),
    ],
    ids=['robot', 'frame', 'truth', 'two arms', 'namespace', 'no reference', 'nothing'],
)
def test_what_cannot_be_compared_is_refused_in_one_line(
    tmp_path, monkeypatch, capsys, messages, arguments, words
):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / 'bag', messages())
    assert main(['evaluate', str(path), *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count('\n') == 1
    shutil.rmtree(path)


@given(
    st.lists(st.integers(0, 3 * GAP_NS), min_size=1, max_size=30, unique=True),
    st.lists(st.integers(-GAP_NS, 4 * GAP_NS), max_size=30),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=100, deadline=None)
def test_a_track_is_interpolated_only_between_samples_near_each_other(stamps, asked, seed):
    """A straight way at constant speed is met exactly, wherever there is a position at all."""
    start_m, speed_m_s = np.random.default_rng(seed).normal(size=(2, 3))
    stamps_ns = np.array(stamps)

    def at(times_ns):
        return start_m + np.array(times_ns)[:, None] * 1e-9 * speed_m_s

    track = Track.of(stamps_ns, at(stamps_ns))
    inside, points_m = track.at(np.array(asked, int))
    for time_ns, known, point_m in zip(asked, inside, points_m, strict=True):
        before, after = stamps_ns[stamps_ns <= time_ns], stamps_ns[stamps_ns >= time_ns]
        wanted = len(before) and len(after) and after.min() - before.max() <= GAP_NS
        assert known == bool(wanted)
        if known:
            np.testing.assert_allclose(point_m, at([time_ns])[0], atol=1e-9)
        else:
            assert np.isnan(point_m).all()
    moved = Track(track.stamps_ns, track.points_m + [0.0, 3.0, 4.0])
    assert distances_m(track, moved)[1] == pytest.approx(np.full(len(stamps), 5.0))


def test_markers_are_found_in_recorded_images(tmp_path, capsys):
    robot = yaml.safe_load(shipped_robots()['two_module_arm'].read_text())
    del robot['ring']
    one = {'id': 3, 'position_m': [0.043, -0.025, 0.0], 'rpy_deg': [90.0, 0.0, 60.0]}
    other = {'id': 4, 'position_m': [0.0, -0.05, 0.0], 'rpy_deg': [90.0, 0.0, 0.0]}
    robot['fiducial'] = {
        'dictionary': 'DICT_APRILTAG_36h11',
        'printed_from': 'apriltag',
        'size_m': 0.04,
        'markers': [one, other],
    }
    path = tmp_path / 'marked.yaml'
    path.write_text(yaml.safe_dump(robot))
    marked = load_robot(path)
    arm = pneumatic_arm(marked, 1).robot
    camera = VirtualCamera(marked, camera_for(marked), jig_for(marked), 1)
    frame = camera.capture(arm.joint_positions())
    camera.close()
    rgb = cv2.resize(frame.rgb, (320, 240), interpolation=cv2.INTER_AREA)
    shown = pictures(rgb, frame.depth[::2, ::2], arm.T_base_tip()[:3, 3])
    bag = write(tmp_path / 'bag', shown)
    found, _ = answer(capsys, bag, '--robot', path, '--tip-source', 'fiducial')
    row = board(found)['vision']
    assert row['count'] >= 5 and row['mean_m'] < 5e-3  # half the pixels, the rig's extrinsics


def test_a_damaged_image_is_one_error(tmp_path, capsys):
    bag = write(tmp_path / 'bag', pictures(np.zeros((9, 9, 3), np.uint8)))
    assert main(['evaluate', str(bag)]) == 2
    said = capsys.readouterr().err
    assert '243 bytes: damaged' in said and 'Traceback' not in said


def pictures(rgb, depth=None, tip_m=None):
    """The recorded pictures and true tips with other contents."""
    with Reader(PICTURES) as reader:
        for link, at_ns, raw in reader.messages():
            message = STORE.deserialize_cdr(raw, link.msgtype)
            if link.topic.endswith('/color/image_raw'):
                message.data = rgb.ravel()
            elif link.topic.endswith('/aligned_depth_to_color/image_raw') and depth is not None:
                message.data = depth.ravel().view(np.uint8)
            elif link.topic.endswith('/tip_truth') and tip_m is not None:
                message.pose = pose(tip_m)
            yield link.topic, message, at_ns
