"""Drag and buoyancy of robots and objects in water."""

import numpy as np
import pytest

from physics_testing import hinged, world
from soft_arm_description.assembly import Assembly, MountedRobot
from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_physics import Simulation

WATER = {'name': 'water', 'density_kg_m3': 1000.0, 'viscosity_pa_s': 1e-3}


def test_a_ball_lighter_than_the_water_rises_with_the_drag_of_a_ball():
    radius_m = 0.05
    volume_m3 = 4 / 3 * np.pi * radius_m**3
    ball = {'name': 'ball', 'shape': 'sphere', 'size_m': [radius_m], 'mass_kg': 500 * volume_m3}
    content = {'medium': WATER, 'objects': [{**ball, 'position_m': [0.4, 0, 0]}]}
    sim = Simulation('squid_camera', world(**content))
    sim.step(0.01)
    assert sim.data.qvel[2] == pytest.approx(9.81 * 0.01, rel=0.02)  # twice its weight less one
    sim.step(3.0)
    area_m2 = np.pi * radius_m**2
    speed_m_s = np.sqrt(9.81 * 500 * volume_m3 / (0.5 * 1000 * 0.45 * area_m2))
    assert sim.data.qvel[2] == pytest.approx(speed_m_s, rel=0.01)


def drifting(sections, medium, **content):
    """A stiff limb 300 mm long and 20 mm thick along z, held by a ball without drag."""
    hinge = {'name': 'bend', 'axis': [0, 1, 0], 'stiffness_n_m_rad': 1e4}
    rod = hinged(
        length_m=0.3,
        sections=sections,
        section_size_m=[0.01],
        hinges=[{**hinge, 'torque_limits_n_m': [-0.1, 0.1]}],
        **content,
    )
    mass_kg = 1000.0
    head = RigidBody(
        name='head', shape='sphere', size_m=(1e-3,), mass_kg=mass_kg, drag_coefficient=0.0
    )
    mounted = MountedRobot('rod', rod, 'head', (0, 0, 0), (0, 0, 0))
    water = world(medium={**WATER, 'viscosity_pa_s': 0.0, **medium}, gravity_m_s2=[0, 0, 0])
    return Simulation(Assembly('a', '', (head,), (mounted,)), water, time_step_s=1e-4)


@pytest.mark.parametrize('sections', [1, 5, 10, 20, 40])
@pytest.mark.parametrize(
    ('velocity', 'force'),
    [
        ([1.0, 0.0, 0.0], [500 * 1.1 * 0.3 * 0.02, 0.0, 0.0]),
        ([0.0, 0.0, -1.0], [0, 0, -500 * (0.012 * np.pi * 0.02 * 0.3 + np.pi * 0.01**2)]),
        ([1.0, 0.0, 1.0], [500 * 66e-4, 0.0, 500 * (0.012 * np.pi * 60e-4 + np.pi * 1e-4)]),
    ],
)
def test_the_drag_of_a_limb_is_the_textbooks_with_any_number_of_sections(sections, velocity, force):
    sim = drifting(sections, {})
    sim.data.qvel[:3] = velocity
    sim.step(1e-4)
    assert sim.data.xfrc_applied[:, :3].sum(axis=0) == pytest.approx(-np.array(force), rel=0.01)


def test_a_limb_on_the_tip_of_another_leaves_it_no_end():
    lower, upper = hinged(length_m=0.1), hinged(length_m=0.2)
    head = RigidBody(name='head', shape='sphere', size_m=(1e-3,), mass_kg=1e3, drag_coefficient=0.0)
    robots = (
        MountedRobot('lower', lower, 'head', (0, 0, 0), (0, 0, 0)),
        MountedRobot('upper', upper, 'lower', (0, 0, 0.02), (0, 0, 0)),
    )
    water = world(medium={**WATER, 'viscosity_pa_s': 0.0, 'drag': {'along': 0.0}})
    sim = Simulation(Assembly('a', '', (head,), robots), water, time_step_s=1e-5)
    sim.data.qvel[2] = 1.0
    sim.step(1e-5)
    assert sim.data.xfrc_applied[:, 2].sum() == pytest.approx(-500 * np.pi * 0.008**2, rel=0.01)


def test_a_limb_that_turns_has_the_torque_of_its_drag():
    sim = drifting(5, {'drag': {'across': 2.0, 'end': 0.0}})
    sim.data.qvel[3] = 2.0
    sim.step(1e-4)
    force, arm = sim.data.xfrc_applied[:, :3], sim.data.xipos - sim.data.xpos[1]
    torque_n_m = (np.cross(arm, force) + sim.data.xfrc_applied[:, 3:]).sum(axis=0)
    wanted_n_m = 500 * 2.0 * 0.02 * 2.0**2 * 0.3**4 / 4
    assert torque_n_m == pytest.approx([-wanted_n_m, 0.0, 0.0], rel=0.01, abs=1e-9)


def test_limbs_of_nearly_the_water_s_density_float():
    sim, dry = Simulation('squid', 'sea'), Simulation('squid')
    weight_n = [s.robots['camera'].base_wrench()[2] for s in (sim, dry)]
    assert weight_n[0] == pytest.approx(weight_n[1] * (1 - 1025 / 1070), rel=0.02)
