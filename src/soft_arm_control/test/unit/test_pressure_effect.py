import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soft_arm_control.tip.pressure_effect import PressureEffect
from soft_arm_physics.actuation.chambers import Chambers, step_chambers

N = 3
PRESSURES = st.lists(st.floats(-100e3, 100e3), min_size=N, max_size=N).map(np.array)
WEIGHTS = st.lists(st.floats(0.0, 0.2), min_size=4, max_size=4)


def effect_of(dynamics, weights=(0.16, 0.12, 0.1, 0.05), start_pa=(0.0,) * N):
    return PressureEffect(
        dynamics.model_copy(
            update={
                'hysteresis_thresholds_pa': (2e3, 5e3, 10e3, 20e3)[: len(weights)],
                'hysteresis_weights': tuple(weights),
            }
        ),
        np.array(start_pa),
    )


@given(history=st.lists(PRESSURES, max_size=6), weights=WEIGHTS, wanted_pa=PRESSURES)
def test_the_inverse_undoes_the_model_from_any_history(dynamics, history, weights, wanted_pa):
    effect = effect_of(dynamics, weights)
    for pressures_pa in history:
        effect.advance(0.1, pressures_pa)
    assert effect.effective(effect.pressures(wanted_pa)) == pytest.approx(wanted_pa, abs=1e-3)
    assert effect.pressures(effect.effective(wanted_pa)) == pytest.approx(wanted_pa, abs=1e-3)


def test_model_and_plant_have_one_hysteresis_and_creep(dynamics):
    effect = effect_of(dynamics)
    full = np.ones(N)
    plant = Chambers(
        target_pa=np.zeros(N),
        lag_s=0.0 * full,
        rate_limit_pa_s=full,
        resistance_pa_s_m3=0.0 * full,
        volume_m3=full,
        volume_per_bend_m3_rad=full,
        bend_rad=0.0 * full,
        bend_rate_rad_s=0.0 * full,
        thresholds_pa=np.tile([2e3, 5e3, 10e3, 20e3], (N, 1)),
        weights=np.tile([0.16, 0.12, 0.1, 0.05], (N, 1)),
        creep_share=dynamics.creep_share * full,
        creep_time_s=dynamics.creep_time_constant_s * full,
        pressure_pa=np.zeros(N),
        play_pa=np.zeros((N, 4)),
        crept_pa=np.zeros(N),
        effective_pa=np.zeros(N),
    )
    rng = np.random.default_rng(4)
    for _ in range(20):
        plant.target_pa[:] = rng.uniform(-90e3, 90e3, N)
        for _ in range(50):
            step_chambers(0.001, plant)
            effective_pa = effect.advance(0.001, plant.pressure_pa)
    assert effective_pa == pytest.approx(plant.effective_pa, abs=5.0)  # of the step of 1 ms


def test_a_file_without_hysteresis_has_none(dynamics):
    effect = PressureEffect(dynamics, np.zeros(N))
    effect.advance(0.02, np.full(N, 50e3))
    effect.advance(10.0, np.zeros(N))  # all creep has settled
    assert effect.effective(np.zeros(N)) == pytest.approx(np.zeros(N), abs=1.0)


def test_a_reversal_needs_more_pressure_than_it_has_effect(dynamics):
    effect = effect_of(dynamics)
    effect.advance(10.0, np.full(N, 50e3))
    now_pa = effect.effective(np.full(N, 50e3))
    assert effect.pressures(now_pa - 1e3) == pytest.approx(
        50e3 - 1e3 / (1 - 0.43) / 0.978, rel=1e-3
    )
