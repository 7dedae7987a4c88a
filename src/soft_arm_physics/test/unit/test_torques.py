"""Robots of kind `torque` against the equilibrium of their hinges, solved here without MuJoCo."""

import numpy as np
import pytest
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from physics_testing import robot_of
from soft_arm_physics import Simulation

WIDE = {'section_size_m': [0.1, 0.1], 'body_mass_kg': 0.4, 'end_link_mass_kg': 0.2}
GRAVITY = np.array([0.0, 0.0, -9.81])


def hinge(name, axis, stiffness, **more):
    most = 2.0 * stiffness
    return {
        'name': name,
        'axis': axis,
        'stiffness_n_m_rad': stiffness,
        'torque_limits_n_m': [-most, most],
    } | more


def segment(name, hinges, sections=6, **more):
    return {
        'name': name,
        'kind': 'torque',
        'length_m': 0.02 * sections,
        'sections': sections,
        'section_shape': 'box',
        'section_size_m': [0.02, 0.03],
        'body_mass_kg': 0.01 * (sections + 1),
        'end_link_mass_kg': 0.01,
        'hinges': hinges,
    } | more


TWO_AXES = [hinge('a', [1, 0, 0], 0.6), hinge('b', [0, 1, 0], 0.9)]
RIGID = {'name': 'rigid', 'axis': [1, 0, 0], 'actuated': False}
CASES = {
    'finger': [segment('s', TWO_AXES)],
    'series': [segment('s', TWO_AXES), segment('t', TWO_AXES[::-1], 5, end_link_mass_kg=None)],
    'torsion': [segment('s', [*TWO_AXES, hinge('c', [0, 0, 1], 0.5)], 7)],
    'graded': [
        segment('s', [hinge('a', [1, 0, 0], k, torque_limits_n_m=[-1, 1]) for k in (1, 2, 4, 8)], 4)
    ],
    'neutral_oblique_and_rigid': [
        segment('s', [hinge('a', [1, 1, 0], 0.9, neutral_rad=0.3), RIGID, TWO_AXES[1]])
    ],
    'off_the_axis': [
        segment(
            's',
            [hinge('a', [1, 0, 0], 0.9, offset_m=[0, 0.008, 0.002]), TWO_AXES[1]],
            link_offset_m=[0.004, 0.0, 0.001],
        )
    ],
}


TIP = {'mass_kg': 0.02, 'shape': 'sphere', 'size_m': [0.01], 'position_m': [0, 0.01, 0.005]}


def chain_of(robot):
    """Hinges (axis, offset, stiffness, neutral, coordinate or None), lengths and masses of links.

    Links and hinges by turns: link 0, hinge 0, link 1, ..; a segment's last link is followed by the
    next one's first without a hinge (None).
    """
    parts = []
    for s in robot.segments:
        h = s.length_m / s.sections
        lengths = [h / 2, *[h] * (s.sections - 1), h / 2]
        for i, (length, mass) in enumerate(zip(lengths, s.link_masses_kg, strict=True)):
            parts.append(('link', length, mass, np.array(s.link_offset_m)))
            if i < s.sections and s.section_hinges[i].stiffness_n_m_rad is not None:
                k = s.section_hinges[i]
                parts.append(('hinge', k, f'{s.name}_{k.name}' if k.actuated else None))
    return parts


def unbalanced(q, robot, torques):
    """Torque left over at each hinge [N m], (n,), and the tip's position in the world [m]."""
    R = Rotation.from_euler('xyz', robot.base.rpy_deg, degrees=True).as_matrix()
    at, hinges, weights = np.array(robot.base.position_m), [], []
    angles = iter(q)
    for part in chain_of(robot):
        if part[0] == 'link':
            _, length, mass, offset = part
            weights.append((len(hinges), mass, at + R @ (offset + [0, 0, length / 2])))
            at = at + R @ [0, 0, length]
        else:
            _, k, coordinate = part
            angle, pivot = next(angles), at + R @ k.offset_m
            axis = R @ k.unit_axis
            spring = -k.stiffness_n_m_rad * (angle - k.neutral_rad) + torques.get(coordinate, 0.0)
            hinges.append((pivot, axis, spring))
            R = Rotation.from_rotvec(axis * angle).as_matrix() @ R
            at = pivot - R @ k.offset_m
    tip = robot.tip
    weights.append((len(hinges), tip.mass_kg, at + R @ tip.position_m))
    left = [
        spring + axis @ sum(np.cross(x - p, m * GRAVITY) for n, m, x in weights if n > i)
        for i, (p, axis, spring) in enumerate(hinges)
    ]
    return np.array(left), at


@pytest.mark.parametrize('name', CASES)
def test_the_rod_hangs_where_its_hinges_are_in_equilibrium(name):
    robot = robot_of(CASES[name], (0, 100, 20), TIP)
    sim = Simulation(robot)
    values = [0.12 * c.high for c in sim.robot.coordinates]
    torques = dict(zip((c.name for c in sim.robot.coordinates), values, strict=True))
    sim.robot.actuate(values)
    sim.settle(60.0)
    joints = sum(part[0] == 'hinge' for part in chain_of(robot))
    found = root(lambda q: unbalanced(q, robot, torques)[0], np.zeros(joints), tol=1e-12)
    assert found.success and len(sim.robot.joint_positions()) == joints
    straight, tip = (unbalanced(q, robot, torques)[1] for q in (0 * found.x, found.x))
    deflection_m = np.linalg.norm(tip - straight)
    assert deflection_m > 0.01
    assert np.linalg.norm(sim.robot.T_world_tip()[:3, 3] - tip) < 0.005 * deflection_m


def test_dry_friction_holds_a_hinge_until_the_torque_is_larger():
    stiff = [
        hinge('a', [0, 0, 1], 1.0, friction_torque_n_m=0.2, damping_n_m_s_rad=0.2)
    ]  # upright: no weight turns it
    sim = Simulation(robot_of([segment('s', stiff, 1, **WIDE)], tip=TIP))
    sim.robot.actuate([0.15])
    sim.step(3.0)
    assert abs(sim.robot.joint_positions()[0]) < 0.01
    sim.robot.actuate([0.8])
    sim.step(3.0)
    assert sim.robot.joint_positions()[0] == pytest.approx(0.6, abs=0.02)


def test_a_hinge_stops_at_its_limit():
    stop = [hinge('a', [0, 0, 1], 1.0, limits_rad=[-0.4, 0.5])]
    sim = Simulation(robot_of([segment('s', stop, 1, **WIDE)], tip=TIP))
    sim.robot.actuate([2.0])
    sim.step(3.0)
    assert sim.robot.joint_positions()[0] == pytest.approx(0.5, abs=0.01)
