"""`softarm sim robot`: what it moves, what it writes, and what it refuses."""

import csv
import json

import cv2
import numpy as np
import pytest

from soft_arm_physics.cli.robot import main

FINGER = ['soft_finger', '--duration', '0.3']


@pytest.fixture
def run(capsys):
    def call(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def read(path):
    with open(path, newline='') as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def test_a_formula_drives_a_finger_and_the_table_tells(run, tmp_path):
    table = tmp_path / 'out.csv'
    code, out, _ = run(*FINGER, '--actuate', 'finger_grasp=0.02*(t>0.1)', '--csv', table, '--json')
    columns = read(table)
    assert code == 0
    np.testing.assert_allclose(columns['time_s'], np.arange(31) / 100.0)
    np.testing.assert_allclose(columns['finger_grasp_n_m'], 0.02 * (columns['time_s'] > 0.101))
    before = columns['time_s'] < 0.1
    assert np.abs(columns['tip_y_m'][before]).max() < 1e-3 and columns['tip_y_m'][-1] < -0.02
    found = json.loads(out)
    np.testing.assert_allclose(found['tips_m']['soft_finger'][1], columns['tip_y_m'][-1], rtol=1e-5)


def test_bellows_that_a_load_overstretches_are_reported(run, tmp_path):
    file = tmp_path / 'heavy.yaml'
    load = '{robot: two_module_arm, force_n: [0, 0, -300]}'
    file.write_text(f'{{schema_version: 1, name: heavy, description: Heavy., loads: [{load}]}}')
    code, out, err = run('two_module_arm', '--world', file, '--duration', '0.5', '--json')
    assert code == 0 and 'warning: bellows m1_b1 of two_module_arm is' in err
    assert len(json.loads(out)['warnings']) == len(err.splitlines()) == 6


def test_a_csv_file_drives_as_the_same_formula_does(run, tmp_path):
    drive = tmp_path / 'drive.csv'
    drive.write_text('time_s,finger_grasp_n_m\n0,0\n0.2,0.02\n')
    ends = []
    for how in (drive, 'finger_grasp=min(0.1*t,0.02)'):
        _, out, _ = run(*FINGER, '--actuate', how, '--json')
        ends.append(json.loads(out)['tips_m']['soft_finger'])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
    assert ends[0][1] < -0.02


def test_a_name_without_a_robot_holds_for_every_robot_that_has_it(run):
    _, out, _ = run('hand', '--duration', '0.3', '--actuate', 'finger_grasp=-0.02', '--json')
    from_middle = [np.hypot(x, y) for x, y, _ in json.loads(out)['tips_m'].values()]
    np.testing.assert_allclose(from_middle, from_middle[0], rtol=1e-3)
    assert from_middle[0] > 0.06  # 0.05 at rest
    _, out, _ = run(
        'hand', '--duration', '0.3', '--actuate', 'finger_2.finger_grasp=-0.02', '--json'
    )
    x, y, _ = json.loads(out)['tips_m']['finger_1']
    assert np.hypot(x, y) == pytest.approx(0.05, abs=2e-3)


def test_list_names_every_coordinate_with_unit_and_limits(run):
    _, out, _ = run('squid', '--list', '--json')
    rows = {row['name']: row for row in json.loads(out)}
    assert rows['camera.camera_1_theta']['column'] == 'camera.camera_1_theta_rad'
    assert rows['camera.camera_1_theta']['high'] == pytest.approx(np.pi / 2)
    _, text, _ = run('two_module_arm', '--list')
    assert 'm2_b3_pa' in text and '96000 Pa' in text


def test_the_video_shows_the_robot_move(run, tmp_path):
    video, plot = tmp_path / 'out.mp4', tmp_path / 'out.png'
    code, out, _ = run(
        *FINGER, '--actuate', 'finger_grasp=0.04', '--width-px', 160,
        '--video', video, '--plot', plot,
    )  # fmt: skip
    assert code == 0 and str(video) in out and plot.stat().st_size > 20_000
    reader = cv2.VideoCapture(str(video))
    frames = [reader.read()[1] for _ in range(int(reader.get(cv2.CAP_PROP_FRAME_COUNT)))]
    assert len(frames) == 8 and frames[0].shape == (120, 160, 3)
    assert frames[0].std() > 10.0  # a body before a sky
    moved = np.abs(frames[-1].astype(int) - frames[0]).max(axis=2) > 40
    assert 0.005 < moved.mean() < 0.5


@pytest.mark.parametrize(
    ('words', 'line'),
    [
        (['nowhere.yaml'], 'No such file; give a path or one of'),
        (['hand', '--world', 'moon'], 'No such file; give a path or one of empty'),
        (
            [*FINGER, '--actuate', 'finger=1'],
            "unknown coordinate 'finger': give one of finger_grasp",
        ),
        ([*FINGER, '--actuate', 'drive.csv'], 'neither NAME=FORMULA nor a file'),
        ([*FINGER, '--actuate', 'finger_grasp=os.system(1)'], 'is not allowed; allowed are'),
        ([*FINGER, '--actuate', 'finger_grasp=t'], 'N m at t = 0.06 s, outside -0.05'),
        ([*FINGER, '--actuate', 'finger_grasp=0', 'finger_grasp=0'], 'is given twice'),
        ([*FINGER, '--video', 'out.avi'], 'must end in .mp4'),
        ([*FINGER, '--video', 'x.mp4', '--camera', 'left'], "the world has no camera 'left'"),
        ([*FINGER, '--video', 'x.mp4', '--actuate', 'finger_grasp=1'], '1 N m at t = 0 s'),
        ([*FINGER, '--camera', 'left'], 'are of the video: give --video too'),
        ([*FINGER, '--duration', 'nan'], 'not a finite number'),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(run, words, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words)
    assert code == 2 and out == '' and line in err and err.count('\n') == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ('content', 'line'),
    [
        ('time_s,finger_grasp_n_m\n0,0\n0,1\n', 'time_s must rise'),
        ('time_s,finger_grasp\n0,0\n', "'finger_grasp': give one of finger_grasp_n_m"),
        ('finger_grasp_n_m\n0\n', 'needs a column time_s'),
        ('time_s,finger_grasp_n_m\n0,much\n', 'must be a finite number'),
    ],
)
def test_a_bad_table_is_refused(run, tmp_path, content, line):
    drive = tmp_path / 'drive.csv'
    drive.write_text(content)
    code, _, err = run(*FINGER, '--actuate', drive)
    assert code == 2 and line in err and 'drive.csv' in err
