"""Laws that hold for robots of every kind."""

import numpy as np
import pytest
from scipy.integrate import trapezoid

from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import load_bellows_arm, make_arm
from soft_arm_kinematics.backends.fast_fk import fk_batch
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.inverse import InverseKinematics
from soft_arm_kinematics.ik.refine import twist_jacobian_batch
from soft_arm_kinematics.workspace.reachable import reachable_set
from soft_arm_kinematics.workspace.table import build_table


def random_q(arm, count, seed=0):
    return np.random.default_rng(seed).uniform(*arm.q_limits, (count, arm.n_actuators))


def test_compiled_poses_beyond_one_turn():
    content = load_robot('squid_camera').model_dump(mode='json', exclude_unset=True)
    content['segments'][0]['theta_limits_deg'] = [-1500.0, 1500.0]
    arm = type(load_robot('squid_camera')).model_validate(content)
    q = random_q(make_arm(arm), 400)
    assert fk_batch(make_arm(arm), q) == pytest.approx(make_arm(arm).at(q).tip_pose, abs=1e-13)
    jacobians = make_arm(arm).at(q).twist_jacobian
    assert twist_jacobian_batch(make_arm(arm), q) == pytest.approx(jacobians, abs=1e-11)


def test_solutions_of_tendon_limbs_have_no_pressures():
    arm = make_arm(load_robot('squid_grasper'))
    target_m = arm.at(random_q(arm, 1)[0]).tip_m
    best = InverseKinematics(arm, build_table(arm, 5_000)).solve(target_m).solutions[0]
    assert best.pressure_margin_pa is None and 'total bend' in best.explanation


def test_what_needs_bellows_says_so():
    arm = make_arm(load_robot('squid_grasper'))
    with pytest.raises(KinematicsError, match='no bellows in grasper_1.*two_module_arm'):
        load_bellows_arm('squid_grasper')
    with pytest.raises(KinematicsError, match='6 values'):
        arm.at(np.zeros(3))
    with pytest.raises(KinematicsError, match='finite'):
        arm.at(np.full(6, np.nan))
    with pytest.raises(KinematicsError, match='volume'):
        reachable_set(make_arm(load_robot('four_piece_finger')), None)
    with pytest.raises(KinematicsError, match='out of shape'):
        fk_batch(arm, np.zeros((2, 6)), np.zeros((3, 4, 4)))


def test_volume_of_a_limb_is_the_integral():
    """Compare the volume with its integral.

    p = l (r cos phi, r sin phi, z), r = (1 - cos t) / t, z = sin t / t, meets each point once, so
    V = int l r |d(l r, l z)| dphi.
    """
    arm = make_arm(load_robot('squid_camera'))
    (low_m, high_m), greatest = arm.q_limits[:, 2], arm.q_limits[1, 0]
    theta = np.linspace(1e-4, greatest, 20_001)
    r, z = (1 - np.cos(theta)) / theta, np.sin(theta) / theta
    density = r * np.abs(r * np.gradient(z, theta) - z * np.gradient(r, theta))
    exact_m3 = 2 * np.pi * (high_m**3 - low_m**3) / 3 * trapezoid(density, theta)
    table = build_table(arm, 300_000)
    for cells in (24, 40):
        reachable = reachable_set(arm, table, cells)
        # Three standard errors.
        assert reachable.volume_m3 == pytest.approx(exact_m3, abs=1.5 * reachable.volume_error_m3)
        assert reachable.volume_error_m3 < 0.06 * exact_m3


def test_reachable_set_of_two_modules(paper_arm):
    """Inverse kinematics agrees with the cells; the straight tip ends on the boundary."""
    table = build_table(paper_arm, 100_000)
    reachable = reachable_set(paper_arm, table, 24)
    assert reachable.distance_m([0.0, 0.0, 0.389]) == pytest.approx(0.001, abs=reachable.cell_m / 2)
    assert reachable.distance_m([0.0, 0.0, 0.45]) == pytest.approx(-0.06, abs=reachable.cell_m / 2)
    solver, (low, high) = InverseKinematics(paper_arm, table), reachable.limits_m
    points = np.random.default_rng(2).uniform(low, high, (300, 3))
    # Nearer, the nearest cell gives the sign.
    clear = np.abs(reachable.distance_m(points)) > reachable.cell_m
    agree = [
        solver.solve(p).reachable == (d > 0)
        for p, d in zip(points[clear], reachable.distance_m(points[clear]), strict=True)
    ][:100]
    assert np.mean(agree) >= 0.97  # a fold of the boundary may be thinner than a cell


def test_solutions_have_the_bend_convention_of_configuration():
    arm = make_arm(load_robot('four_piece_finger'))
    solver = InverseKinematics(arm, build_table(arm, 2000))
    bent = arm.at(arm.q_at(np.full(1, -80e3)))
    (solution,) = solver.solve(bent.tip_m).solutions
    assert bent.theta_rad[0] < 0.0
    assert solution.theta_rad == pytest.approx(bent.theta_rad, abs=1e-4)
    assert solution.phi_rad == pytest.approx(bent.phi_rad)
    assert solution.ell_m == pytest.approx(bent.ell_m)
