import json
import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_arm_calibration.cli.calibrate_extrinsics import main
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.points import COLUMNS

PLACE = np.tile(np.arange(9), 10)


def setup(seed):
    """True pose of the camera, and points on nine places in the camera's and in the base frame."""
    rng = np.random.default_rng(seed)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.random(random_state=seed).as_matrix(), rng.uniform(-0.4, 0.4, 3)
    base_m = rng.uniform(-0.06, 0.06, (9, 3))[PLACE]
    noise_m = rng.normal(0, 4e-4, base_m.shape)
    return T, extrinsics.transform(np.linalg.inv(T), base_m) + noise_m, base_m


def write_points(path, camera_m, base_m):
    rows = [','.join(COLUMNS)]
    for place, base, camera in zip(PLACE, base_m, camera_m, strict=True):
        rows.append(','.join(repr(float(value)) for value in (place, *base, *camera)))
    path.write_text('\n'.join(rows))
    return path


def test_command_saves_what_it_can_load(tmp_path, capsys):
    T, camera_m, base_m = setup(6)
    out = tmp_path / 'extrinsics.yaml'
    assert (
        main(
            [
                '--points',
                str(write_points(tmp_path / 'points.csv', camera_m, base_m)),
                '--output',
                str(out),
                '--json',
            ]
        )
        == 0
    )
    answer = json.loads(capsys.readouterr().out)
    loaded = extrinsics.load(load_rig('virtual'), load_robot('two_module_arm'), out)
    np.testing.assert_allclose(loaded.T_base_camera, answer['T_base_camera'], atol=1e-6)
    assert np.linalg.norm(loaded.T_base_camera[:3, 3] - T[:3, 3]) < 1e-3
    assert (loaded.base_frame, loaded.camera_frame) == (
        'soft_arm_base_link',
        'camera_color_optical_frame',
    )
    np.testing.assert_allclose(
        np.sqrt(np.diag(loaded.covariance)[:3]), answer['position_sigma_m'], rtol=1e-3
    )


def test_points_are_in_the_frame_that_is_given(tmp_path):
    _, camera_m, base_m = setup(6)
    points, out = write_points(tmp_path / 'points.csv', camera_m, base_m), tmp_path / 'made.yaml'
    given = ['--points', str(points), '--camera-frame', 'rgb_camera_link', '--output', str(out)]
    assert main(given) == 0
    loaded = extrinsics.load(load_rig('virtual'), load_robot('two_module_arm'), out)
    assert loaded.camera_frame == 'rgb_camera_link'


def test_bad_set_leaves_the_old_file(tmp_path, capsys):
    _, camera_m, base_m = setup(6)
    out = tmp_path / 'extrinsics.yaml'
    out.write_text('old')
    assert (
        main(
            [
                '--points',
                str(write_points(tmp_path / 'points.csv', camera_m * [1, 1, -1], base_m)),
                '--output',
                str(out),
            ]
        )
        == 2
    )
    error = capsys.readouterr().err
    assert re.fullmatch(r'softarm calibrate extrinsics: .*mirror.*\n', error)
    assert out.read_text() == 'old'


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--points', '/nowhere.csv'], 'No such file'),
        (['--rig', 'moon'], "rig 'moon' is not known"),
        (['--sets', '0'], 'at least 1'),
        (['--rig', 'lab'], 'give them with --jig'),
        (['--robot', 'teapot'], 'teapot'),
        (['--robot', 'modal_bellows'], 'to a copy of its file'),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error and error.count('\n') == 1
