import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soft_arm_kinematics.segments import formulas, pcc

BETA = np.deg2rad([90.0, 210.0, 330.0])
H_M = 0.03

lengths = st.lists(st.floats(0.07, 0.195), min_size=3, max_size=3).map(np.array)
angles = st.floats(-np.pi, np.pi)
bends = st.one_of(st.floats(0.0, 3.5), st.floats(0.0, 1e-5))


def rotation_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def rotation_y(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s, 0], [0, 1, 0, 0], [-s, 0, c, 0], [0, 0, 0, 1.0]])


def shift_z(distance):
    transform = np.eye(4)
    transform[2, 3] = distance
    return transform


def denavit_hartenberg(theta, phi, ell):
    """The paper's product, for theta > 0."""
    chord = 2.0 * ell / theta * np.sin(theta / 2.0)
    return (
        rotation_z(phi)
        @ rotation_y(theta / 2.0)
        @ shift_z(chord)
        @ rotation_y(theta / 2.0)
        @ rotation_z(-phi)
    )


@given(lengths)
def test_arc_is_the_papers_formula(lengths_m):
    theta, phi, ell = pcc.polar_from_arcs(pcc.arcs_matrix(BETA, H_M) @ lengths_m)
    l1, l2, l3 = lengths_m
    s2 = l1**2 + l2**2 + l3**2 - l1 * l2 - l1 * l3 - l2 * l3
    assert ell == pytest.approx((l1 + l2 + l3) / 3, abs=1e-15)
    assert theta == pytest.approx(2 * np.sqrt(max(s2, 0.0)) / (3 * H_M), abs=1e-7)
    if theta > 1e-6:
        assert pcc.wrap(
            phi - np.arctan2(l2 + l3 - 2 * l1, np.sqrt(3) * (l2 - l3))
        ) == pytest.approx(0.0, abs=1e-6)


@given(bends, angles, st.floats(0.05, 0.3))
def test_lengths_are_the_stated_inverse(theta, phi, ell):
    arc = pcc.arcs_from_polar(theta, phi, ell)
    lengths_m = pcc.lengths_matrix(BETA, H_M) @ arc
    assert lengths_m == pytest.approx(ell - theta * H_M * np.cos(phi - BETA), abs=1e-14)
    assert pcc.arcs_matrix(BETA, H_M) @ lengths_m == pytest.approx(arc, abs=1e-12)


@given(st.floats(0.01, 3.5), angles, st.floats(0.05, 0.3))
def test_transform_is_the_papers_product(theta, phi, ell):
    arc = pcc.arcs_from_polar(theta, phi, ell)
    closed = denavit_hartenberg(theta, phi, ell)
    assert pcc.arc_transforms(arc) == pytest.approx(closed, abs=1e-13)
    assert pcc.arc_transforms(arc, closing_twist=False) == pytest.approx(
        closed @ rotation_z(phi), abs=1e-13
    )


@given(angles, st.floats(0.05, 0.3), st.floats(0.0, 1e-3))
def test_transform_is_continuous_through_zero_bend(phi, ell, theta):
    transform = pcc.arc_transforms(pcc.arcs_from_polar(theta, phi, ell))
    first_order = shift_z(ell)
    first_order[:2, 2] = theta * np.cos(phi), theta * np.sin(phi)
    first_order[2, :2] = -first_order[:2, 2]
    first_order[:2, 3] = ell / 2 * first_order[:2, 2]
    assert np.abs(transform - first_order).max() <= theta**2


@given(bends, angles, st.floats(0.05, 0.3))
def test_two_halves_make_the_whole(theta, phi, ell):
    half = pcc.arc_transforms(pcc.arcs_from_polar(theta / 2, phi, ell / 2))
    assert half @ half == pytest.approx(
        pcc.arc_transforms(pcc.arcs_from_polar(theta, phi, ell)), abs=1e-14
    )


def test_series_and_closed_form_meet():
    edge = np.array([np.nextafter(formulas.SERIES_BELOW, 0.0), formulas.SERIES_BELOW])
    functions = formulas.bend_derivatives(edge, *formulas.bend_functions(edge))
    below, above = np.array(functions).T
    assert below == pytest.approx(above, rel=1e-14)
