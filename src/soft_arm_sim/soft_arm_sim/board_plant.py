"""Plant at the valves and sensors of a valve board: pressures by the board's channels."""

from dataclasses import dataclass

import numpy as np

from soft_arm_physics.simulation import Simulation
from soft_arm_sim.devices.valve_board import MAX_CHANNELS, MIN_CHANNELS
from soft_arm_sim.real_time import RealTimeSimulation


@dataclass(frozen=True, eq=False)
class Snapshot:
    """State of the plant at one moment: joint positions (nq,) and T_base_tip (4, 4)."""

    qpos: np.ndarray
    T_base_tip: np.ndarray


class BoardPlant:
    """Plant driven and measured by a `ValveBoard`.

    Args:
        plant: The arm; alone in its simulation.

    Attributes:
        channels: Number of the board's channels: 6, or as many more as the robot needs. Those
            without a chamber read ambient pressure.

    Raises:
        RobotFileError: If no valve board has a channel for each of the robot's chambers.
    """

    def __init__(self, plant: Simulation):
        self.channels = min(max(MIN_CHANNELS, plant.robot.robot.least_channels), MAX_CHANNELS)
        self._channel_of_chamber = plant.robot.robot.channels_of(
            'register map valve_board', self.channels
        )
        self._plant = plant

    def snapshot(self) -> Snapshot:
        """Return the present state of the plant."""
        robot = self._plant.robot
        return Snapshot(robot.joint_positions(), robot.T_base_tip())

    def set_valve_targets_pa(self, targets_pa: np.ndarray) -> None:
        """Set the pressures commanded to the board's valves [Pa] gauge, by channel.

        Valves hold them at the limits of the robot file.
        """
        robot = self._plant.robot
        robot.actuate(robot.clip(np.asarray(targets_pa)[self._channel_of_chamber]))

    def sensor_pressures_pa(self) -> np.ndarray:
        """Return the pressures read by the board's sensors [Pa] gauge, by channel."""
        pressures = np.zeros(self.channels)
        pressures[self._channel_of_chamber] = self._plant.robot.sensor_pressures_pa()
        return pressures


class RunningPlant(BoardPlant, RealTimeSimulation):
    """Plant in real time.

    `snapshot` may be called from any thread. `set_valve_targets_pa` and `sensor_pressures_pa`
    belong to the board's thread: they do not wait for a step, which may see the new targets of
    some chambers and the earlier ones of others.
    """

    def __init__(self, plant: Simulation):
        BoardPlant.__init__(self, plant)
        RealTimeSimulation.__init__(self, plant)

    def snapshot(self) -> Snapshot:
        """Return the present state of the plant; see `check` for errors."""
        self.check()
        with self.lock:
            return super().snapshot()
