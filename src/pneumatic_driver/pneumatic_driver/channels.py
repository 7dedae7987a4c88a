"""Assignment of a robot's chambers to the channels of a board."""

from collections.abc import Sequence

import numpy as np

from pneumatic_driver.errors import CommandError
from soft_arm_description.robot import Robot


class ChannelMap:
    """Mapping from chambers, with their pressure limits, to channels.

    Args:
        robot: Robot with chambers, channels and limits.
        map_name: Name of the register map, for messages.
        channels: Number of channels of the board.

    Raises:
        RobotFileError: If the chambers do not fit on the channels.
    """

    def __init__(self, robot: Robot, map_name: str, channels: int):
        self.chambers = robot.chambers
        limits_pa = robot.pressure_limits_pa.T.tolist()
        self._limits_pa = dict(zip(robot.chambers, limits_pa, strict=True))
        self._indices = robot.channels_of(f'register map {map_name}', channels)
        self._channels = channels

    def to_channels(self, names: Sequence[str], pressures_pa: Sequence[float]) -> np.ndarray:
        """Return the set points by channel, shape (channels,) [Pa] gauge.

        Channels without a chamber are set to ambient pressure.

        Raises:
            CommandError: If the names are not exactly the robot's chambers, or a pressure is not
                finite or outside the chamber's limits.
        """
        if len(names) != len(pressures_pa):
            raise CommandError(
                f'{len(names)} names and {len(pressures_pa)} pressures: give one pressure for '
                'each name'
            )
        given, known = set(names), set(self.chambers)
        if given != known or len(names) != len(self.chambers):
            fault = 'a name is repeated'
            if missing := sorted(known - given):
                fault = f'no pressure for {missing[0]!r}'
            if unknown := sorted(given - known):
                fault = f'unknown chamber {unknown[0][:40]!r}'
            raise CommandError(f'{fault}: name each of {list(self.chambers)} once; nothing moves')
        given_pa = dict(zip(names, pressures_pa, strict=True))
        for name, pressure_pa in given_pa.items():
            low_pa, high_pa = self._limits_pa[name]
            if not low_pa <= pressure_pa <= high_pa:
                raise CommandError(
                    f'{name}: {pressure_pa:g} Pa is outside [{low_pa:g}, {high_pa:g}] Pa; nothing '
                    'moves'
                )
        targets_pa = np.zeros(self._channels)
        targets_pa[self._indices] = [given_pa[name] for name in self.chambers]
        return targets_pa

    def to_chambers(self, by_channel: np.ndarray) -> np.ndarray:
        """Reorder values by channel into the order of `chambers`."""
        return by_channel[self._indices]
