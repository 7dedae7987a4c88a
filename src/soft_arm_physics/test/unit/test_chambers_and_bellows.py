import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soft_arm_physics import Simulation
from soft_arm_physics.actuation.bellows import add_bellows_forces
from soft_arm_physics.actuation.chambers import Chambers, step_chambers

DT_S = 0.002


class Chamber:
    """One chamber; by default with none of the laws but the valve's."""

    def __init__(
        self,
        lag_s=0.2,
        rate_pa_s=1e12,
        thresholds_pa=(),
        weights=(),
        creep_share=0.0,
        creep_time_s=0.8,
        resistance_pa_s_m3=0.0,
    ):
        one = np.zeros(1)
        self.arrays = Chambers(
            target_pa=one.copy(),
            lag_s=one + lag_s,
            rate_limit_pa_s=one + rate_pa_s,
            resistance_pa_s_m3=one + resistance_pa_s_m3,
            volume_m3=one + 3e-6,
            volume_per_bend_m3_rad=one + 1.2e-6,
            bend_rad=one.copy(),
            bend_rate_rad_s=one.copy(),
            thresholds_pa=np.array([thresholds_pa], float),
            weights=np.array([weights], float),
            creep_share=one + creep_share,
            creep_time_s=one + creep_time_s,
            pressure_pa=one.copy(),
            play_pa=np.zeros((1, len(weights))),
            crept_pa=one.copy(),
            effective_pa=one.copy(),
        )

    def run(self, target_pa, duration_s):
        self.arrays.target_pa[:] = target_pa
        for _ in range(round(duration_s / DT_S)):
            step_chambers(DT_S, self.arrays)
        return self.arrays.effective_pa[0]


def test_valve_reaches_63_percent_after_its_lag():
    assert Chamber().run(1000.0, 0.2) == pytest.approx(1000.0 * (1 - np.exp(-1)), rel=0.01)


def test_valve_keeps_its_rate_limit_up_and_down():
    chamber = Chamber(rate_pa_s=150e3)
    assert chamber.run(96e3, 0.2) == pytest.approx(30e3, rel=1e-6)
    assert chamber.run(-96e3, 0.2) == pytest.approx(0.0, abs=1.0)


def test_hysteresis_lags_behind_by_its_half_width_and_its_loop_closes():
    chamber = Chamber(lag_s=0.02, thresholds_pa=[4e3, 10e3, 20e3], weights=[0.158, 0.126, 0.095])
    half_width = 0.158 * 4e3 + 0.126 * 10e3 + 0.095 * 20e3
    chamber.run(-60e3, 1.0)
    up = chamber.run(0.0, 1.0)
    chamber.run(60e3, 1.0)
    down = chamber.run(0.0, 1.0)
    chamber.run(-60e3, 1.0)
    assert up == pytest.approx(-half_width, abs=1.0)
    assert down == pytest.approx(half_width, abs=1.0)
    assert chamber.run(0.0, 1.0) == pytest.approx(up, abs=1e-6)


def test_creep_adds_its_share_with_its_time_constant():
    chamber = Chamber(lag_s=DT_S, creep_share=0.03, creep_time_s=0.8)
    assert chamber.run(10e3, 0.01) == pytest.approx(10e3 * 0.97, rel=1e-3)
    assert chamber.run(10e3, 0.8) == pytest.approx(10e3 * (1 - 0.03 * np.exp(-1)), rel=1e-3)
    assert chamber.run(10e3, 8.0) == pytest.approx(10e3, rel=1e-4)


def test_a_chamber_fills_through_its_resistance():
    """R V / p_0 is the time constant of a chamber that keeps its volume; a bent one is larger."""
    time_s = 1.6e9 * 3e-6 / 101_325.0
    assert Chamber(resistance_pa_s_m3=1.6e9).run(1e3, time_s) == pytest.approx(632.0, rel=0.03)
    bent = Chamber(resistance_pa_s_m3=1.6e9)
    bent.arrays.bend_rad[:] = 1.0
    assert bent.run(1e3, time_s) == pytest.approx(1e3 * (1 - np.exp(-np.exp(-0.4))), rel=0.03)


def test_a_chamber_that_grows_loses_pressure():
    for bend_rad in (-1.0, 0.0, 1.0):  # no kink where it is straight
        chamber = Chamber(resistance_pa_s_m3=1.6e9)
        chamber.arrays.bend_rad[:], chamber.arrays.bend_rate_rad_s[:] = bend_rad, 1.0
        volume_m3_rad = 1.2e-6 * np.exp(0.4 * bend_rad)
        assert chamber.run(0.0, 1.0) == pytest.approx(-1.6e9 * volume_m3_rad, rel=0.03)


@pytest.fixture(scope='module')
def force():
    """Generalised forces of the chain over its joint positions."""
    bellows = Simulation('two_module_arm').state.bellows

    def at(qpos, effective_pa):
        force, damping = np.zeros((2, len(qpos)))
        add_bellows_forces(qpos, effective_pa, bellows, force, damping)
        return force, damping

    return at


def test_no_force_on_the_curve(force):
    at_rest, damping = force(np.zeros(62), np.zeros(6))
    assert np.abs(at_rest).max() < 1e-6
    assert (damping > 0).all()


def jacobian(force, qpos, effective_pa, step=1e-8):  # small: the curve has a kink
    return np.array(
        [
            (force(qpos + step * e, effective_pa)[0] - force(qpos - step * e, effective_pa)[0])
            / (2 * step)
            for e in np.eye(62)
        ]
    )


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_forces_derive_from_an_energy(force, seed):
    """The Jacobian of the forces is symmetric at any shape and pressure."""
    random = np.random.default_rng(seed)
    slide = np.arange(62) % 31 % 3 == 0
    stiffness = jacobian(
        force,
        random.uniform(-1, 1, 62) * np.where(slide, 2e-3, 0.1),
        random.uniform(-96e3, 96e3, 6),
    )
    unit = np.where(slide, 1.0, 0.03)
    stiffness = stiffness / np.outer(unit, unit)
    assert np.abs(stiffness - stiffness.T).max() < 1e-5 * np.abs(stiffness).max()


def test_every_joint_is_held(force):
    """No combination of joints can creep away.

    The stiffness of the chain at rest is positive definite.
    """
    stiffness = -jacobian(force, np.zeros(62), np.zeros(6))
    unit = np.sqrt(np.diag(stiffness))
    assert np.linalg.eigvalsh(stiffness / np.outer(unit, unit)).min() > 0.1
