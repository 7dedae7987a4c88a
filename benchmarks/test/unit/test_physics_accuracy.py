"""The simulated chain against the Kirchhoff rod, the elastica and a vibrating beam."""

import numpy as np
import pytest

from soft_arm_benchmarks.physics.kirchhoff import kirchhoff_tip_m
from soft_arm_benchmarks.physics.rods import beam_frequency_hz, first_frequency_hz, tip_error_m

LENGTH_M, BENDING_N_M2, MASS_KG_M = 0.3, 0.1, 1.0
PLANE, ROUND, FLAT = (0.1, 0.1, None), (0.1, 0.1, 0.1 / 1.5), (0.1, 0.4, 0.05)
SLOPE_RAD = np.deg2rad(60.0)


def test_the_kirchhoff_rod_in_a_plane_is_the_small_bend_of_a_beam_and_the_elastica():
    small = kirchhoff_tip_m(LENGTH_M, ROUND, tip_force_n=(1e-3, 0.0, 0.0))
    assert small[0] == pytest.approx(1e-3 * LENGTH_M**3 / (3 * BENDING_N_M2), rel=1e-4)
    # F L^2 / EI = 2: Mattiasson, Numerical results from large deflection beam and frame problems
    # (1981): deflection 0.49346 L, shortening 0.16064 L.
    large = kirchhoff_tip_m(1.0, (1.0, 1.0, 1.0), tip_force_n=(2.0, 0.0, 0.0))
    assert large == pytest.approx([0.49346, 0.0, 1.0 - 0.16064], abs=2e-5)


@pytest.mark.parametrize(
    'given',
    [
        {'stiffness_n_m2': PLANE, 'mass_kg_m': 1e-3, 'tip_force_n': (2.5, 0.0, 0.0)},
        {
            'stiffness_n_m2': PLANE,
            'gravity_m_s2': (9.81 * np.sin(SLOPE_RAD), 0.0, 9.81 * np.cos(SLOPE_RAD)),
        },
        {'rest_bend_rad': 1.5, 'tip_force_n': (0.0, 1.5, 0.0)},
        {'rest_bend_rad': 2.5, 'gravity_m_s2': (0.0, 5.0, 0.0)},
        {'stiffness_n_m2': FLAT, 'tip_force_n': (1.5, 1.5, 0.0)},
        {'stiffness_n_m2': FLAT, 'rest_bend_rad': 1.2, 'tip_force_n': (0.5, 1.5, 0.3)},
        {'tip_force_n': (1.5, 0.0, 0.0), 'gravity_m_s2': (0.0, -9.81, 0.0)},
    ],
)
def test_the_tip_converges_with_the_second_power_of_the_section(given):
    given = {'stiffness_n_m2': ROUND, 'mass_kg_m': MASS_KG_M} | given
    errors = [tip_error_m(LENGTH_M, sections=n, **given) / LENGTH_M for n in (10, 20, 40)]
    assert errors[0] <= 0.01 and errors[2] <= 7e-4
    assert errors[0] / errors[1] >= 3.5 and errors[1] / errors[2] >= 3.5


def test_the_first_frequency_is_the_beams():
    rod = LENGTH_M, BENDING_N_M2, MASS_KG_M
    assert first_frequency_hz(*rod, 10) == pytest.approx(beam_frequency_hz(*rod), rel=0.005)
