import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_arm_description.calibration import CalibrationError, Measurement, save_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.extrinsics import CalibrationRefused
from soft_arm_vision.calibration.points import read_jig
from soft_arm_vision.errors import VisionError

PEGS_M = np.array(
    [
        [x, y, 0.22 + x + 0.02 * ((i + j) % 2)]
        for i, x in enumerate((-0.06, 0, 0.06))
        for j, y in enumerate((-0.05, 0, 0.05))
    ]
)
PLACE = np.tile(np.arange(9), 10)
RIG, ROBOT = load_rig('virtual'), load_robot('two_module_arm')
MEASURED = Measurement(
    devices='virtual', method='test', residuals={'rms_m': 1e-4}, limits={'x_m': (-0.1, 0.1)}
)


def setup(seed=0, sigma_m=4e-4):
    rng = np.random.default_rng(seed)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.random(random_state=seed).as_matrix(), rng.uniform(-0.4, 0.4, 3)
    base_m = PEGS_M[PLACE]
    return (
        T,
        extrinsics.transform(np.linalg.inv(T), base_m) + rng.normal(0, sigma_m, base_m.shape),
        base_m,
    )


@pytest.mark.parametrize('seed', range(5))
def test_pose_is_found_and_its_uncertainty_is_honest(seed):
    T, camera_m, base_m = setup(seed)
    found = extrinsics.solve(camera_m, base_m, PLACE)
    at_middle = extrinsics.transform(
        found.T_base_camera @ np.linalg.inv(T), base_m.mean(axis=0)[None]
    )[0] - base_m.mean(axis=0)
    turn = Rotation.from_matrix(found.T_base_camera[:3, :3] @ T[:3, :3].T).as_rotvec()
    assert np.all(np.abs(at_middle) < 4 * found.position_sigma_m)
    assert np.all(np.abs(turn) < 4 * found.rotation_sigma_rad)
    assert found.residual_m == pytest.approx(np.sqrt(3) * 4e-4, rel=0.2)
    assert found.leave_one_out_m > found.residual_m
    assert found.points == 90


def test_exact_points_give_the_exact_pose():
    T, camera_m, base_m = setup(3, sigma_m=0)
    np.testing.assert_allclose(
        extrinsics.solve(camera_m, base_m, PLACE).T_base_camera, T, atol=1e-12
    )


def test_outliers_are_left_out():
    T, camera_m, base_m = setup(1)
    camera_m[[4, 40, 70]] += [0.03, -0.02, 0.01]
    found = extrinsics.solve(camera_m, base_m, PLACE)
    assert np.flatnonzero(~found.kept).tolist() == [4, 40, 70]
    assert np.linalg.norm(found.T_base_camera[:3, 3] - T[:3, 3]) < 2e-3


@pytest.mark.parametrize(('common_m', 'scale'), [(0.0, 1.0), (6e-4, 1.0), (0.0, 1.004)])
def test_covariance_of_a_calibrated_place_is_that_of_many_calibrations(tmp_path, common_m, scale):
    rng, place_m, squared = np.random.default_rng(5), np.array([0.09, -0.07, 0.31]), []
    for seed in range(60):
        T, camera_m, base_m = setup(seed)
        # Common error of all points at one peg.
        camera_m = scale * (camera_m + rng.normal(0, common_m, (9, 3))[PLACE])
        solved = extrinsics.solve(camera_m, base_m, PLACE)
        save_calibration(
            RIG, extrinsics.values_of(solved, 'a', 'b'), ROBOT, MEASURED, tmp_path / 'e.yaml'
        )
        mounting = extrinsics.load(RIG, ROBOT, tmp_path / 'e.yaml')
        seen_m = scale * extrinsics.transform(np.linalg.inv(T), place_m[None])
        off_m = extrinsics.transform(mounting.T_base_camera, seen_m)[0] - place_m
        turn = Rotation.from_matrix(mounting.T_base_camera[:3, :3] @ T[:3, :3].T).as_rotvec()
        error = np.concatenate([off_m, turn])
        squared.append(error @ np.linalg.solve(mounting.covariance_at(place_m), error))
    # Six, and a little more for a variance taken from nine places.
    assert 4.5 < np.mean(squared) < 8.5
    assert np.mean(np.array(squared) > 20) < 0.08


def test_depth_scale_is_reported_not_applied():
    _, camera_m, base_m = setup(2)
    found = extrinsics.solve(1.004 * camera_m, base_m, PLACE)
    assert found.scale == pytest.approx(1.004, abs=1e-3)
    np.testing.assert_allclose(np.linalg.det(found.T_base_camera[:3, :3]), 1)


def swap_pegs(camera_m, base_m):
    base_m = base_m.copy()
    base_m[PLACE == 2], base_m[PLACE == 5] = PEGS_M[5], PEGS_M[2]
    return camera_m, base_m


def nan(camera_m, base_m):
    camera_m = camera_m.copy()
    camera_m[7, 1] = np.nan
    return camera_m, base_m


@pytest.mark.parametrize(
    ('spoil', 'message'),
    [
        (lambda c, b: (c[:8], b[:8]), '8 places are too few: measure at least 9'),
        (lambda c, b: (c * [1, 1, -1], b), 'mirror images'),
        (lambda c, b: (1e3 * c, b), 'check the units'),
        (lambda c, b: (1.05 * c, b), r'\+5\.\d % larger.* depth scale'),
        (lambda c, b: (c, b * [1, 0, 0]), 'nearly on a line'),
        (swap_pegs, 'places 2 and 5 fit better the other way round'),
        (nan, 'not a number'),
        (
            lambda c, b: (c + np.random.default_rng(0).normal(0, 8e-3, c.shape), b),
            'bad fit: residual',
        ),
        (lambda c, b: (c, b[:50]), r'give \(n, 3\) of each'),
    ],
)
def test_bad_sets_are_refused_with_one_line(spoil, message):
    _, camera_m, base_m = setup(4)
    camera_m, base_m = spoil(camera_m, base_m)
    with pytest.raises(CalibrationRefused, match=message) as refusal:
        extrinsics.solve(camera_m, base_m, PLACE[: len(camera_m)])
    assert '\n' not in str(refusal.value)


@pytest.mark.parametrize(
    ('before', 'after', 'words'),
    [
        (
            'q_xyzw: [',
            'q_xyzw: [2.0, 0.0, 0.0, 0.0] # [',
            'T_base_camera: q_xyzw .* not a rotation',
        ),
        ('scale: ', 'scale: -', 'scale'),
        ('covariance_m_rad:\n  - [', 'covariance_m_rad:\n  - [-', 'not a 6 x 6 covariance'),
        ('base_frame: soft', 'base: soft', 'base_frame: key is missing'),
    ],
)
def test_impossible_extrinsics_are_refused(tmp_path, before, after, words):
    text, path = RIG.calibration_file('extrinsics').read_text(), tmp_path / 'extrinsics.yaml'
    assert before in text
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(CalibrationError, match=f'{words}.*softarm calibrate extrinsics'):
        extrinsics.load(RIG, ROBOT, path)


def test_jig_files(tmp_path):
    with pytest.raises(VisionError, match='--jig'):
        read_jig(tmp_path / 'none.yaml')
    path = tmp_path / 'jig.yaml'
    path.write_text('pegs_m: [[0, 1]]')
    with pytest.raises(VisionError, match=r'\[x, y, z\]'):
        read_jig(path)
