import json

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.calibration import load_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_experiments.arm.eyes import MotionCaptureEye
from soft_arm_experiments.cli.calibrate_motion_capture import main
from soft_arm_sim.stepped_rig import Exposure
from soft_arm_vision.calibration.motion_capture import MotionCapture
from soft_arm_vision.calibration.points import COLUMNS


def matrix(rng, reach_m):
    T = np.eye(4)
    T[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    T[:3, 3] = rng.uniform(-reach_m, reach_m, 3)
    return T


def test_the_tip_is_where_places_and_body_say(tmp_path, capsys):
    rng, T_base_world, T_body_tip = np.random.default_rng(11), None, np.eye(4)
    T_base_world = matrix(rng, 1.0)
    T_body_tip[:3, 3] = 0.01, -0.02, 0.03
    base_m = rng.uniform(-0.1, 0.1, (12, 3)) + [0.0, 0.0, 0.3]
    world_m = (base_m - T_base_world[:3, 3]) @ T_base_world[:3, :3]
    rows = [(i, *base, *world) for i, (base, world) in enumerate(zip(base_m, world_m, strict=True))]
    points, file = tmp_path / 'tip.csv', tmp_path / 'made.yaml'
    lines = [','.join(f'{v:.9f}' for v in row) for row in rows]
    points.write_text('\n'.join([','.join(COLUMNS), *lines]))
    given = ['--points', str(points), '--out', str(file), '--latency-s', '0.008', '--json']
    assert main([*given, '--tip-position-m', '0.01', '-0.02', '0.03']) == 0
    assert json.loads(capsys.readouterr().out)['values']['latency_s'] == 0.008
    robot = load_robot('two_module_arm')
    found = load_calibration(load_rig('virtual'), MotionCapture, robot, file).values
    T_base_tip = matrix(rng, 0.1)
    sight = found.sight(np.linalg.inv(T_base_world) @ T_base_tip @ np.linalg.inv(T_body_tip))
    np.testing.assert_allclose(sight.T_base_tip, T_base_tip, atol=1e-5)


def test_what_the_shipped_virtual_rig_says_of_its_errors_is_true():
    robot = load_robot('two_module_arm')
    calibration = load_calibration(load_rig('virtual'), MotionCapture, robot).values
    eye, squares = MotionCaptureEye(calibration, 23), []
    T = np.eye(4)
    T[:3, 3] = 0.03, 0.02, 0.22
    for _ in range(300):
        sight = eye.see(Exposure(0.0, np.zeros(0), T))
        error_m = sight.ring_m - T[:3, 3]
        squares.append(error_m @ np.linalg.solve(sight.covariance_m2, error_m))
    assert 2.0 < np.mean(squares) < 4.5  # 3 is right


def test_a_real_rig_needs_places(tmp_path, capsys):
    assert main(['--rig', 'lab']) == 2
    assert '--points' in capsys.readouterr().err
