"""Environments: Gymnasium's own check, determinism, and many at a time as each alone."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from soft_arm_description import load_world
from soft_arm_physics import (
    Camera,
    PhysicsError,
    Pneumatics,
    RobotEnvironment,
    RobotVectorEnvironment,
    Simulation,
)

FLOOR = load_world('floor')
CUBE = {
    'name': 'cube',
    'shape': 'box',
    'size_m': (0.04, 0.04, 0.04),
    'mass_kg': 0.03,
    'position_m': (0.3, 0.0, 0.0205),
}


def reach(sim):
    return -abs(sim.robot.T_world_tip()[0, 3] - 0.03)


def bent(sim):
    return bool(sim.robot.T_world_tip()[2, 3] < 0.05)


def place_cube(sim, random):
    sim.place('cube', (0.3 + 0.1 * random.random(), 0.0, 0.0205))


def make(**changes):
    return RobotEnvironment('soft_finger', **({'reward': reach, 'limit_s': 0.5} | changes))


def make_with_cube():
    world = type(FLOOR).model_validate(FLOOR.model_dump() | {'objects': [CUBE]})
    robot = 'hand'
    return RobotEnvironment(
        Simulation(robot, world.model_copy(update={'ground': None})),
        reward=lambda sim: float(sim.pose('cube')[2, 3]),
        begin=place_cube,
        limit_s=0.3,
        render_mode='rgb_array',
    )


def test_integers_of_numpy_are_seeds():
    one, many = make_with_cube(), RobotVectorEnvironment(make_with_cube, 2)
    expected = [one.reset(seed=seed)[0] for seed in (3, 4)]
    np.testing.assert_array_equal(one.reset(seed=np.int64(3))[0], expected[0])
    for seeds in (np.uint32(3), np.array([3, 4]), [np.int64(3), 4]):
        np.testing.assert_array_equal(many.reset(seed=seeds)[0], expected)
    many.close()


@pytest.mark.parametrize('maker', [make, make_with_cube])
def test_it_passes_the_check_of_gymnasium(maker):
    environment = maker()
    with warnings.catch_warnings():
        warnings.filterwarnings('ignore', message='.*(infinity|spec|symmetric).*')
        check_env(environment, skip_render_check=True)
    environment.close()


def test_spaces_follow_robot_and_world():
    environment = make_with_cube()
    robots = environment.simulation.robots.values()
    joints = sum(len(robot.joint_positions()) for robot in robots)
    assert environment.observation_space.shape == (2 * joints + 3 * 3 + 13,)
    assert environment.action_space.shape == (6,)
    finger = next(iter(robots)).coordinates
    np.testing.assert_array_equal(environment.action_space.high[:2], [c.high for c in finger])
    observation, _ = environment.reset(seed=5)
    assert 0.3 < observation[-13] < 0.4
    np.testing.assert_allclose(observation[-10:-6], [0, 0, 0, 1], atol=1e-12)  # x, y, z, w


def test_pressures_that_lag_are_observed():
    pneumatics = Pneumatics.model_validate(
        {'valve': {'lag_s': 0.2, 'rate_limit_pa_s': 1e6, 'gain_std': 0.0, 'offset_std_pa': 0.0}}
    )
    lagging, direct = (
        RobotEnvironment(Simulation('two_module_arm', pneumatics=p), reward=lambda sim: 0.0)
        for p in (pneumatics, None)
    )
    assert lagging.observation_space.shape[0] == direct.observation_space.shape[0] + 6
    lagging.reset()
    observation = lagging.step(np.full(6, 20e3))[0]
    np.testing.assert_array_equal(observation[-6:], lagging.simulation.robot.pressures_pa)
    assert 1e3 < observation[-1] < 10e3


def test_an_episode_ends_by_the_state_and_is_cut_off_by_the_clock():
    environment = make(ends=bent, limit_s=3.0, step_s=0.02)
    environment.reset()
    high = environment.action_space.high * [1.0, 0.0]
    ended = [environment.step(high)[2:4] for _ in range(20)]
    assert ended[0] == (False, False) and ended[-1] == (True, False)
    environment = make(limit_s=0.2, step_s=0.1)
    environment.reset()
    assert [environment.step(0 * high)[3] for _ in range(2)] == [False, True]


def test_actions_outside_the_limits_are_refused():
    environment = make()
    environment.reset()
    with pytest.raises(PhysicsError, match='outside'):
        environment.step(2.0 * environment.action_space.high)
    scaled = gymnasium.wrappers.RescaleAction(environment, -1.0, 1.0)
    scaled.reset()
    scaled.step(np.array([1.0, -1.0]))


def test_many_at_a_time_are_each_as_alone():
    many = RobotVectorEnvironment(make, 3)
    alone = make()
    random = np.random.default_rng(3)
    actions = random.uniform(
        many.single_action_space.low, many.single_action_space.high, (14, 3, 2)
    )
    many.reset(seed=1)
    found = [many.step(action) for action in actions]
    for i in range(3):
        observation, _ = alone.reset(seed=1 + i)
        over = False
        for step in range(14):  # limit_s is ten steps: the eleventh resets
            if over:
                observation, reward, cut_off = alone.reset()[0], 0.0, False
            else:
                observation, reward, _, cut_off, _ = alone.step(actions[step, i])
            np.testing.assert_array_equal(found[step][0][i], observation)
            assert found[step][1][i] == reward and found[step][3][i] == cut_off
            over = cut_off
    assert found[9][3].all() and not found[10][3].any()
    assert many.observation_space.contains(found[0][0])
    many.close()


def test_a_picture_shows_the_robot():
    environment = make(render_mode='rgb_array')
    environment.reset()
    picture = environment.render()
    assert picture.shape == (480, 640, 3) and picture.std() > 10.0
    environment.close()
    assert make().render() is None
    with pytest.raises(PhysicsError, match='rgb_array'):
        make(render_mode='human')


def test_closing_a_camera_leaves_the_pictures_of_another():
    kept, other = Camera(Simulation('soft_finger')), Camera(Simulation('soft_finger'))
    pictures = [other.picture(), kept.picture()]
    other.close()
    np.testing.assert_array_equal(kept.picture(), pictures[1])
    kept.close()


def test_arguments_that_contradict_are_refused():
    with pytest.raises(PhysicsError, match='greater than 0'):
        make(step_s=0.0)
    with pytest.raises(PhysicsError, match='has its own'):
        RobotEnvironment(Simulation('soft_finger'), 'floor', reward=reach)
