import json

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from soft_arm_calibration.bags import arm_files
from soft_arm_calibration.bags.pose_latency import find_latency
from soft_arm_calibration.bags.track import Track
from soft_arm_calibration.cli.calibrate_motion_capture import main
from soft_arm_description.calibration import load_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_experiments.arm.tip_sensors import MotionCaptureTipSensor
from soft_arm_sim.motion_capture import VirtualMotionCapture, load_motion_capture
from soft_arm_sim.stepped_rig import Exposure
from soft_arm_vision.calibration.motion_capture import MotionCapture
from soft_arm_vision.calibration.points import COLUMNS
from soft_arm_vision.errors import VisionError


def matrix(rng, reach_m):
    T = np.eye(4)
    T[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    T[:3, 3] = rng.uniform(-reach_m, reach_m, 3)
    return T


def write_points(folder, base_m, world_m):
    """Write tip positions in the base and as the system measures them; return the arguments."""
    rows = [(i, *base, *world) for i, (base, world) in enumerate(zip(base_m, world_m, strict=True))]
    lines = [','.join(f'{v:.9f}' for v in row) for row in rows]
    (folder / 'tip.csv').write_text('\n'.join([','.join(COLUMNS), *lines]))
    return ['--points', str(folder / 'tip.csv'), '--output', str(folder / 'made.yaml')]


GRID_M = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (0, 1)]) * 0.05


def test_the_tip_is_where_places_and_body_say(tmp_path, capsys):
    rng, T_body_tip = np.random.default_rng(11), np.eye(4)
    T_base_world = matrix(rng, 1.0)
    T_body_tip[:3, 3] = 0.01, -0.02, 0.03
    base_m = rng.uniform(-0.1, 0.1, (12, 3)) + [0.0, 0.0, 0.3]
    world_m = (base_m - T_base_world[:3, 3]) @ T_base_world[:3, :3]
    given = [*write_points(tmp_path, base_m, world_m), '--latency-s', '0.008', '--json']
    assert main([*given, '--tip-position-m', '0.01', '-0.02', '0.03']) == 0
    assert json.loads(capsys.readouterr().out)['values']['latency_s'] == 0.008
    robot = load_robot('two_module_arm')
    made = tmp_path / 'made.yaml'
    found = load_calibration(load_rig('virtual'), MotionCapture, robot, made).values
    T_base_tip = matrix(rng, 0.1)
    sight = found.sight(np.linalg.inv(T_base_world) @ T_base_tip @ np.linalg.inv(T_body_tip))
    np.testing.assert_allclose(sight.T_base_tip, T_base_tip, atol=1e-5)


def test_what_the_shipped_virtual_rig_says_of_its_errors_is_true():
    robot = load_robot('two_module_arm')
    calibration = load_calibration(load_rig('virtual'), MotionCapture, robot).values
    sensor, squares = MotionCaptureTipSensor(calibration, 23), []
    T = np.eye(4)
    T[:3, 3] = 0.03, 0.02, 0.22
    for _ in range(300):
        sight = sensor.measure(Exposure(0.0, np.zeros(0), T))
        error_m = sight.T_base_tip[:3, 3] - T[:3, 3]
        squares.append(error_m @ np.linalg.solve(sight.covariance[:3, :3], error_m))
    assert 2.0 < np.mean(squares) < 4.5  # 3 is right


def test_a_real_rig_needs_places(tmp_path, capsys):
    assert main(['--rig', 'lab']) == 2
    assert '--points' in capsys.readouterr().err


def motion_m(times_s):
    """A tip that goes to and fro as the arm does, some 60 mm in half a second."""
    swing = np.column_stack([np.sin(5.1 * times_s), np.cos(4.3 * times_s), np.sin(2.9 * times_s)])
    return np.array([0.03, 0.03, 0.02]) * swing + [0.0, 0.0, 0.22]


def tracks(rng, latency_s, seconds=10.0):
    """Motion capture of 0.2 mm noise at 100 Hz, and a camera of 0.3 mm at 30 Hz."""
    system, tips, T = VirtualMotionCapture(load_motion_capture(), int(rng.integers(1e6))), [], None
    T_body_tip = np.linalg.inv(system.parameters.body_in_tip.matrix)
    times_s = np.arange(0.0, seconds, 0.01)
    for point_m in motion_m(times_s):
        T = np.eye(4)
        T[:3, 3] = point_m
        tips.append((system.measured(T) @ T_body_tip)[:3, 3])
    images_s = np.arange(0.0, seconds, 1 / 30)
    seen_m = motion_m(images_s) + 0.3e-3 * rng.standard_normal((len(images_s), 3))
    late_ns = np.round(1e9 * (times_s + latency_s))
    return Track.of(late_ns, np.array(tips)), Track.of(np.round(1e9 * images_s), seen_m)


def test_the_latency_is_found_as_surely_as_it_says():
    rng, off = np.random.default_rng(31), []
    for latency_s in rng.uniform(-0.1, 0.2, 10):
        late, seen = tracks(rng, latency_s)
        wrong = rng.choice(len(seen.points_m), 6)
        seen.points_m[wrong] += 0.05  # poses of something else
        found = find_latency(late, seen)
        assert found.latency_s == pytest.approx(latency_s, abs=1e-3)
        off.append((found.latency_s - latency_s) / found.sd_s)
    assert 0.2 < np.mean(np.square(off)) < 5.0  # 1 is right


def test_what_tells_no_latency_is_refused():
    rng = np.random.default_rng(5)
    late, seen = tracks(rng, 0.02)
    moved = Track.of(late.stamps_ns - 8_000_000, late.points_m[:, [1, 2, 0]] + 0.1)
    with pytest.raises(VisionError, match='was made of these poses'):
        find_latency(late, moved)
    with pytest.raises(VisionError, match='that both clocks agree'):
        find_latency(Track.of(late.stamps_ns + 10**9, late.points_m), seen)
    with pytest.raises(VisionError, match='record a longer motion'):
        find_latency(*tracks(rng, 0.02, 2.0))
    still = Track.of(seen.stamps_ns, seen.points_m - motion_m(1e-9 * seen.stamps_ns))
    with pytest.raises(VisionError, match='move the tip faster'):
        find_latency(Track.of(late.stamps_ns, 1e-3 * late.points_m), still)


def write_bag(path, late, seen, bodies=('body',), lost_w=()):
    """A bag of a body's poses in the frame `mocap`, and of a camera's `tip_pose`.

    The first poses of the body are at 0 with a quaternion of 0, 0, 0 and each of `lost_w`.
    """
    store = get_typestore(Stores.ROS2_JAZZY)
    types = store.types
    kind, seen_kind = (f'geometry_msgs/msg/Pose{k}Stamped' for k in ('', 'WithCovariance'))

    def header(stamp_ns, frame):
        stamp = types['builtin_interfaces/msg/Time'](*map(int, divmod(stamp_ns, 10**9)))
        return types['std_msgs/msg/Header'](stamp, frame)

    def pose(point_m, w=1.0):
        return types['geometry_msgs/msg/Pose'](
            types['geometry_msgs/msg/Point'](*map(float, point_m)),
            types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, w),
        )

    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for body in bodies:
            link = writer.add_connection(f'/mocap/{body}', kind, typestore=store)
            for at_ns, w in zip(late.stamps_ns, lost_w, strict=False):
                message = types[kind](header(at_ns, 'mocap'), pose(np.zeros(3), w))
                writer.write(link, int(at_ns), store.serialize_cdr(message, kind))
            for at_ns, point_m in zip(late.stamps_ns, late.points_m, strict=True):
                message = types[kind](header(at_ns, 'mocap'), pose(point_m))
                writer.write(link, int(at_ns), store.serialize_cdr(message, kind))
        link = writer.add_connection('/soft_arm/tip_pose', seen_kind, typestore=store)
        for at_ns, point_m in zip(seen.stamps_ns, seen.points_m, strict=True):
            covered = types['geometry_msgs/msg/PoseWithCovariance'](pose(point_m), np.zeros(36))
            message = types[seen_kind](header(at_ns, 'soft_arm_base_link'), covered)
            writer.write(link, int(at_ns), store.serialize_cdr(message, seen_kind))
    return path


def test_the_latency_comes_from_a_bag(tmp_path, capsys):
    late, seen = tracks(np.random.default_rng(12), 0.033)
    later = [Track(t.stamps_ns + 10**9, t.points_m) for t in (late, seen)]
    given = [*write_points(tmp_path, GRID_M, GRID_M), '--world-frame', 'mocap', '--bag']
    lost_w = 10 * [0.0, 1.0, np.nan]
    assert main([*given, str(write_bag(tmp_path / 'one', *later, lost_w=lost_w))]) == 0
    captured = capsys.readouterr()
    assert 'older than their stamps' in captured.out
    assert '30 of 1030 poses of /mocap/body are left out' in captured.err
    robot, rig = load_robot('two_module_arm'), load_rig('virtual')
    file = tmp_path / 'made.yaml'
    found = load_calibration(rig, MotionCapture, robot, file).values
    assert found.latency_s == pytest.approx(0.033, abs=1e-3)
    assert 'latency_sd_s: 0.000' in file.read_text()
    two = str(write_bag(tmp_path / 'two', *later, bodies=('body', 'table')))
    assert main([*given, two]) == 2
    error = capsys.readouterr().err
    assert '2 topics' in error and '--body-pose' in error and error.count('\n') == 1
    assert main([*given, two, '--body-pose', '/mocap/body']) == 0


def test_a_bag_of_virtual_devices_calibrates_no_real_rig(tmp_path, capsys):
    motion = tracks(np.random.default_rng(12), 0.033, 1.0)
    bag = write_bag(tmp_path / 'bag', *motion, bodies=('body', 'debug/tip_truth'))
    given = [*write_points(tmp_path, np.eye(3), np.eye(3)), '--rig', 'lab', '--bag', str(bag)]
    assert main([*given, '--world-frame', 'mocap', '--body-pose', '/mocap/body']) == 2
    error = capsys.readouterr().err
    assert '/mocap/debug/tip_truth shows' in error and "rig 'lab' is real" in error
    assert not (tmp_path / 'made.yaml').exists()


def test_the_tip_in_a_bag_may_be_seen_by_its_markers(tmp_path, monkeypatch, capsys):
    late, seen = tracks(np.random.default_rng(12), 0.033)
    later = [Track(t.stamps_ns + 10**9, t.points_m) for t in (late, seen)]
    given = [*write_points(tmp_path, GRID_M, GRID_M), '--world-frame', 'mocap']
    given += ['--tip-source', 'fiducial']
    load, sources = arm_files.load_files, []

    def loaded(*arguments):
        files = load(*arguments)
        sources.append(files.tip_source)
        return files

    monkeypatch.setattr(arm_files, 'load_files', loaded)
    assert main([*given, '--bag', str(write_bag(tmp_path / 'bag', *later))]) == 0
    assert sources == ['fiducial']
