import threading
import time

import numpy as np
import pytest

from soft_arm_description.assembly import load_assembly
from soft_arm_description.world import World, load_world
from soft_arm_kinematics.arm import Arm
from soft_arm_physics import PhysicsError
from soft_arm_sim.errors import SimulationError
from soft_arm_sim.running_simulation import RunningSimulation
from soft_arm_sim.simulated_frames import SimulatedFrames

pytestmark = pytest.mark.steady_clock

SQUID = load_assembly('squid')


@pytest.fixture(scope='module')
def squid():
    """The squid's limbs, which nobody steps."""
    return RunningSimulation(SQUID, load_world('empty'))


def bent(view, robots, arcs):
    """Positions at which the limbs have these arcs exactly."""
    positions = view.data.qpos.copy()
    for name, robot in robots.items():
        for segment in robot.segments:
            theta, phi, ell = arcs.get(segment.name, (0.0, 0.0, segment.natural_length_m))
            joints = theta * np.cos(phi), theta * np.sin(phi), ell - segment.natural_length_m
            for i in range(segment.sections):
                for joint, value in zip(('x', 'y', 'slide'), joints, strict=True):
                    place = view.model.joint(f'{name}/{segment.name}_{joint}_{i}').qposadr[0]
                    positions[place] = value / segment.sections
    return positions


def test_frames_and_joints_are_those_of_the_kinematics(squid):
    arcs = {'camera_1': (0.8, 0.5, 0.59), 'grasper_1': (0.5, 0.2, 0.295), 'grasper_2': (1, 2, 0.3)}
    view = squid.view()
    frames = SimulatedFrames(view, SQUID, squid.robots)
    frames.move(bent(view, squid.robots, arcs))
    still = {child: (parent, T) for parent, child, T in frames.still_frames()}
    assert still['squid_camera_base_link'][0] == 'squid_body'
    assert still['squid_camera_base_link'][1][:3, 3] == pytest.approx([0.0, 0.05, 0.61])
    moving = {child: T for _, child, T in frames.moving_frames()}
    camera = Arm(squid.robots['camera']).at(np.array(arcs['camera_1'])).tip_pose
    grasper = (
        Arm(squid.robots['grasper']).at(np.array(arcs['grasper_1'] + arcs['grasper_2'])).tip_pose
    )
    assert moving['squid_camera_frame'] == pytest.approx(camera, abs=1e-3)
    assert moving['squid_grasper_grasper_2_tip'] == pytest.approx(grasper, abs=2e-3)
    values = dict(zip(frames.joint_names, frames.joint_values(), strict=True))
    assert values['squid_camera_camera_1_000_turn'] == pytest.approx(0.5, abs=0.01)
    assert values['squid_camera_camera_1_004_bend'] == pytest.approx(0.08, abs=1e-3)


def test_objects_of_the_world_have_frames_and_those_that_are_free_move():
    things = [
        {'name': 'stone', 'shape': 'sphere', 'size_m': [0.05], 'mass_kg': 1.0},
        {'name': 'post', 'shape': 'box', 'size_m': [0.1, 0.1, 0.1], 'fixed': True},
    ]
    places = {'stone': [0.0, 0.8, 1.0], 'post': [0.9, 0.0, 1.0]}
    objects = [thing | {'position_m': places[thing['name']]} for thing in things]
    world = World.model_validate(load_world('empty').model_dump() | {'objects': objects})
    running = RunningSimulation(SQUID, world)
    frames = SimulatedFrames(running.view(), SQUID, running.robots)
    running._simulation.step(0.1)
    frames.move(running._simulation.data.qpos)
    found = {child: (parent, T) for parent, child, T in frames.moving_frames()}
    still = {child: T for _, child, T in frames.still_frames()}
    parent, T = found['squid_stone']
    assert parent == 'world'
    assert T[:3, 3] == pytest.approx([0.0, 0.8, 1.0 - 0.5 * 9.81 * 0.1**2], abs=2e-3)
    assert still['squid_post'][:3, 3] == pytest.approx(places['post'])
    assert not set(found) & set(still)


@pytest.mark.parametrize(
    ('arcs', 'word'),
    [
        ([('light_1', 0.3, 0.0, 0.6), ('camera_1', 3.0, 0.0, 0.6)], 'camera_1_theta'),
        ([('light_1', 0.3, 0.0, 0.6), ('camera_1', np.nan, 0.0, 0.6)], 'nan'),
        ([('light_1', 0.3, 0.0, 0.6), ('tail', 0.0, 0.0, 0.6)], "'tail'.*grasper_1"),
    ],
)
def test_a_command_that_is_refused_changes_nothing(squid, arcs, word):
    before = squid._simulation.state.sources.copy()
    with pytest.raises(PhysicsError, match=word):
        squid.bend(arcs)
    assert squid._simulation.state.sources.tolist() == before.tolist()


def test_it_runs_with_the_wall_clock():
    running = RunningSimulation(SQUID, load_world('squid_sea'))
    with pytest.raises(SimulationError, match='does not run'):
        running.positions()
    running.start()
    try:
        running.real_time_factor()
        running.bend([('camera_1', 1.2, np.pi / 2, 0.6)])
        start, pause = running.positions(), threading.Event()
        deadline = time.monotonic() + 20.0
        while np.abs(running.positions() - start).max() < 0.05 and time.monotonic() < deadline:
            pause.wait(0.05)
        assert np.abs(running.positions() - start).max() >= 0.05
        assert 0.1 < running.real_time_factor() < 1.2
    finally:
        running.stop()


def test_a_limb_stops_at_an_obstacle():
    free = RunningSimulation(SQUID, load_world('sea'))
    stone = {'name': 'stone', 'shape': 'sphere', 'size_m': [0.08], 'fixed': True}
    world = load_world('sea').model_dump() | {'objects': [stone | {'position_m': [0.0, 0.2, 0.95]}]}
    stopped = RunningSimulation(SQUID, World.model_validate(world))
    for running in (free, stopped):
        running.bend([('camera_1', 1.2, np.pi / 2, 0.6)])
        running._simulation.step(3.0)
    assert free.contacts() == (0, 0.0)
    contacts, largest_n = stopped.contacts()
    assert contacts > 0 and largest_n > 0.01
    tips_m = [r._simulation.robots['camera'].T_world_tip()[1, 3] for r in (free, stopped)]
    assert tips_m[1] < tips_m[0] - 0.05


def test_fingers_are_driven_by_torques():
    running = RunningSimulation(load_assembly('hand'), load_world('floor'))
    names = [c.name for c in running._simulation.robots['finger_1'].coordinates]
    high = running._simulation.robots['finger_1'].coordinates[0].high
    before_m = running._simulation.robots['finger_1'].T_base_tip()[:3, 3]
    running.drive('finger_1', {names[0]: high / 2})
    running._simulation.step(0.3)
    tip_m = running._simulation.robots['finger_1'].T_base_tip()[:3, 3]
    assert np.linalg.norm(tip_m - before_m) > 1e-3
    for values, word in (({'tail': 0.0}, "'tail'"), ({names[0]: 2 * high}, names[0])):
        with pytest.raises(PhysicsError, match=word):
            running.drive('finger_1', values)
