import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soft_arm_description.robot import load_robot
from soft_arm_physics.bellows import chain_forces, step_pressures
from soft_arm_physics.plant import Plant
from soft_arm_physics.plant_parameters import load_plant_parameters

DT_S = 0.002


class Chamber:
    """One chamber with the laws of `step_pressures`; by default none but the valve's."""

    def __init__(
        self,
        lag_s=0.2,
        rate_pa_s=1e12,
        thresholds_pa=(),
        weights=(),
        creep_share=0.0,
        creep_time_s=0.8,
    ):
        self.laws = (
            lag_s,
            rate_pa_s,
            np.array(thresholds_pa, float),
            np.array(weights, float),
            creep_share,
            creep_time_s,
        )
        self.pressure, self.crept, self.effective = np.zeros((3, 1))
        self.play = np.zeros((1, len(thresholds_pa)))

    def run(self, target_pa, duration_s):
        for _ in range(round(duration_s / DT_S)):
            step_pressures(
                DT_S,
                np.array([float(target_pa)]),
                *self.laws,
                self.pressure,
                self.play,
                self.crept,
                self.effective,
            )
        return self.effective[0]


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


@pytest.fixture(scope='module')
def force():
    """Generalised forces of the chain over its joint positions."""
    plant = Plant(load_robot('two_module_arm'), load_plant_parameters().ideal(), 0)
    curves, *chain = plant._chain

    def at(qpos, effective_pa):
        force, damping = np.zeros((2, len(qpos)))
        chain_forces(qpos, effective_pa, *curves, *chain, force, damping)
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
