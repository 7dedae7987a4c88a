"""Catheters and guide wires: rods at the lower limits of MuJoCo's numbers."""

import numpy as np
import pytest

from soft_arm_description.robot import Robot, load_robot
from soft_arm_physics import PhysicsError, Simulation
from soft_arm_physics.model.checks import slowest_mode_rad_s

DENSITY_KG_M3, GRAVITY_M_S2 = 1000.0, 9.81
SAG = 0.02  # of the length, of a horizontal rod
FIRST_ROOT = 1.875104068711961  # of cos(x) cosh(x) = -1


def horizontal_rod(radius_m, sections, length_m=0.1):
    """A rod that bends and twists."""
    bending_n_m2 = DENSITY_KG_M3 * np.pi * radius_m**2 * GRAVITY_M_S2 * length_m**3 / (8 * SAG)
    content = load_robot('modal_bellows').model_dump(mode='json')
    content['base']['rpy_deg'] = [0, 90, 0]
    content['segments'][0] |= {
        'sections': sections,
        'body_mass_kg': None,
        'body_radius_m': radius_m,
        'length_m': length_m,
        'length_unit_m': length_m,
        'material': {'density_kg_m3': DENSITY_KG_M3, 'poisson_ratio': 0.4},
        'stiffness': {'bending_n_m2': bending_n_m2},
    }
    return Robot.model_validate(content)


@pytest.mark.parametrize(
    ('radius_m', 'sections'), [(1e-4, 10), (1e-4, 100), (2e-4, 20), (3e-4, 100)]
)
def test_a_thin_rod_vibrates_as_a_beam(radius_m, sections):
    robot = horizontal_rod(radius_m, sections)
    stiffness_n_m2 = robot.segments[0].stiffness.bending_n_m2
    line_kg_m = DENSITY_KG_M3 * np.pi * radius_m**2
    expected = (FIRST_ROOT / 0.1) ** 2 * np.sqrt(stiffness_n_m2 / line_kg_m)
    found = slowest_mode_rad_s(Simulation(robot).model)
    assert found == pytest.approx(expected, rel=0.3 / sections**2)


def test_a_thin_rod_sags_as_a_beam():
    sim = Simulation(horizontal_rod(1e-4, 20))
    sim.settle(critical=True)
    assert -sim.robot.T_world_tip()[2, 3] == pytest.approx(SAG * 0.1, rel=0.003)


def test_a_rod_of_too_many_sections_is_refused_with_the_remedy():
    words = r'kg m\^2, must be at least 1e-15 kg m\^2: give the segment fewer sections'
    with pytest.raises(PhysicsError, match=words):
        Simulation(horizontal_rod(1e-4, 100, length_m=0.05))
