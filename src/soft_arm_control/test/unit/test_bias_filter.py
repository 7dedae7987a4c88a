import numpy as np
import pytest

from soft_arm_control.tip.bias_filter import BiasFilter
from soft_arm_control.tip.loaded_arm import LoadedArm
from soft_arm_control.tip.residual_model import ResidualModel

ERROR = np.array([0.004, -0.003, 0.006])
R = (3e-4) ** 2 * np.eye(3)
FINE_S = 0.002


@pytest.fixture
def estimator(arm, dynamics):
    return BiasFilter(arm, ResidualModel(arm.n_actuators), dynamics)


def pressures_at(t_s):
    """A fast move from 0.5 s to 1.0 s."""
    return np.array([0, 0, 0, 1, -1, 0.5]) * 40e3 * np.clip((t_s - 0.5) / 0.5, 0.0, 1.0)


def feed(estimator, arm, stop_s, delay_s, error_m=ERROR, outlier=None):
    """Send pressures at 50 Hz and late images at 25 Hz of an arm that swings as its model."""
    images, model = [], LoadedArm(arm)
    crept_pa = pressures_at(0.0)
    lengths_m, swing = arm.lengths(crept_pa), np.zeros(4)
    modes = model.modes(lengths_m)
    for k in range(round(stop_s / FINE_S)):
        t_s = FINE_S * (k + 1)
        crept_pa = crept_pa + (1 - np.exp(-FINE_S / 0.9)) * (pressures_at(t_s) - crept_pa)
        before_m, lengths_m = lengths_m, arm.lengths(0.978 * pressures_at(t_s) + 0.022 * crept_pa)
        before, modes = modes, model.modes(lengths_m)
        swing = np.kron(np.eye(2), modes.from_lengths @ before.lengths) @ swing
        swing[:2] -= modes.from_lengths @ (lengths_m - before_m)
        swing = modes.transition(FINE_S) @ swing
        if k % 10 != 9:
            continue
        estimator.add_pressures(t_s, pressures_at(t_s))
        if k % 20 == 9:
            images.append((t_s, model.at(lengths_m).tip_m + modes.tip @ swing[:2] + error_m))
        while images and images[0][0] <= t_s - delay_s:
            stamp_s, measured_m = images.pop(0)
            estimator.add_tip_pose(
                stamp_s, measured_m + (0 if outlier is None else outlier(stamp_s)), R
            )
    return lengths_m, model.at(lengths_m).tip_m + modes.tip @ swing[:2]


@pytest.mark.parametrize('delay_s', [0.0, 0.06, 0.15])
def test_a_move_and_a_late_camera_leave_no_error_behind(estimator, arm, delay_s):
    feed(estimator, arm, 1.3, delay_s)
    assert np.linalg.norm(estimator.error_m(np.full(6, 0.1)) - ERROR) < 1e-4


def test_the_modes_are_those_of_the_model_corrected_by_the_calibration(arm, dynamics):
    scales = {'mode_frequency_scale': 0.8, 'mode_damping_scale': 2.0}
    measured = dynamics.model_copy(update=scales)
    modelled, corrected = (
        BiasFilter(arm, ResidualModel(arm.n_actuators), d).modes for d in (dynamics, measured)
    )
    assert corrected.omega_rad_s == pytest.approx(0.8 * modelled.omega_rad_s)
    assert corrected.damping_ratio == pytest.approx(2.0 * modelled.damping_ratio)


def test_one_image_of_something_else_changes_nothing(estimator, arm, dynamics):
    undisturbed = BiasFilter(arm, ResidualModel(arm.n_actuators), dynamics)
    feed(undisturbed, arm, 2.0, 0.06)
    _, tip_m = feed(
        estimator,
        arm,
        2.0,
        0.06,
        outlier=lambda t_s: np.array([0.1, 0, 0]) if 1.79 < t_s < 1.83 else 0.0,
    )
    assert np.linalg.norm(estimator.error_m(np.full(6, 0.1)) - ERROR) < 1e-4
    assert np.linalg.norm(estimator.tip_m() - tip_m - ERROR) < 1e-4
    assert abs(estimator.swing_m - undisturbed.swing_m) < 1e-4


def test_a_lasting_change_is_believed(estimator, arm):
    feed(
        estimator, arm, 4.0, 0.06, outlier=lambda t_s: np.array([0.05, 0, 0]) if t_s > 1.5 else 0.0
    )
    assert estimator.error_m(np.full(6, 0.1))[0] == pytest.approx(0.054, abs=5e-4)


def test_images_of_other_things_that_do_not_agree_are_never_believed(estimator, arm):
    """Detections that jump (reflections, several candidates) are not consistent."""
    noise = np.random.default_rng(3)
    feed(
        estimator,
        arm,
        4.0,
        0.06,
        outlier=lambda t_s: noise.uniform(-0.06, 0.06, 3) + [0, 0.02, 0] if t_s > 1.5 else 0.0,
    )
    assert np.linalg.norm(estimator.error_m(np.full(6, 0.1)) - ERROR) < 1e-3


def test_a_tip_that_contradicts_the_model_is_never_used(estimator, arm):
    feed(estimator, arm, 4.0, 0.06, outlier=lambda t_s: np.array([5.0, 0, 0]))
    assert np.linalg.norm(estimator.error_m(np.full(6, 0.1))) < 1e-12
    assert "measured tip is 5.00 m from the model's" in estimator.contradiction
    measured_m = LoadedArm(arm).at(arm.lengths(pressures_at(4.0))).tip_m + ERROR
    estimator.add_pressures(4.02, pressures_at(4.0))
    assert estimator.add_tip_pose(4.02, measured_m, R) and not estimator.contradiction


def test_old_and_repeated_images_are_not_used(estimator, arm):
    feed(estimator, arm, 4.0, 0.0)
    measured_m = LoadedArm(arm).at(arm.lengths(pressures_at(4.0))).tip_m
    assert not estimator.add_tip_pose(0.5, measured_m, R)  # before the history
    assert estimator.add_tip_pose(4.0, measured_m + ERROR, R)
    assert not estimator.add_tip_pose(4.0, measured_m + ERROR, R)


def test_remembering_changes_nothing_here_and_helps_there(arm, dynamics):
    known = ResidualModel(arm.n_actuators)
    estimator = BiasFilter(arm, known, dynamics)
    here_m, _ = feed(estimator, arm, 2.0, 0.06)
    before_m = estimator.error_m(here_m)
    estimator.learn()
    assert len(known) == 1
    assert np.allclose(estimator.error_m(here_m), before_m, atol=1e-9)
    assert np.linalg.norm(known.at(here_m) - ERROR) < 5e-4


@pytest.mark.parametrize(
    ('stop_s', 'at_rest'), [(0.4, True), (0.7, False), (0.95, False), (1.2, False), (2.0, True)]
)
def test_only_an_arm_at_rest_is_remembered(arm, dynamics, stop_s, at_rest):
    known = ResidualModel(arm.n_actuators)
    estimator = BiasFilter(arm, known, dynamics)
    feed(estimator, arm, stop_s, 0.06)
    estimator.learn()
    assert estimator.at_rest == at_rest and len(known) == at_rest


@pytest.mark.parametrize('kick_m', [0.0, 5e-3])
def test_a_swing_after_a_kick_is_not_taken_for_bias(estimator, arm, kick_m):
    modes = LoadedArm(arm).modes(arm.lengths(pressures_at(4.0)))
    kicked = np.array([0.0, 0.0, kick_m * modes.omega_rad_s[0], 0.0])

    def outlier(t_s):
        return modes.tip @ (modes.transition(max(t_s - 3.7, 0.0)) @ kicked)[:2] * (t_s > 3.7)

    feed(estimator, arm, 4.0, 0.06, outlier=outlier)
    left_m = modes.amplitude_m(modes.transition(0.3) @ kicked)
    assert abs(estimator.swing_m - left_m) <= 0.3 * left_m + 2e-4
    assert np.linalg.norm(estimator.error_m(np.full(6, 0.1)) - ERROR) <= 0.1 * kick_m + 1e-4


def test_an_oscillation_that_is_no_mode_is_swing(estimator, arm):
    amplitude_m = np.array([5e-3, 0.0, 0.0])
    feed(estimator, arm, 4.0, 0.06, outlier=lambda t_s: amplitude_m * np.sin(9.0 * t_s))
    assert 1.5e-3 <= estimator.swing_m <= 6e-3
    assert np.linalg.norm(estimator.error_m(np.full(6, 0.1)) - ERROR) <= 2.5e-3


def test_damping_opposes_only_the_velocity_relative_to_the_target(estimator, arm):
    feed(estimator, arm, 0.9, 0.0)  # the arm moves
    ratio, modes = 0.25, estimator.modes
    still_m = estimator.damping_m(0.0, ratio, np.zeros(3))
    velocities_m_s = -modes.omega_rad_s / (2.0 * ratio) * (modes.from_lengths @ still_m)
    along_m = estimator.damping_m(0.0, ratio, modes.tip @ velocities_m_s)
    assert np.abs(still_m).max() > 1e-4
    assert np.abs(along_m).max() < 1e-9


def test_a_load_is_estimated_from_the_error_that_it_adds(arm, dynamics):
    known = ResidualModel(arm.n_actuators)
    estimator = BiasFilter(arm, known, dynamics)
    lengths_m, _ = feed(estimator, arm, 2.0, 0.06)
    before_kg, unsure_kg = estimator.payload_kg()
    estimator.learn()
    found_kg, deviation_kg = estimator.payload_kg()
    assert abs(found_kg) < 0.1 * deviation_kg < 0.05 * unsure_kg
    assert abs(before_kg) < 3.0 * unsure_kg
    loaded_m, free_m = (LoadedArm(arm, kg).at(lengths_m).tip_m for kg in (0.05, 0.0))
    error_m = ERROR + loaded_m - free_m
    heavier = BiasFilter(arm, known, dynamics)
    feed(heavier, arm, 2.0, 0.06, error_m)
    found_kg, deviation_kg = heavier.payload_kg()
    assert abs(found_kg - 0.05) < 2.0 * deviation_kg < 0.03


def test_a_payload_that_is_set_moves_the_model_and_not_the_estimated_tip(estimator, arm):
    lengths_m, _ = feed(estimator, arm, 2.0, 0.06)
    tip_m, deviation_m = estimator.tip_m(), estimator.deviation_m
    sag_m = LoadedArm(arm, 0.1).at(lengths_m).tip_m - LoadedArm(arm).at(lengths_m).tip_m
    estimator.set_payload(0.1)
    assert np.allclose(estimator.tip_m(), tip_m, atol=1e-4)
    assert np.allclose(estimator.error_m(lengths_m), ERROR - sag_m, atol=2e-4)
    assert estimator.deviation_m > deviation_m + 0.9 * np.linalg.norm(sag_m)
    feed(estimator, arm, 2.0, 0.06)  # time jumps back
    assert estimator.model.payload_kg == 0.1


def test_time_that_jumps_back_begins_the_estimate_again(estimator, arm):
    feed(estimator, arm, 4.0, 0.06, error_m=-ERROR)
    assert not estimator.add_pressures(3.9, pressures_at(3.9)) and not estimator.time_jumps
    feed(estimator, arm, 2.0, 0.06)
    assert estimator.time_jumps == 1
    assert np.linalg.norm(estimator.error_m(np.full(6, 0.1)) - ERROR) < 1e-4
