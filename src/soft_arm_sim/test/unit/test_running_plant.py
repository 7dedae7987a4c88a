import threading
import time

import numpy as np
import pytest

from soft_arm_description.robot import Robot, RobotFileError, load_robot
from soft_arm_physics import Pneumatics, Simulation, load_pneumatics
from soft_arm_sim.board_plant import RunningPlant
from soft_arm_sim.devices.valve_board import ValveBoard
from soft_arm_sim.errors import SimulationError

pytestmark = pytest.mark.steady_clock

VALVE = load_pneumatics('two_module_arm').valve
IDEAL = Pneumatics(valve=VALVE.model_copy(update={'gain_std': 0.0, 'offset_std_pa': 0.0}))


def until(condition, limit_s=20.0):
    deadline, pause = time.monotonic() + limit_s, threading.Event()
    while not condition() and time.monotonic() < deadline:
        pause.wait(0.01)
    assert condition()


@pytest.fixture
def running():
    robot = load_robot('two_module_arm')
    channels = dict(zip(robot.chambers, (5, 3, 4, 0, 2, 1), strict=True))
    plant = RunningPlant(
        Simulation(robot.model_copy(update={'channels': channels}), pneumatics=IDEAL)
    )
    plant.start()
    yield plant
    plant.stop()


def test_channels_are_the_robot_files(running):
    asked = np.array([1e3, 2e3, 3e3, 4e3, 5e3, 6e3])
    running.set_valve_targets_pa(asked)
    until(lambda: np.abs(running.sensor_pressures_pa() - asked).max() < 10)
    assert running._plant.robot.pressures_pa == pytest.approx(asked[[5, 3, 4, 0, 2, 1]], abs=15)


def modules(count: int, channels: tuple[int, ...] = ()) -> Robot:
    """The shipped robot with another number of its modules."""
    content = load_robot('two_module_arm').model_dump()
    first, content['segments'] = content['segments'][0], []
    for k in range(count):
        names = [f'm{k}_b{i}' for i in range(3)]
        content['segments'].append(
            {**first, 'name': f'm{k}', 'actuators': {**first['actuators'], 'names': names}}
        )
    content['channels'] = dict(
        zip(
            [name for s in content['segments'] for name in s['actuators']['names']],
            channels,
            strict=False,
        )
    )
    return Robot.model_validate(content)


def test_an_arm_of_one_module_leaves_the_other_channels_at_ambient():
    running = RunningPlant(Simulation(modules(1, (1, 0, 4)), pneumatics=IDEAL))
    board = ValveBoard(running)
    running.set_valve_targets_pa(np.array([1e3, 2e3, 3e3, 4e3, 5e3, 6e3]))
    running._plant.settle()
    assert running.sensor_pressures_pa() == pytest.approx([1e3, 2e3, 0, 0, 5e3, 0], abs=15)
    board.tick(0.005)
    assert isinstance(board.logic.read(0, 19), list) and len(board.logic.read(0, 19)) == 19


def test_a_larger_arm_gets_a_larger_board():
    running = RunningPlant(Simulation(modules(3, (8, 0, 1, 2, 3, 4, 5, 6, 7)), pneumatics=IDEAL))
    board = ValveBoard(running, channels=running.channels)
    assert running.channels == 9
    running.set_valve_targets_pa(1e3 * np.arange(9))
    running._plant.settle()
    board.tick(0.005)
    assert board.logic.read(0, 9) == pytest.approx(100 * np.arange(9), abs=2)
    assert board.logic.read(25, 1) == [0x5B09]


@pytest.mark.parametrize(
    ('robot', 'words'),
    [
        (
            modules(5, tuple(range(15))),
            "'two_module_arm' has 15 chambers, register map valve_board has 14 channels: "
            'it needs a device with more',
        ),
        (
            modules(1, (4, 5, 14)),
            'uses channel 14, register map valve_board has 14 channels, 0 to 13: correct '
            '`channels` in the robot file',
        ),
        (modules(2), 'does not say which channel each chamber hangs on'),
    ],
)
def test_an_arm_that_does_not_fit_the_board_is_refused_when_it_starts(robot, words):
    with pytest.raises(RobotFileError, match=words):
        RunningPlant(Simulation(robot, pneumatics=IDEAL))


def test_it_runs_with_the_wall_clock(running):
    running.real_time_factor()
    start_s = running._plant.time_s
    until(lambda: running._plant.time_s > start_s + 0.5)
    assert 0.2 < running.real_time_factor() < 1.1


def test_snapshot_belongs_to_one_moment(running):
    running.set_valve_targets_pa(np.array([96e3, -96e3, 0, 0, 96e3, -96e3]))
    snapshot = running.snapshot()
    until(
        lambda: (
            np.linalg.norm(running.snapshot().T_base_tip[:3, 3] - snapshot.T_base_tip[:3, 3]) > 5e-3
        )
    )
    assert np.abs(running.snapshot().qpos - snapshot.qpos).max() > 0.01


def test_a_stopped_plant_gives_no_snapshot(running):
    running.stop()
    with pytest.raises(SimulationError, match='does not run'):
        running.snapshot()
    assert not [t for t in threading.enumerate() if t.name == 'simulation']
