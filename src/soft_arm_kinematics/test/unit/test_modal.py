import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import make_arm
from soft_arm_kinematics.calibration.modal_fit import (
    PSI_PA,
    arc_lengths,
    design_matrix,
    fit_modal,
    read_shapes,
)
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.refine import refine
from soft_arm_kinematics.segments import pcc
from soft_arm_kinematics.segments.modal import ModalModel

BELLOWS = ModalModel.of_segment(load_robot('modal_bellows').segments[0])
ARC = ModalModel(np.array([[0.0, 0.0], [0.0, 2.0]]), 0.12, 0.12, 1e5, (-1e5, 1e5))
pressures = st.floats(*BELLOWS.pressure_limits_pa)


@given(st.floats(-1e5, 1e5))
def test_uniform_bend_is_the_arc(pressure_pa):
    assert ARC.fk_pressures(pressure_pa) == pytest.approx(
        pcc.arc_transforms([2e-5 * pressure_pa, 0.0, 0.12]), abs=1e-14
    )


@settings(max_examples=30)
@given(pressures.map(lambda q: 500.0 + 0.98 * q))
def test_slopes_are_derivatives(pressure_pa):
    numeric = (BELLOWS.tip(pressure_pa + 10.0) - BELLOWS.tip(pressure_pa - 10.0)) / 20.0
    assert BELLOWS.tip_slopes(pressure_pa) == pytest.approx(numeric, rel=1e-6, abs=1e-13)


def test_twist_is_the_rate_of_the_pose():
    q = np.array([2e4, 9e4])
    change = (BELLOWS.fk_pressures(q + 50.0) - BELLOWS.fk_pressures(q - 50.0)) / 100.0
    spin = change[:, :3, :3] @ np.swapaxes(BELLOWS.fk_pressures(q)[:, :3, :3], 1, 2)
    omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
    assert BELLOWS.twist_jacobian_pressures(q) == pytest.approx(
        np.concatenate([change[:, :3, 3], omega], axis=-1), rel=1e-6, abs=1e-12
    )


def test_shape_has_unit_speed_along_its_own_tangent():
    s = np.linspace(0.0, BELLOWS.length_m, 2001)
    positions, angles = BELLOWS.shape(1.4e5, s)
    steps, middle = np.diff(positions, axis=0), 0.5 * (angles[1:] + angles[:-1])
    assert np.linalg.norm(steps, axis=1) == pytest.approx(np.diff(s), rel=1e-6)
    assert np.arctan2(steps[:, 0], steps[:, 1]) == pytest.approx(middle, abs=1e-6)


def test_design_matrix_is_the_kronecker_product():
    rng = np.random.default_rng(0)
    omega, gamma, a = rng.random((10, 4)), rng.random((3, 5)), rng.random((4, 3))
    stacked = np.concatenate([design_matrix(omega, gamma[:, [j]].T) for j in range(5)])
    assert np.array_equal(stacked, np.kron(gamma.T, omega))
    assert stacked @ a.ravel(order='F') == pytest.approx(
        (omega @ a @ gamma).ravel(order='F'), rel=1e-12
    )


SITES_M = np.linspace(0.0, BELLOWS.length_m, 10)
SHAPE_PRESSURES_PA = PSI_PA * np.array([0, 6, 10, 15, 21])


def shapes(noise_m=0.0):
    noise = noise_m * np.random.default_rng(0).standard_normal((5, 10, 2))
    noise[:, 0] = 0.0  # the base is where the picture's axes start
    return {
        q: BELLOWS.shape(q, SITES_M)[0] + e for q, e in zip(SHAPE_PRESSURES_PA, noise, strict=True)
    }


def test_fit_recovers_a_bellows():
    found = fit_modal(shapes(), (3, 3))
    pressures_pa = SHAPE_PRESSURES_PA
    assert found.model.tip(pressures_pa) == pytest.approx(BELLOWS.tip(pressures_pa), abs=5e-3)
    assert found.model.tip(pressures_pa)[:, :2] == pytest.approx(
        BELLOWS.tip(pressures_pa)[:, :2], abs=5e-5
    )
    assert found.worst_m.max() < 5e-5 and found.held_out_rms_m < 5e-5
    assert found.condition < 20.0 < 1e6 < found.condition_si


def test_orders_are_those_of_the_bellows():
    assert fit_modal(shapes(0.2e-3)).orders == (3, 3)


def test_held_out_error_sees_what_the_fit_hides():
    """Five pressures and five powers: every point is met, none is predicted."""
    rich, plain = (fit_modal(shapes(1e-3), orders) for orders in ((9, 4), (3, 3)))
    assert rich.rms_m < plain.rms_m and rich.held_out_rms_m > 1.5 * plain.held_out_rms_m


@pytest.mark.parametrize('theta', [0.01, 1.0, 3.0])
def test_arc_lengths_of_points_on_an_arc(theta):
    s = np.linspace(0.0, 0.1, 10)
    a = theta * s / 0.1
    points = 0.1 / theta * np.stack([1.0 - np.cos(a), np.sin(a)], axis=-1)
    assert arc_lengths(points) == pytest.approx(s, abs=1e-12)


@settings(max_examples=30)
@given(pressures, pressures)
def test_every_point_of_the_curve_is_found_again(target_pa, start_pa):
    arm = make_arm(load_robot('modal_bellows'))
    found, residuals_m, _ = refine(arm, [[start_pa]], BELLOWS.fk_pressures(target_pa)[:3, 3])
    assert residuals_m[0] <= 1e-9 and abs(found[0, 0] - target_pa) < 1.0


def test_a_point_off_the_curve_ends_at_the_nearest():
    arm, on = make_arm(load_robot('modal_bellows')), BELLOWS.fk_pressures(7e4)[:3, 3]
    found, residuals_m, _ = refine(arm, [[2e4]], on + np.array([0.0, 0.02, 0.0]))
    assert residuals_m[0] == pytest.approx(0.02, abs=1e-8)
    assert found[0, 0] == pytest.approx(7e4, abs=1.0)


def test_a_missing_column_is_named(tmp_path):
    (tmp_path / 'points.csv').write_text('pressure_pa,x_m\n1,2')
    with pytest.raises(KinematicsError, match='z_m'):
        read_shapes(tmp_path / 'points.csv')


@pytest.mark.parametrize(
    'call',
    [
        lambda: BELLOWS.tip(np.nan),
        lambda: BELLOWS.tip(1.5e5),
        lambda: BELLOWS.shape(0.0, np.array([0.2])),
        lambda: fit_modal({0.0: np.zeros((4, 2))}),
        lambda: fit_modal({0.0: np.zeros((4, 2)), 1.0: np.zeros((4, 2))}, (2, 2)),
    ],
)
def test_bad_input_is_one_clear_line(call):
    with pytest.raises(KinematicsError) as caught:
        call()
    assert '\n' not in str(caught.value)
