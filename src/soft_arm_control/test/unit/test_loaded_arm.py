"""The reduced model against the simulated arm, whose force law is the same."""

import numpy as np
import pytest

from soft_arm_control.tip.arm_weight import ArmWeight
from soft_arm_control.tip.loaded_arm import LoadedArm
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import make_arm

PRESSURES_PA = [
    np.array([0, 0, 0, 0, 0, 0]) * 1e3,
    np.array([60, -20, 0, 30, 40, -30]) * 1e3,
    np.array([-40, 50, 60, 70, -10, 20]) * 1e3,
]


@pytest.fixture(scope='module')
def model(arm):
    return LoadedArm(arm)


def simulation_at(robot, pressures_pa, force_n=(0.0, 0.0, 0.0)):
    simulation = pytest.importorskip('soft_arm_physics.simulation').Simulation(robot)
    simulation.robot.actuate(pressures_pa)
    simulation.apply_load(robot.name, 'tip', force_n)
    simulation.settle(critical=True)
    return simulation


@pytest.mark.parametrize('pressures_pa', PRESSURES_PA)
@pytest.mark.parametrize('rpy_deg', [(180.0, 0.0, 0.0), (90.0, 0.0, 30.0), (0.0, 0.0, 0.0)])
def test_the_tip_is_that_of_the_simulated_arm(pressures_pa, rpy_deg):
    robot = load_robot('two_module_arm')
    robot = robot.model_copy(update={'base': robot.base.model_copy(update={'rpy_deg': rpy_deg})})
    arm = make_arm(robot)
    true_m = simulation_at(robot, pressures_pa).robot.T_base_tip()[:3, 3]
    lengths_m = arm.lengths(pressures_pa)
    sag_m = np.linalg.norm(arm.at(lengths_m).tip_m - true_m)
    assert np.linalg.norm(LoadedArm(arm).at(lengths_m).tip_m - true_m) < 0.15 * sag_m + 1e-3


@pytest.mark.parametrize('pressures_pa', PRESSURES_PA)
def test_a_payload_moves_the_tip_as_in_the_simulation(arm, pressures_pa):
    weight_n = np.array([0.0, 0.0, -0.1 * 9.81])
    loaded_m, free_m = (
        simulation_at(arm.robot, pressures_pa, force_n).robot.T_base_tip()[:3, 3]
        for force_n in (weight_n, np.zeros(3))
    )
    lengths_m = arm.lengths(pressures_pa)
    change_m = LoadedArm(arm, 0.1).at(lengths_m).tip_m - LoadedArm(arm).at(lengths_m).tip_m
    true_m = loaded_m - free_m
    assert np.linalg.norm(change_m - true_m) < 0.1 * np.linalg.norm(true_m)


def test_the_displacement_per_payload_is_the_derivative_of_the_tip(arm):
    lengths_m = arm.lengths(PRESSURES_PA[1])
    less, middle, more = (LoadedArm(arm, kg) for kg in (0.049, 0.05, 0.051))
    derivative = (more.at(lengths_m).tip_m - less.at(lengths_m).tip_m) / 0.002
    assert np.allclose(middle.tip_per_payload(lengths_m), derivative, rtol=0.02, atol=1e-3)


@pytest.mark.parametrize('pressures_pa', PRESSURES_PA)
def test_the_slowest_mode_is_that_of_the_simulated_arm(model, arm, pressures_pa):
    simulation = simulation_at(arm.robot, pressures_pa, (0.2, 0.1, 0.0))
    simulation.apply_load(arm.robot.name, 'tip')
    tips_m = []
    for _ in range(400):
        simulation.step(0.005)
        tips_m.append(simulation.robot.T_base_tip()[:3, 3])
    swing_m = np.array(tips_m) - tips_m[-1]
    modes = model.modes(arm.lengths(pressures_pa))
    spectrum = np.abs(np.fft.rfft(swing_m, 4096, axis=0)).sum(axis=1)
    measured_hz = np.fft.rfftfreq(4096, 0.005)[np.argmax(spectrum)]
    expected_hz = modes.omega_rad_s[0] * np.sqrt(1.0 - modes.damping_ratio[0] ** 2) / (2 * np.pi)
    assert expected_hz == pytest.approx(measured_hz, rel=0.15)


def test_the_jacobian_is_the_derivative_of_the_tip(model, arm):
    lengths_m = arm.lengths(PRESSURES_PA[1])
    found = model.at(lengths_m)
    for i, step_m in enumerate(1e-5 * np.eye(arm.n_actuators)):
        moved_m = model.at(lengths_m + step_m).tip_m - model.at(lengths_m - step_m).tip_m
        assert np.allclose(moved_m / 2e-5, found.tip_jacobian[:, i], atol=1e-3)


def test_between_postures_the_tip_is_continuous(model, arm):
    start_m, stop_m = arm.lengths(PRESSURES_PA[1]), arm.lengths(PRESSURES_PA[2])
    tips_m = np.array(
        [model.at(start_m + share * (stop_m - start_m)).tip_m for share in np.linspace(0, 1, 501)]
    )
    steps_m = np.linalg.norm(np.diff(tips_m, axis=0), axis=1)
    assert steps_m.max() < np.median(steps_m) + 3e-4


def test_a_change_of_lengths_moves_a_mode_by_its_coordinate(model, arm):
    modes = model.modes(arm.lengths(PRESSURES_PA[2]))
    assert np.allclose(modes.from_lengths @ modes.lengths, np.eye(2), atol=1e-6)
    jacobian = model.at(arm.lengths(PRESSURES_PA[2])).tip_jacobian
    assert np.allclose(jacobian @ modes.lengths, modes.tip, atol=0.05)


def test_the_ring_has_rotary_inertia(arm):
    """The tip turns by one radian per radian of bend of each segment, straight."""
    robot, masses = arm.robot, []
    rest = np.concatenate([[0.0, 0.0, s.natural_length_m] for s in robot.segments])
    for factor in (1.0, 2.0):
        ring = robot.ring.model_copy(update={'radius_m': factor * robot.ring.radius_m})
        weight = ArmWeight(make_arm(robot.model_copy(update={'ring': ring})))
        masses.append(weight.mass_matrix(weight.jacobians(weight.places(rest, mixed=False))))
    added_kg_m2 = robot.ring.mass_kg * (2.0**2 - 1.0) * robot.ring.radius_m**2 / 4.0
    expected = added_kg_m2 * np.tile(np.diag([1.0, 1.0, 0.0]), (2, 2))
    np.testing.assert_allclose(masses[1] - masses[0], expected, atol=1e-3 * added_kg_m2)
