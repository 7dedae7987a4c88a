"""Named chambers on numbered channels."""

import math

import numpy as np
import pytest

from pneumatic_driver.channels import ChannelMap
from pneumatic_driver.errors import CommandError
from soft_arm_description.robot import load_robot

ROBOT = load_robot('two_module_arm')
SWAPPED = ROBOT.model_copy(update={'channels': {name: 7 - i for i, name in enumerate(ROBOT.chambers)}})
VALUES = [1e3 * i for i in range(1, 7)]


def test_names_may_come_in_any_order_and_channels_without_a_chamber_stay_at_ambient():
    channels = ChannelMap(SWAPPED, 8)
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
        ChannelMap(ROBOT, 6).to_channels(names, pressures)


def test_robot_with_more_channels_than_the_board():
    with pytest.raises(CommandError, match=r'uses channel 7, the board has 0\.\.5'):
        ChannelMap(SWAPPED, 6)
