"""Robots of every kind in worlds, with contact and a medium."""

import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

from physics_testing import FREE_SPACE, hinged, world
from soft_arm_description.assembly import Assembly, AssemblyFile, MountedRobot, make_assembly
from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_description.robot import Robot, load_robot
from soft_arm_kinematics.arm import make_arm
from soft_arm_physics import PhysicsError, PhysicsWarning, Pneumatics, Simulation, rollouts

SHARES = {'Pa': 0.8, 'rad': 0.6, 'm': 0.3, 'N m': 0.8}


def cube(position_m, **content):
    side = {'shape': 'box', 'size_m': [0.04] * 3, 'mass_kg': 0.05, 'friction': 0.5}
    return {'name': 'cube', 'position_m': position_m, **side, **content}


def changed(name, base=None, **segment):
    content = load_robot(name).model_dump(mode='json')
    content['base'] |= base or {}
    for part in content['segments']:
        part |= segment
    return Robot.model_validate(content)


@pytest.mark.parametrize(
    'robot',
    ['two_module_arm', 'four_piece_finger', 'modal_bellows', 'squid_grasper', 'soft_finger'],
)
def test_without_load_a_robot_has_the_shape_of_its_kinematics(robot):
    sim = Simulation(robot, FREE_SPACE)
    values = [c.low + SHARES[c.unit] * (c.high - c.low) for c in sim.robot.coordinates]
    sim.robot.actuate(values)
    sim.settle(60.0, critical=robot != 'two_module_arm')
    arm = make_arm(sim.robot.robot)
    lengths = arm.curve.lengths(values) if robot == 'two_module_arm' else np.array(values)
    tip = arm.at(lengths).tip_pose
    assert sim.robot.T_base_tip()[:3, 3] == pytest.approx(tip[:3, 3], abs=4e-3 * tip[2, 3])


S_CURVE = {
    'pressure_pa': [-90e3, -60e3, -30e3, 0.0, 30e3, 60e3, 90e3],
    'length_m': [0.070, 0.075, 0.085, 0.105, 0.140, 0.165, 0.175],
}


def test_bellows_have_the_lengths_of_an_s_curve_and_those_of_the_kinematics():
    content = load_robot('two_module_arm').model_dump(mode='json')
    for segment in content['segments']:
        segment['actuators'] |= {'curve': S_CURVE, 'pressure_limits_pa': [-90e3, 90e3]}
    sim = Simulation(Robot.model_validate(content), FREE_SPACE)
    curve = make_arm(sim.robot.robot).curve
    for pressure_pa in (-90e3, -30e3, 45e3, 90e3):
        sim.robot.actuate([pressure_pa] * 6)
        sim.settle(60.0)
        length_m = np.linalg.norm(np.diff(sim.robot.backbone_m(), axis=0), axis=1).sum() / 2
        assert length_m == pytest.approx(curve.lengths(np.full(6, pressure_pa))[0], abs=1e-6)
        if pressure_pa in S_CURVE['pressure_pa']:
            at = S_CURVE['pressure_pa'].index(pressure_pa)
            assert length_m == pytest.approx(S_CURVE['length_m'][at], abs=1e-5)


def test_bellows_outside_their_length_limits_are_reported():
    sim = Simulation('two_module_arm')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        sim.robot.actuate([60e3, 0.0, 0.0, 0.0, 30e3, 0.0])
        sim.settle()
    lengths_m = sim.robot.bellows_lengths_m()
    assert lengths_m[:3] == pytest.approx([0.143, 0.106, 0.107], abs=2e-3)
    sim.robot.actuate([80e3] * 6)
    sim.apply_load('two_module_arm', 'tip', (0.0, 0.0, -60.0))
    with pytest.warns(PhysicsWarning, match=r'bellows m._b. .* mm long, outside .* 70..195 mm'):
        sim.settle()
    segment_m = np.linalg.norm(np.diff(sim.robot.backbone_m(), axis=0), axis=1).sum() / 2
    assert segment_m == pytest.approx(sim.robot.bellows_lengths_m().mean(), rel=1e-3)


def test_poissons_ratio_lets_a_bent_body_twist():
    """A force across the plane of the bend twists it; G J is E I / (1 + nu)."""
    segment = load_robot('modal_bellows').segments[0]
    torsional_n_m2 = segment.bending_stiffness_n_m2(0.0)[0] / (1.0 + 0.49)
    tips_m = []
    for poisson_ratio, given_n_m2 in ((0.49, None), (None, 1.0), (None, torsional_n_m2)):
        material = segment.material.model_dump() | {'poisson_ratio': poisson_ratio}
        stiffness = segment.stiffness.model_dump() | {'torsional_n_m2': given_n_m2}
        robot = changed('modal_bellows', material=material, stiffness=stiffness)
        sim = Simulation(robot, FREE_SPACE)
        sim.robot.actuate([sim.robot.coordinates[0].high])
        sim.apply_load(robot.name, 'tip', (0.0, 0.3, 0.0))
        sim.settle(60.0, critical=True)
        tips_m.append(sim.robot.T_base_tip()[:3, 3])
    twisting, rigid, same = tips_m
    assert twisting == pytest.approx(same, abs=1e-5)
    assert np.linalg.norm(twisting - rigid) > 1e-3


def test_the_base_carries_the_weight_and_the_load():
    sim = Simulation('two_module_arm')
    sim.apply_load('two_module_arm', 'tip', (0.3, 0.0, 0.0), (0.0, 0.0, 0.01))
    sim.settle()
    masses_kg = 2 * (0.16 + 0.06) + 0.08
    tip, base = sim.robot.T_world_tip()[:3, 3], sim.robot.T_world_base()[:3, 3]
    wrench = sim.robot.base_wrench()
    assert wrench[:3] == pytest.approx([-0.3, 0.0, 9.81 * masses_kg], abs=1e-3)
    assert wrench[5] == pytest.approx(-0.01, abs=1e-4)
    assert sim.robot.backbone_m()[[0, -1]] == pytest.approx(np.array([base, tip]))


def test_an_object_rests_on_the_ground_with_its_weight():
    sim = Simulation('two_module_arm', world(ground={}, objects=[cube([0.3, 0.0, 0.03])]))
    sim.step(1.0)
    assert sim.pose('cube')[:3, 3] == pytest.approx([0.3, 0.0, 0.02], abs=5e-4)
    contacts = sim.contacts()
    assert {(c.body_a, c.body_b) for c in contacts} == {('ground', 'cube')}
    assert sum(c.force_n for c in contacts) == pytest.approx([0, 0, 0.05 * 9.81], abs=1e-4)
    sim.place('cube', (0.3, 0.1, 0.2))
    sim.step(0.1)
    assert sim.pose('cube')[2, 3] == pytest.approx(0.2 - 0.5 * 9.81 * 0.01, abs=2e-3)


FILLING = {
    'supply_resistance_pa_s_m3': 1.6e9,
    'vent_resistance_pa_s_m3': 2.4e9,
    'volume_m3': 3e-6,
    'volume_per_bend_m3_rad': 1.2e-6,
    'gain_std': 0.0,
    'offset_std_pa': 0.0,
}


def test_a_chamber_fills_by_two_valves_faster_where_the_body_cannot_bend():
    finger = changed('four_piece_finger', base={'position_m': [0, 0, 0], 'rpy_deg': [0, 0, 0]})
    pneumatics = Pneumatics.model_validate({'filling': FILLING})
    pressures_pa = []
    for objects in ([], [cube([0.032, 0.0, 0.05], fixed=True)]):
        sim = Simulation(finger, world(objects=objects), pneumatics)
        sim.robot.open_valves(100e3, 0.0, True, False)
        sim.step(0.1)
        pressures_pa.append(sim.robot.pressures_pa[0])
        sim.step(2.0)
        assert sim.robot.pressures_pa[0] == pytest.approx(100e3, rel=0.01)
    assert 40e3 < pressures_pa[0] < pressures_pa[1] < 100e3
    sim.robot.open_valves(100e3, -80e3, True, True)
    sim.step(2.0)
    assert sim.robot.pressures_pa[0] == pytest.approx(10e3, abs=500)
    sim.robot.open_valves(0.0, 0.0, False, False)
    sim.step(2.0)
    assert sim.robot.pressures_pa[0] == pytest.approx(0.0, abs=500)
    with pytest.raises(PhysicsError, match='supply 200000 Pa'):
        sim.robot.open_valves(200e3, 0.0, True, False)


def test_what_friction_holds_does_not_creep():
    """A box on a slope of 20 deg, below the angle of friction, moves less than 0.01 mm a second."""
    slope = np.radians(20.0)
    gravity = [9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope)]
    box = cube([0.4, 0.0, 0.0251], size_m=[0.05, 0.05, 0.05], friction=0.5)
    around = world(objects=[box], ground={'friction': 0.5}, gravity_m_s2=gravity)
    sim = Simulation('soft_finger', around)
    sim.step(0.3)
    start_m = sim.pose('cube')[0, 3]
    sim.step(1.0)
    assert abs(sim.pose('cube')[0, 3] - start_m) < 1e-5


def test_friction_differs_along_and_across_the_axis():
    """A capsule's contact with the ground has its axis as first tangent."""
    snake = changed(
        'modal_bellows', base={'flange_m': [0.001] * 3}, friction={'sliding': 0.1, 'across': 0.8}
    )
    body = RigidBody(
        name='head', shape='sphere', size_m=(0.001,), mass_kg=0.05, position_m=(0, 0, 0.0125)
    )
    for yaw_deg, axis in ((0, [1, 0, 0]), (90, [0, 1, 0])):
        mounted = MountedRobot('snake', snake, 'head', (0, 0, 0), (0, 90, yaw_deg))
        sim = Simulation(Assembly('a', '', (body,), (mounted,)), world(ground={'friction': 0.3}))
        sim.step(0.1)
        sim.contacts()
        links = [
            c
            for c in sim.data.contact
            if mujoco.mj_id2name(sim.model, mujoco.mjtObj.mjOBJ_GEOM, c.geom[1])
        ]
        assert len(links) > 10
        for contact in links:
            assert contact.friction[:2] == pytest.approx([0.1, 0.8])
            assert np.abs(contact.frame[3:6]) == pytest.approx(axis, abs=0.05)


def test_rollouts_are_what_steps_one_by_one_give():
    sim = Simulation('two_module_arm')
    u = np.random.default_rng(5).uniform(-20e3, 20e3, (3, 4, 6))
    found = rollouts(sim, u, 0.02)
    assert sim.time_s == 0.0 and (found.diverged_step == -1).all()
    for step in range(4):
        sim.robot.actuate(u[2, step])
        sim.step(0.02)
        tip = sim.robot.T_world_tip()
        assert found.T_world_tip['two_module_arm'][2, step] == pytest.approx(tip, abs=1e-12)
    with pytest.raises(PhysicsError, match='multiple of the time step'):
        rollouts(sim, u, 0.003)
    sim.reset()
    assert sim.time_s == 0.0 and not sim.data.qvel.any()


def test_rollouts_of_chambers_that_fill_open_the_same_valves():
    sim = Simulation(
        'four_piece_finger', pneumatics=Pneumatics.model_validate({'filling': FILLING})
    )
    found = rollouts(sim, np.array([[[60e3], [-40e3]]]), 0.1)
    for pressure_pa in (60e3, -40e3):
        sim.robot.actuate([pressure_pa])
        sim.step(0.1)
    assert found.qpos[0, 1] == pytest.approx(sim.data.qpos, abs=1e-12)


def test_the_model_leaves_as_mjcf_with_the_same_masses():
    sim = Simulation('squid', 'sea')
    model = mujoco.MjModel.from_xml_string(sim.to_mjcf())
    assert model.nv == sim.model.nv
    assert model.body_mass.sum() == pytest.approx(sim.model.body_mass.sum(), rel=1e-4)


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        (
            {'world': world(objects=[cube([0.0, 0.0, 0.45])])},
            'two_module_arm/.* and cube overlap by .* mm in the start pose: move one',
        ),
        ({'time_step_s': 0.02}, 'time_step_s 0.02 s must be'),
        (
            {'robot': 'four_piece_finger', 'time_step_s': 0.005},
            'contact_time_s 0.004 s is less than two time steps, 0.01 s',
        ),
        (
            {'robot': changed('modal_bellows', damping_time_s=1e-4), 'time_step_s': 0.005},
            'Hz, is at joint .*stiffness .* mass of its link .* time step 0.005 s',
        ),
        (
            {'world': world(objects=[cube([0, 0, 2], name='two_module_arm')])},
            "'two_module_arm' is used twice",
        ),
        ({'world': world(loads=[{'robot': 'nobody'}])}, "robot 'nobody', which is not there"),
    ],
)
def test_what_cannot_be_simulated_is_named(given, words):
    with pytest.raises(PhysicsError, match=words):
        Simulation(**{'robot': 'two_module_arm', **given})


def test_an_assembly_without_self_contact_touches_only_what_surrounds_it():
    """Two fingers in one place: refused with self-contact; else they lie on the ground alone."""
    finger = {'robot': 'soft_finger', 'position_m': [0.0, 0.0, 0.03], 'rpy_deg': [0.0, 90.0, 0.0]}
    content = {
        'schema_version': 1,
        'name': 'twins',
        'description': 'Twins.',
        'robots': [{'name': name, **finger} for name in ('one', 'two')],
    }
    both = AssemblyFile.model_validate(content)
    with pytest.raises(PhysicsError, match='one/.* and two/.* overlap'):
        Simulation(make_assembly(both, Path()))
    alone = AssemblyFile.model_validate({**content, 'self_contact': False})
    sim = Simulation(make_assembly(alone, Path()), world(ground={}, gravity_m_s2=[0, 0, -90.0]))
    sim.step(1.0)
    touching = {(c.body_a, c.body_b.split('/')[0]) for c in sim.contacts()}
    assert touching == {('ground', 'one'), ('ground', 'two')}


@pytest.mark.parametrize(
    ('call', 'words'),
    [
        (lambda sim: sim.apply_load('hinged', 'tip', (np.nan, 0, 0)), 'force_n .*three finite'),
        (lambda sim: sim.apply_load('hinged', 3, (1, 0), (0, 0, 0)), 'force_n .*three finite'),
        (lambda sim: sim.apply_load('hinged', 3, torque_n_m='up'), 'torque_n_m .*three finite'),
        (lambda sim: sim.apply_load('hinged', 10), 'give `tip` or 0..9'),
        (lambda sim: sim.apply_load('hinged', 1.0), 'give `tip` or 0..9'),
        (lambda sim: sim.place('cube', (0.4, np.nan, 0)), 'position_m .*three finite'),
        (lambda sim: sim.place('cube', (0.4, 0, 0), (0, np.inf, 0)), 'rpy_deg .*three finite'),
        (lambda sim: sim.place('hinged/rod_3', (0.4, 0, 0)), 'is a part of a robot'),
        (lambda sim: sim.step(-1.0), 'dt_s -1.0 s'),
        (lambda sim: sim.step(np.nan), 'dt_s nan s'),
    ],
)
def test_bad_numbers_are_refused_and_leave_no_trace(call, words):
    sim = Simulation(hinged(), world(objects=[cube([0.4, 0.0, 0.0])]))
    with pytest.raises(PhysicsError, match=words):
        call(sim)
    sim.apply_load('hinged', np.int64(3), (0.01, 0.0, 0.0))
    sim.apply_load('hinged', 3, (0.0, 0.0, 0.0))  # the same place: it replaces the load
    sim.step(0.01)
    assert not sim.data.xfrc_applied.any() and np.isfinite(sim.data.qpos).all()


NOISY = Pneumatics.model_validate({'sensor': {'offset_std_pa': 0.0, 'noise_rms_pa': 100.0}})


def test_reset_begins_the_sensor_noise_again_and_copies_draw_their_own():
    sim = Simulation('two_module_arm', pneumatics=NOISY)
    first = [sim.robot.sensor_pressures_pa() for _ in range(2)]
    other = sim.copy()
    wanted = sim.robot.sensor_pressures_pa()
    assert other.robot.sensor_pressures_pa() == pytest.approx(wanted)
    sim.reset()
    np.testing.assert_array_equal([sim.robot.sensor_pressures_pa() for _ in range(2)], first)


def test_reset_restores_everything_in_place():
    sim = Simulation('soft_finger', world(objects=[cube([0.3, 0.0, 0.0], fixed=True)]))
    model, data, start = sim.model, sim.data, sim.robot.T_world_tip()
    sim.robot.actuate([c.high for c in sim.robot.coordinates])
    sim.place('cube', (0.4, 0.0, 0.0))
    sim.model.geom_friction[:] = 0.1
    other = sim.copy()
    sim.step(0.5)
    sim.reset()
    assert sim.model is model and sim.data is data and sim.time_s == 0.0
    np.testing.assert_array_equal(sim.robot.T_world_tip(), start)
    assert sim.pose('cube')[0, 3] == 0.3 and (sim.model.geom_friction[:, 0] > 0.1).all()
    sim.step(0.5)
    np.testing.assert_array_equal(sim.robot.T_world_tip()[:2, 3], start[:2, 3])
    assert other.pose('cube')[0, 3] == 0.4


def test_bellows_settle_with_critical_damping_at_the_same_place():
    sims = [Simulation('two_module_arm') for _ in range(2)]
    for sim, critical in zip(sims, (False, True), strict=True):
        sim.robot.actuate([40e3, 0, 0, 0, 30e3, 0])
        sim.settle(critical=critical)
    slow, fast = (sim.robot.T_world_tip()[:3, 3] for sim in sims)
    assert fast == pytest.approx(slow, abs=1e-4)


def test_a_simulation_that_diverges_says_where():
    sim = Simulation(hinged())
    sim.data.qvel[:] = 1e9
    with pytest.raises(PhysicsError, match='diverged at .* stiffness 0.5 N m/rad'):
        sim.step(0.1)
