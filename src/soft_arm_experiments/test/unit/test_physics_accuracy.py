"""The simulated chain against elastica, beam and Cosserat theory."""

import numpy as np
import pytest

from soft_arm_experiments.physics.elastica import beam_frequency_hz, elastica_points_m
from soft_arm_experiments.physics.kirchhoff import kirchhoff_tip_m
from soft_arm_experiments.physics.rods import first_frequency_hz, spatial_error_m, tip_error_m

LENGTH_M, BENDING_N_M2, MASS_KG_M = 0.3, 0.1, 1.0
CASES = {
    'loaded cantilever': {'mass_kg_m': 1e-3, 'tip_force_n': (2.5, 0.0)},
    'heavy rod that hangs aslant': {'mass_kg_m': MASS_KG_M, 'gravity_angle_rad': np.deg2rad(60.0)},
}


def test_the_elastica_is_the_small_bend_of_a_beam_and_the_large_one_of_the_tables():
    small = elastica_points_m(LENGTH_M, BENDING_N_M2, tip_force_n=(1e-3, 0.0))[-1]
    assert small[0] == pytest.approx(1e-3 * LENGTH_M**3 / (3 * BENDING_N_M2), rel=1e-4)
    # F L^2 / EI = 2: Mattiasson, Numerical results from large deflection beam and frame problems
    # (1981): deflection 0.49346 L, shortening 0.16064 L.
    large = elastica_points_m(1.0, 1.0, tip_force_n=(2.0, 0.0))[-1]
    assert large == pytest.approx([0.49346, 1.0 - 0.16064], abs=2e-5)


@pytest.mark.parametrize('case', CASES)
def test_the_tip_converges_to_the_elastica_with_the_second_power_of_the_section(case):
    given = {'length_m': LENGTH_M, 'bending_stiffness_n_m2': BENDING_N_M2, **CASES[case]}
    coarse, fine = (tip_error_m(sections=n, **given) / LENGTH_M for n in (10, 20))
    assert coarse <= 0.01 and fine <= 0.003
    assert coarse / fine >= 3.5


ROUND, FLAT = (0.1, 0.1, 0.1 / 1.5), (0.1, 0.4, 0.05)
TWISTING = {
    'bent, force across': {'rest_bend_rad': 1.5, 'tip_force_n': (0.0, 1.5, 0.0)},
    'bent, heavy across': {'rest_bend_rad': 2.5, 'gravity_m_s2': (0.0, 5.0, 0.0)},
    'flat, force aslant': {'stiffness_n_m2': FLAT, 'tip_force_n': (1.5, 1.5, 0.0)},
    'flat and bent': {
        'stiffness_n_m2': FLAT,
        'rest_bend_rad': 1.2,
        'tip_force_n': (0.5, 1.5, 0.3),
    },
    'straight, force and weight': {
        'tip_force_n': (1.5, 0.0, 0.0),
        'gravity_m_s2': (0.0, -9.81, 0.0),
    },
}


@pytest.mark.parametrize('case', TWISTING)
def test_a_rod_that_twists_converges_with_the_second_power_of_the_section(case):
    given = {'stiffness_n_m2': ROUND, 'mass_kg_m': MASS_KG_M, **TWISTING[case]}
    errors = [spatial_error_m(LENGTH_M, sections=n, **given) / LENGTH_M for n in (10, 20, 40)]
    assert errors[0] <= 0.01 and errors[2] <= 7e-4
    assert errors[0] / errors[1] >= 3.5 and errors[1] / errors[2] >= 3.5


def test_the_kirchhoff_rod_in_a_plane_is_the_elastica():
    spatial = kirchhoff_tip_m(LENGTH_M, ROUND, tip_force_n=(2.5, 0.0, 0.0))
    plane = elastica_points_m(LENGTH_M, BENDING_N_M2, tip_force_n=(2.5, 0.0))[-1]
    assert spatial == pytest.approx([plane[0], 0.0, plane[1]], abs=1e-8)


def test_the_first_frequency_is_the_beams():
    rod = LENGTH_M, BENDING_N_M2, MASS_KG_M
    assert first_frequency_hz(*rod, 10) == pytest.approx(beam_frequency_hz(*rod), rel=0.005)
