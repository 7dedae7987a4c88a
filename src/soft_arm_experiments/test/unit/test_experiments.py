import numpy as np
import pytest
from scipy.optimize import least_squares

from soft_arm_control.errors import ExperimentError
from soft_arm_experiments.arm.experiments import (
    CONTROL_MARGIN_M,
    MAX_MARGIN_M,
    acting_lengths_m,
    angular_speed_rad_s,
    end_of_step_m,
    experiment,
    fastest_settling_s,
    settling_time_s,
    targets,
    unreachable_m,
)


def test_bend_is_the_papers(arm):
    bend = experiment(arm, 'bend')
    shape = arm.at(bend.lengths_m)
    assert np.rad2deg(shape.theta_rad[:, 1]) == pytest.approx(np.arange(0, 121, 10))
    assert np.rad2deg(shape.phi_rad[1:, 1]) == pytest.approx(np.full(12, 30.0))
    assert arm.pressures(bend.lengths_m)[:, :3] == pytest.approx(np.full((13, 3), -96e3))
    assert bend.held_segments == ('module_1',)


def test_deflection_is_the_papers(arm):
    deflection = experiment(arm, 'deflection')
    shape = arm.at(deflection.lengths_m)
    assert np.rad2deg(shape.theta_rad[:, 1]) == pytest.approx(np.full(25, 30.0))
    assert np.rad2deg(np.unwrap(shape.phi_rad[:, 1])) == pytest.approx(np.arange(0, 361, 15))


@pytest.mark.parametrize('name', ['bend', 'deflection'])
def test_the_shortest_bellows_keeps_the_stated_margin(arm, name):
    lengths_m = experiment(arm, name).lengths_m
    margins_m = lengths_m[:, 3:].min(axis=1) - 0.070
    assert margins_m[:12] == pytest.approx(np.full(12, CONTROL_MARGIN_M))
    assert (margins_m > 0.005).all()
    assert (lengths_m <= arm.length_limits_m[1] - MAX_MARGIN_M + 1e-9).all()


def test_the_number_of_steps_keeps_the_range(arm):
    assert np.rad2deg(experiment(arm, 'bend', 4).theta_rad) == pytest.approx([0, 40, 80, 120])
    with pytest.raises(ExperimentError, match='--steps 1'):
        experiment(arm, 'bend', 1)


def test_a_bend_beyond_the_bellows_is_refused(arm):
    with pytest.raises(ExperimentError, match='limit 195.0 mm'):
        targets(arm, 'bend', np.deg2rad([160.0]), np.deg2rad([30.0]))


def test_only_the_end_of_a_step_counts():
    times_s = np.arange(0, 2, 0.02)
    tips_m = np.where(times_s[:, None] > 1.69, [0.001, 0.002, 0.003], 5.0)
    assert end_of_step_m(times_s, tips_m, 1.98) == pytest.approx([0.001, 0.002, 0.003])
    with pytest.raises(ExperimentError, match='no tip received'):
        end_of_step_m(times_s, tips_m, 9.0)


def test_settling_time_is_the_last_entry_into_the_band():
    times_s, tips_m = np.arange(6.0), np.zeros((6, 3))
    tips_m[:, 0] = [0.0, 0.99, 1.03, 0.99, 1.0, 1.0]
    ends = np.array([0.0, 0, 0]), np.array([1.0, 0, 0])
    assert settling_time_s(times_s, tips_m, *ends) == 3.0
    assert settling_time_s(times_s[:3], tips_m[:3], *ends) is None


def test_the_valves_own_limit_is_their_rate_and_their_lag(arm, dynamics):
    bend = targets(arm, 'bend', np.deg2rad([0.0, 90.0]), np.deg2rad([30.0, 30.0]))
    found_s = fastest_settling_s(arm, dynamics, *bend.lengths_m)
    alone_s = (
        np.max(np.abs(np.diff(arm.pressures(bend.lengths_m), axis=0)))
        / dynamics.valve_rate_limit_pa_s
    )
    assert alone_s < found_s < alone_s + 0.25


@pytest.fixture
def wide(dynamics):
    """Dynamics with hysteresis."""
    hysteresis = {'hysteresis_thresholds_pa': (10e3,), 'hysteresis_weights': (0.4,)}
    return dynamics.model_copy(update=hysteresis)


def test_hysteresis_and_creep_cost_the_valves_time(arm, dynamics, wide):
    bend = targets(arm, 'bend', np.deg2rad([0.0, 90.0]), np.deg2rad([30.0, 30.0]))
    found_s = [fastest_settling_s(arm, each, *bend.lengths_m) for each in (dynamics, wide)]
    width_s = 2 * 0.4 * 10e3 / dynamics.valve_rate_limit_pa_s
    assert found_s[0] + 0.5 * width_s < found_s[1] < found_s[0] + 1.5 * width_s


def test_pressures_act_later_and_less_by_hysteresis_and_creep(arm, wide):
    times_s = np.arange(0.0, 12.0, 0.02)
    pressures_pa = np.where(times_s < 1.0, 0.0, 50e3)[:, None] * np.ones(6)
    lengths_m = acting_lengths_m(arm, wide, times_s, pressures_pa)
    assert lengths_m[0] == pytest.approx(arm.lengths(np.zeros(6)))
    assert lengths_m[-1] == pytest.approx(arm.lengths(np.full(6, 46e3)), abs=1e-6)
    assert (lengths_m[60] < lengths_m[-1]).all()


def test_angular_speed_of_an_even_turn():
    times_s = np.arange(0, 12, 0.02)
    tips_m = np.stack([np.cos(0.52 * times_s), np.sin(0.52 * times_s), 0 * times_s], axis=1)
    mean, deviation = angular_speed_rad_s(times_s, tips_m)
    assert mean == pytest.approx(0.52, rel=1e-3) and deviation < 1e-3


@pytest.mark.parametrize('beyond_mm', [(0, -6, 0), (4, 0, 8), (9, -1, -5), (0, 0, 0)])
def test_out_of_reach_is_the_least_distance_inside_the_limits(arm, wide, beyond_mm):
    low_m, high_m = arm.lengths(np.array([[-92e3] * 6, [92e3] * 6]))[:, 3:]
    limit_m = np.choose(np.sign(beyond_mm) + 1, [low_m, (low_m + high_m) / 2, high_m])
    bias_m = np.array([0.004, -0.003, 0.006])

    def lengths_m(moving_m):
        return np.append(arm.length_limits_m[0, :3], moving_m)

    def tip_m(moving_m):
        return arm.at(lengths_m(moving_m)).tip_m + bias_m

    target_m = tip_m(limit_m + 1e-3 * np.array(beyond_mm))
    rest_m = (low_m + high_m + 6 * limit_m) / 8
    least = least_squares(
        lambda x: 1e3 * (tip_m(0.1 * x) - target_m), 10 * rest_m, bounds=(10 * low_m, 10 * high_m)
    )
    moving = np.array([False] * 3 + [True] * 3)
    found_m = unreachable_m(arm, wide, target_m, tip_m(rest_m), lengths_m(rest_m), moving)
    assert found_m == pytest.approx(1e-3 * np.linalg.norm(least.fun), abs=1e-5)
    assert (found_m > 1e-3) == any(beyond_mm)
