"""Named chambers on numbered channels."""

import math

import numpy as np
import pytest

from pneumatic_driver.channels import ChannelMap
from pneumatic_driver.errors import CommandError
from soft_arm_description.robot import Robot, RobotFileError, load_robot

ROBOT = load_robot('two_module_arm')
SWAPPED = ROBOT.model_copy(
    update={'channels': {name: 7 - i for i, name in enumerate(ROBOT.chambers)}}
)
VALUES = [1e3 * i for i in range(1, 7)]


def test_names_may_come_in_any_order_and_channels_without_a_chamber_stay_at_ambient():
    channels = ChannelMap(SWAPPED, 'board', 8)
    targets_pa = channels.to_channels(ROBOT.chambers[::-1], VALUES[::-1])
    np.testing.assert_array_equal(targets_pa, [0, 0, *VALUES[::-1]])
    np.testing.assert_array_equal(channels.to_chambers(targets_pa), VALUES)


@pytest.mark.parametrize(
    ('names', 'pressures', 'words'),
    [
        (['m9_b1', *ROBOT.chambers[1:]], VALUES, "unknown chamber 'm9_b1'"),
        (ROBOT.chambers[1:], VALUES[1:], "no pressure for 'm1_b1'"),
        ([*ROBOT.chambers, 'm1_b1'], [*VALUES, 0.0], 'a name is repeated'),
        (ROBOT.chambers, VALUES[1:], '6 names and 5 pressures'),
        ([], [], "no pressure for 'm1_b1'"),
        (ROBOT.chambers, [*VALUES[1:], 96.1e3], r'm2_b3: 96100 Pa is outside \[-96000, 96000\] Pa'),
        (ROBOT.chambers, [math.nan, *VALUES[1:]], 'm1_b1: nan Pa is outside'),
        (ROBOT.chambers, [-math.inf, *VALUES[1:]], 'm1_b1: -inf Pa is outside'),
    ],
)
def test_wrong_commands_are_refused(names, pressures, words):
    with pytest.raises(CommandError, match=words):
        ChannelMap(ROBOT, 'board', 6).to_channels(names, pressures)


def renamed(modules):
    """A robot of so many modules, three chambers each, without channels."""
    content = ROBOT.model_dump()
    first, content['channels'], content['ring'] = content['segments'][0], {}, None
    content['segments'] = []
    for k in range(modules):
        names = [f'm{k}_b{i}' for i in range(3)]
        content['segments'].append(
            {**first, 'name': f'm{k}', 'actuators': {**first['actuators'], 'names': names}}
        )
    return Robot.model_validate(content)


@pytest.mark.parametrize(
    ('robot', 'words'),
    [
        (SWAPPED, 'uses channel 7, register map board has 6 channels, 0 to 5: correct `channels`'),
        (renamed(3), 'has 9 chambers, register map board has 6 channels: it needs a device with'),
        (renamed(2), 'register map board has 6 channels: add `channels`'),
    ],
)
def test_a_robot_that_does_not_fit_the_board_is_refused_with_the_remedy(robot, words):
    with pytest.raises(RobotFileError, match=words):
        ChannelMap(robot, 'board', 6)
