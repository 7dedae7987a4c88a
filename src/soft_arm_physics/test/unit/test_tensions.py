"""Tendons driven by tension: a moment of radius times tension, and compression."""

import numpy as np
import pytest

from physics_testing import FREE_SPACE
from soft_arm_description.robot import Robot, load_robot
from soft_arm_physics import PhysicsError, Simulation

ARM_M, YOUNGS_MODULUS_PA, RADIUS_M, LENGTH_M = 0.015, 69e3, 0.02, 0.6
BENDING_N_M2 = YOUNGS_MODULUS_PA * np.pi * RADIUS_M**4 / 4
AXIAL_N = YOUNGS_MODULUS_PA * np.pi * RADIUS_M**2


def limb(name='squid_camera', on=-1):
    """A limb of the squid without taper; tendons end at the end of segment `on`."""
    content = load_robot(name).model_dump(mode='json', exclude_unset=True)
    for segment in content['segments']:
        segment.pop('tip_radius_m')
        segment['body_radius_m'] = RADIUS_M
    content['segments'][on]['tendons'] = {
        'angles_deg': [0.0, 90.0, 180.0, 270.0],
        'radius_m': ARM_M,
        'tension_limit_n': 2.0,
    }
    return Robot.model_validate(content)


def bend_and_length(simulation):
    """Bend towards x and towards y [rad] and length of the backbone [m]."""
    tip = simulation.robot.T_base_tip()
    axis = tip[:3, 2]
    turn = np.arccos(np.clip(axis[2], -1.0, 1.0)) * axis[:2] / max(np.hypot(*axis[:2]), 1e-12)
    steps = np.diff(simulation.robot.backbone_m(), axis=0)
    return *turn, np.linalg.norm(steps, axis=1).sum()


@pytest.mark.parametrize(('tendon', 'direction'), [(0, (1, 0)), (1, (0, 1)), (2, (-1, 0))])
def test_a_tendon_bends_towards_itself_and_presses(tendon, direction):
    simulation = Simulation(limb(), FREE_SPACE)
    tensions_n = np.zeros(4)
    tensions_n[tendon] = 1.0
    simulation.robot.actuate(tensions_n)
    simulation.settle(critical=True)
    *bend_rad, length_m = bend_and_length(simulation)
    expected_rad = ARM_M * 1.0 * LENGTH_M / BENDING_N_M2
    assert bend_rad == pytest.approx(expected_rad * np.array(direction), rel=0.01, abs=0.005)
    assert length_m == pytest.approx(LENGTH_M * (1.0 - 1.0 / AXIAL_N), rel=0.01)
    assert length_m < LENGTH_M


@pytest.mark.parametrize('tension_n', [0.05, 0.1])
def test_a_robot_at_rest_stays_where_it_is(tension_n):
    """Two slender segments swing slowly; at a turning point they have not settled."""
    content = load_robot('squid_camera').model_dump(mode='json', exclude_unset=True)
    segment = content['segments'][0] | {
        'sections': 10,
        'body_radius_m': 0.01,
        'material': {'youngs_modulus_pa': 1e6, 'density_kg_m3': 1e3, 'poisson_ratio': 0.5},
        'length_limits_m': [0.19, 0.20],
        'tendons': {
            'angles_deg': [0.0, 90.0, 180.0, 270.0],
            'radius_m': 0.008,
            'tension_limit_n': 10.0,
        },
    }
    del segment['tip_radius_m'], segment['damping_time_s']
    content['segments'] = [segment | {'name': name} for name in ('s1', 's2')]
    simulation = Simulation(Robot.model_validate(content), FREE_SPACE)
    simulation.robot.actuate([0.0] * 4 + [tension_n] + [0.0] * 3)
    simulation.settle()
    tip_m = simulation.robot.T_world_tip()[:3, 3]
    for _ in range(20):
        simulation.step(0.1)
        assert simulation.robot.T_world_tip()[:3, 3] == pytest.approx(tip_m, abs=2e-5)


def test_tendons_that_pull_against_each_other_only_press():
    simulation = Simulation(limb(), FREE_SPACE)
    simulation.robot.actuate([1.5, 0.0, 1.5, 0.0])
    simulation.step(4.0)
    assert bend_and_length(simulation) == pytest.approx(
        (0.0, 0.0, LENGTH_M * (1.0 - 3.0 / AXIAL_N)), abs=1e-6
    )


def test_a_tendon_bends_the_segments_that_it_runs_through():
    simulation = Simulation(limb('squid_grasper'), FREE_SPACE)
    names = [c.name for c in simulation.robot.coordinates]
    assert names[3:] == [f'grasper_2_tendon_{k}' for k in (1, 2, 3, 4)]
    values = simulation.robot.rest_u
    values[3] = 0.5
    simulation.robot.actuate(values)
    simulation.settle(critical=True)
    expected_rad = ARM_M * 0.5 * LENGTH_M / BENDING_N_M2
    assert bend_and_length(simulation)[0] == pytest.approx(expected_rad, rel=0.01)


@pytest.mark.parametrize('tension_n', [-0.1, 2.1])
def test_a_tension_outside_its_limits_is_refused(tension_n):
    robot = Simulation(limb(), FREE_SPACE).robot
    with pytest.raises(PhysicsError, match='camera_1_tendon_2') as caught:
        robot.actuate([0.0, tension_n, 0.0, 0.0])
    assert f'{tension_n:g}' in str(caught.value) and 'N' in str(caught.value)
