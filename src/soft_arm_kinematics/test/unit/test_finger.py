"""The four-piece finger: gripper paper, equations (4)-(8), and its calibrated bends."""

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from soft_arm_description.calibration import CalibrationError, save_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import Robot, load_robot
from soft_arm_kinematics.arm import load_arm, make_arm
from soft_arm_kinematics.calibration.pressure_bend import (
    PressureBend,
    fit_bends,
    with_bends,
    with_calibrated_bends,
)
from soft_arm_kinematics.calibration.pressure_length import measurement_of
from soft_arm_kinematics.errors import KinematicsError

FINGER = load_robot('four_piece_finger')
PAPER_PHI_DEG = 12.0, 8.8, 6.0, 3.3
LENGTHS_M = 0.014, 0.014, 0.01232, 0.01539
P = np.linspace(-90e3, 120e3, 15)


def with_phi(phi_deg):
    content = FINGER.model_dump(mode='json', exclude_unset=True)
    content['segments'] = [
        segment | {'phi_deg': phi}
        for segment, phi in zip(content['segments'], phi_deg, strict=True)
    ]
    return Robot.model_validate(content)


def equation_5(kappa, phi, length):
    """As printed, curvature 0 as its limit."""
    c, s, kl = np.cos(phi), np.sin(phi), kappa * length
    across, along = ((1 - np.cos(kl)) / kappa, np.sin(kl) / kappa) if kappa else (0.0, length)
    return np.array(
        [
            [c * np.cos(kl), -s, c * np.sin(kl), c * across],
            [s * np.cos(kl), c, s * np.sin(kl), s * across],
            [-np.sin(kl), 0.0, np.cos(kl), along],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def equation_7(t, q_wxyz):
    w, x, y, z = q_wxyz
    return np.array(
        [
            [1 - 2 * y**2 - 2 * z**2, 2 * x * y - 2 * z * w, 2 * x * z + 2 * y * w, t[0]],
            [2 * x * y + 2 * z * w, 1 - 2 * x**2 - 2 * z**2, 2 * y * z - 2 * x * w, t[1]],
            [2 * x * z - 2 * y * w, 2 * y * z + 2 * x * w, 1 - 2 * x**2 - 2 * y**2, t[2]],
            [0, 0, 0, 1],
        ]
    )


@settings(max_examples=60)
@given(
    st.floats(-90e3, 120e3),
    st.one_of(
        st.just(PAPER_PHI_DEG), st.just((0.0,) * 4), st.tuples(*[st.floats(-90.0, 90.0)] * 4)
    ),
    st.integers(0, 10_000),
)
def test_tip_in_the_robots_base_is_the_papers(pressure_pa, phi_deg, seed):
    """T_F = T_R T_mount T1 T2 T3 T4 (8), each piece by (4) and (5)."""
    draw = np.random.default_rng(seed)
    q_wxyz, t = draw.standard_normal(4), draw.uniform(-0.6, 0.6, 3)
    q_wxyz /= np.linalg.norm(q_wxyz)
    robot = with_phi(phi_deg)
    mount = np.eye(4)
    mount[:3, 3] = robot.base.position_m
    expected = equation_7(t, q_wxyz) @ mount
    for segment, phi, length_m in zip(robot.segments, np.deg2rad(phi_deg), LENGTHS_M, strict=True):
        c0, c1, c2, c3 = segment.theta_coefficients_rad
        p = pressure_pa / segment.pressure_unit_pa
        theta = c0 + c1 * p + c2 * p**2 + c3 * p**3
        expected = expected @ equation_5(
            theta / length_m if abs(theta) > 1e-12 else 0.0, phi, length_m
        )
    T_base_flange = np.eye(4)
    T_base_flange[:3, :3] = Rotation.from_quat(np.roll(q_wxyz, -1)).as_matrix()
    T_base_flange[:3, 3] = t
    T_flange_mount = np.eye(4)
    T_flange_mount[:3, :3] = Rotation.from_euler(
        'xyz', robot.base.rpy_deg, degrees=True
    ).as_matrix()
    T_flange_mount[:3, 3] = robot.base.position_m
    assert T_base_flange @ T_flange_mount @ make_arm(robot).at(
        [pressure_pa]
    ).tip_pose == pytest.approx(expected, abs=1e-8)


def test_out_of_plane_pieces_leave_the_plane():
    """The paper's forced phi = 12, 8.8, 6, 3.3 deg at 100 kPa."""
    tip = make_arm(with_phi(PAPER_PHI_DEG)).at([100e3]).tip_pose
    assert abs(make_arm(FINGER).at([100e3]).tip_pose[1, 3]) < 1e-15 and tip[1, 3] > 5e-3
    shape = make_arm(with_phi(PAPER_PHI_DEG)).at(np.array([-50e3]))
    assert np.rad2deg(shape.phi_rad) == pytest.approx(PAPER_PHI_DEG)
    assert (shape.theta_rad < 0).all()
    assert shape.ell_m == pytest.approx(LENGTHS_M)


def test_pressures_are_the_actuation():
    arm = make_arm(FINGER)
    assert arm.q_at([1e4]).tolist() == [1e4]
    assert arm.clip_pressures(np.array([130e3])).tolist() == [120e3]
    line = arm.at([80e3]).backbone(5)
    assert line[::5][1:] == pytest.approx(arm.at([80e3]).segment_poses[:, :3, 3], abs=1e-12)
    with pytest.raises(KinematicsError, match='pressures alone do not set.*tendon'):
        make_arm(load_robot('squid_camera')).q_at([])


@pytest.fixture
def measured():
    data = {
        s.name: (P, 0.02 * (i + 1) + 2e-6 * P + 1e-12 * P**2) for i, s in enumerate(FINGER.segments)
    }
    return fit_bends(FINGER, data)


@pytest.fixture
def twin(tmp_path, monkeypatch):
    """A virtual rig of the finger, without calibrations."""
    monkeypatch.setenv('SOFT_ARM_RIGS', str(tmp_path))
    (tmp_path / 'twin').mkdir()
    (tmp_path / 'twin' / 'rig.yaml').write_text('devices: virtual\nrobot: four_piece_finger\n')
    return load_rig('twin')


def save_bends(rig, fits):
    measurement = measurement_of(fits, 'rad', 'virtual', 'test')
    return save_calibration(rig, PressureBend(segments=fits), FINGER, measurement)


def test_calibrated_bends_replace_the_nominal_ones(twin, measured):
    nominal = load_arm('four_piece_finger', 'twin').robot
    assert nominal == FINGER and all(segment.nominal for segment in nominal.segments)
    save_bends(twin, measured)
    arm = load_arm('four_piece_finger', 'twin')
    assert not any(segment.nominal for segment in arm.robot.segments)
    assert arm.at(np.array([50e3])).theta_rad == pytest.approx(
        [0.02 * (i + 1) + 0.1 + 2.5e-3 for i in range(4)]
    )
    assert arm.at([50e3]).tip_pose == pytest.approx(
        make_arm(with_bends(FINGER, measured)).at([50e3]).tip_pose, abs=1e-12
    )
    assert load_arm('modal_bellows', 'twin').robot == load_robot('modal_bellows')  # no such segment


@pytest.mark.parametrize(
    'change, words',
    [
        (lambda s: s.pop('piece_2'), 'piece_2'),
        (
            lambda s: s['piece_1'].update(
                curve={
                    'family': 'exponential',
                    'value_0': 0.0,
                    'slope_0': 1e-6,
                    'growth_per_pa': 1e-6,
                }
            ),
            'exponential, not a cubic',
        ),
        (lambda s: s['piece_3']['curve'].update(coefficients=[0.0, -0.2, 0.0, 0.0]), 'not rise'),
        (
            lambda s: s['piece_3']['curve'].update(coefficients=[0.0, float('nan'), 0.0, 0.0]),
            'piece_3.*coefficients',
        ),
    ],
)
def test_a_calibration_that_cannot_be_used_is_refused(twin, measured, change, words):
    path = save_bends(twin, measured)
    content = yaml.safe_load(path.read_text())
    change(content['values']['segments'])
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(CalibrationError, match=words) as caught:
        with_calibrated_bends(FINGER, twin)
    assert 'softarm calibrate finger' in str(caught.value) and '\n' not in str(caught.value)


def test_a_calibration_of_another_robot_serves_no_real_rig_and_leaves_a_virtual_one_nominal(
    twin, measured
):
    path = save_bends(twin, measured)
    text = path.read_text()
    path.write_text(text.replace(FINGER.kinematic_fingerprint, 'f' * 16))
    assert load_arm('four_piece_finger', 'twin').robot == FINGER
    path.write_text(path.read_text().replace('devices: virtual', 'devices: real'))
    (twin.folder / 'rig.yaml').write_text('devices: real\nrobot: four_piece_finger\n')
    with pytest.raises(CalibrationError, match='made for another robot'):
        load_arm('four_piece_finger', 'twin')
