"""`softarm view` without a page: every shipped robot and assembly, tips against the models.

About 15 s; physics in real time is not waited for.
"""

import json
import threading

import numpy as np
import pytest

from soft_arm_description import shipped_assemblies, shipped_robots
from soft_arm_description.assembly import as_assembly
from soft_arm_kinematics import make_arm
from soft_arm_physics import PhysicsError, Simulation
from soft_arm_twin.controls import Button, Choice, Point, Slider, Switch
from soft_arm_twin.parts.bodies import pose
from soft_arm_twin.view.aim import Aim
from soft_arm_twin.view.engine import Engine
from soft_arm_twin.view.source import ViewSource, default_world
from soft_arm_twin.view.units import step
from twin_testing import drawn

SHIPPED = sorted({*shipped_robots(), *shipped_assemblies()})


LIMIT_S = 300.0  # something may be compiled first, on a busy machine


def until(is_so):
    """Wait in steps for what another thread does."""
    pause = threading.Event()
    for _ in range(int(LIMIT_S / 0.02)):
        if is_so():
            return
        pause.wait(0.02)
    pytest.fail(f'it did not happen within {LIMIT_S:g} s')


@pytest.fixture
def view():
    """Views that end with the test."""
    opened = []

    def open_view(*arguments, **named):
        opened.append(ViewSource(*arguments, **named))
        opened[-1].start()
        return opened[-1]

    yield open_view
    for source in opened:
        source.stop()


def control(source, name):
    return next(c for c in source.panel().controls if c.name == name)


def part_vertices(source, name):
    """Vertices of a part as the page draws them, (n, 3)."""
    part = next(p for p in source.scene().parts if p.name == name)
    return drawn(part, source.snapshot().frames.astype(float))


@pytest.mark.parametrize('name', SHIPPED)
def test_every_shipped_file_is_drawn_and_each_control_takes_its_own_value(name):
    source = ViewSource(name, mode='kinematics')
    scene, snapshot, panel = source.scene(), source.snapshot(), source.panel()
    assert snapshot.frames.shape == (scene.n_frames, 3, 4)
    assert np.isfinite(snapshot.frames).all()
    drawn = {p.name.split(' ')[0] for p in scene.parts}
    assert {robot.name for robot in source.assembly.robots} <= drawn
    assert {body.name for body in source.assembly.bodies} <= drawn
    sliders = [c for c in panel.controls if isinstance(c, Slider)]
    assert len(sliders) >= len(source.assembly.robots)
    for c in panel.controls:
        assert not c.needs_control
        if isinstance(c, (Slider, Choice, Switch)):
            assert c.checked(c.value) == c.value
        elif isinstance(c, Point):
            assert c.checked(list(c.value_m)) == c.value_m
        else:
            assert isinstance(c, Button)
    source.stop()


@pytest.mark.parametrize('name', ['two_module_arm', 'hand', 'squid'])
def test_the_kinematic_tip_is_that_of_the_library(name, view):
    source = view(name, mode='kinematics')
    random = np.random.default_rng(8)
    for c in source.panel().controls:
        if isinstance(c, Slider):
            value = c.low + random.uniform(0.2, 0.8) * (c.high - c.low)
            assert source.command(c.name, value, False).accepted
    until(lambda: source.engine._values is source.engine.values)
    moment = source.engine._kinematic_moment()
    for mounted in source.assembly.robots:
        if source.engine.robots[mounted.name].planes:
            continue
        viewed = source.engine.robots[mounted.name]
        arm = make_arm(mounted.robot)
        T_base_tip = arm.at(viewed.q(source.engine.values[mounted.name])).tip_pose
        T = moment.T_world_base[mounted.name] @ T_base_tip
        np.testing.assert_allclose(moment.T_world_tip[mounted.name], T, atol=1e-9)


def test_a_forced_plane_turns_a_piece_of_the_finger_out_of_it(view):
    source = view('four_piece_finger', mode='kinematics')
    source.command('four_piece_finger.finger', 100.0, False)
    for piece, phi_deg in enumerate([12.0, 8.8, 6.0, 3.3], start=1):
        source.command(f'four_piece_finger.piece_{piece}_phi', phi_deg, False)
    until(lambda: abs(source.engine.moment.T_world_tip['four_piece_finger'][1, 3]) > 1e-4)
    robot, poses = source.engine.robots['four_piece_finger'].section_poses(
        source.engine.values['four_piece_finger']
    )
    np.testing.assert_allclose([s.phi_deg for s in robot.segments], [12.0, 8.8, 6.0, 3.3])
    np.testing.assert_allclose(
        poses[-1], make_arm(robot).at(np.array([100e3])).tip_pose, atol=1e-12
    )


def test_the_physical_tip_is_that_of_the_simulation(view):
    source = view('two_module_arm')
    until(lambda: source.engine.moment.mode == 'physics')
    source.command('two_module_arm.m2_b1', 50.0, False)
    until(lambda: source.engine.moment.time_s > 0.3)
    source.engine.stop()
    moment, simulation = source.engine.moment, source.engine.physics.simulation
    np.testing.assert_allclose(
        moment.T_world_tip['two_module_arm'], simulation.robot.T_world_tip(), atol=1e-9
    )
    reference = Simulation('two_module_arm')
    reference.robot.actuate([0.0] * 3 + [50e3, 0.0, 0.0])
    reference.settle()
    simulation.settle()
    tip_m = source.engine._physical_moment(False).T_world_tip['two_module_arm'][:3, 3]
    assert np.linalg.norm(tip_m - reference.robot.T_world_tip()[:3, 3]) < 1e-5
    ring = part_vertices(source, 'two_module_arm ring').mean(axis=0)
    shown_tip_m = moment.T_world_tip['two_module_arm'][:3, 3]
    assert np.linalg.norm(ring - shown_tip_m) < 1e-4


def test_a_simulation_that_diverges_is_reported_and_starts_again_after_a_reset(view, monkeypatch):
    source = view('soft_finger')
    until(lambda: source.engine.moment.time_s > 0.1)
    simulation = source.engine.physics.simulation

    def diverge(dt_s):
        raise PhysicsError('the simulation diverged at 1.000 s: a torque of finger')

    monkeypatch.setattr(simulation, 'step', diverge)
    until(lambda: source.engine.physics.failed)
    error = next(d for d in source.panel().diagnostics if d.level == 'error')
    assert 'diverged' in error.text and error.remedy == 'press Reset'
    assert any(e.level == 'error' and 'diverged' in e.text for e in source.panel().events)
    monkeypatch.undo()
    source.command('reset', None, False)
    until(lambda: not source.engine.physics.failed and 0 < source.engine.moment.time_s < 5)
    assert np.isfinite(source.snapshot().frames).all()


def test_the_tip_follows_the_target_and_the_best_solution_is_explained(view):
    source = view('two_module_arm', mode='kinematics')
    start_m = source.engine.moment.T_world_tip['two_module_arm'][:3, 3]
    target_m = tuple(start_m + [0.03, -0.02, -0.02])
    assert source.command('target', target_m, False).accepted
    until(lambda: source.answer is not None)
    until(
        lambda: np.allclose(
            source.engine.moment.T_world_tip['two_module_arm'][:3, 3], target_m, atol=1e-5
        )
    )
    lines = next(t.lines for t in source.panel().texts if t.title == 'Why this solution')
    assert lines[1].startswith('Best: ') and 'angle change' in lines[1] and 'Bends' in lines[1]
    assert 'The best beats rival 1 by' in lines[2]
    scores = [s.score for s in source.answer.solutions]
    assert scores == sorted(scores)
    # each ghost ends at the target
    for k in range(len(source.answer.drawn)):
        name = 'best solution' if k == 0 else f'rival {k}'
        end_m = part_vertices(source, f'{name} module_2')[-1]
        assert np.linalg.norm(end_m - target_m) < 5e-3
    source.command('follow', False, False)
    rival = control(source, 'solution').options[-1]
    assert source.command('solution', rival, False).accepted
    assert source.command('move', None, False).accepted
    wanted_pa = source.answer.solutions[-1].pressures_pa
    given_pa = list(source.engine.values['two_module_arm'].values())
    np.testing.assert_allclose(given_pa, wanted_pa, atol=1.0)


def test_a_target_out_of_reach_names_the_nearest_point(view):
    source = view('snake_body', mode='kinematics')
    source.command('target', (0.1, 0.1, 0.2), False)
    until(lambda: source.answer is not None)
    assert 'outside the workspace' in source.answer.lines[0]
    cube_m = part_vertices(source, 'nearest reachable point').mean(axis=0)
    T = source.engine.moment.T_world_base['snake_body']
    nearest_m = T[:3, :3] @ source.answer.result.nearest_m + T[:3, 3]
    np.testing.assert_allclose(cube_m, nearest_m, atol=1e-6)
    assert not source.command('move', None, False).accepted


def test_the_pose_is_saved_with_units(view):
    source = view('hand', mode='kinematics')
    source.command('finger_1.finger_grasp', 20.0, False)
    answer = source.command('pose', None, False)
    assert answer.file_name == 'hand_pose.json'
    saved = json.loads(answer.file_text)
    assert saved['robots']['finger_1']['actuation']['finger_grasp'] == {
        'value': pytest.approx(0.02),
        'unit': 'N m',
    }
    assert set(saved['robots']) == {'finger_1', 'finger_2', 'finger_3'}


def test_the_workspace_is_drawn_where_the_tip_reaches(view):
    source = view('two_module_arm', mode='kinematics')
    before = source.scene()
    source.command('show_workspace', True, False)
    until(lambda: source.scene() is not before)
    points_m = np.concatenate([part_vertices(source, f'workspace {k}') for k in range(1, 7)])
    arm = source.engine.robots['two_module_arm'].arm
    longest_m = arm.q_limits[1, 0] * 2 + sum(s.rigid_length_m for s in arm.robot.segments)
    assert len(points_m) > 1000
    base_m = source.engine.moment.T_world_base['two_module_arm'][:3, 3]
    assert np.linalg.norm(points_m - base_m, axis=1).max() < longest_m


def test_what_could_fall_stands_on_a_floor():
    assert default_world(as_assembly('snake')) == 'floor'
    assert default_world(as_assembly('squid')) == 'empty'
    assert default_world(as_assembly('two_module_arm')) == 'empty'


def test_a_robot_stands_on_the_tip_of_another():
    squid = as_assembly('squid')
    engine = Engine(squid, ViewSource('squid', mode='kinematics').world, 'kinematics', print)
    body = squid.bodies[0]
    T = pose(body.position_m, body.rpy_deg)
    for mounted in squid.robots:
        wanted = T @ pose(mounted.position_m, mounted.rpy_deg)
        np.testing.assert_allclose(engine.moment.T_world_base[mounted.name], wanted, atol=1e-12)


def test_the_newest_request_is_answered_last():
    robots = ViewSource('squid_camera', mode='kinematics').engine.robots
    found, go = [], threading.Event()
    aim = Aim(robots, found.append, go)
    arm = robots['squid_camera'].arm
    tip_m = arm.at(arm.q_limits.mean(axis=0) + [0.3, 0.2, 0.0]).tip_m
    for share in (0.90, 0.95, 1.0):
        aim.ask('squid_camera', tip_m * share, arm.rest_q)
    go.set()
    until(lambda: found and np.allclose(found[-1].target_m, tip_m))
    aim.stop()


@pytest.mark.parametrize(('low', 'high'), [(-96.0, 96.0), (580, 600)])
def test_a_step_is_round_and_fine_enough(low, high):
    found = step(low, high)
    assert 100 < (high - low) / found < 500
    assert f'{found:.0e}'[0] in '125'
