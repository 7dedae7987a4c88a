"""Plant in real time: a thread steps it; the valve board's channels drive and read it."""

from dataclasses import dataclass

import numpy as np

from soft_arm_physics.simulation import Simulation
from soft_arm_sim.devices.valve_board import LEAST_CHANNELS, MOST_CHANNELS
from soft_arm_sim.errors import SimulationError
from soft_arm_sim.real_time import RealTimeStepper


@dataclass(frozen=True, eq=False)
class Snapshot:
    """State of the plant at one moment: joint positions (nq,) and T_base_tip (4, 4)."""

    qpos: np.ndarray
    T_base_tip: np.ndarray


class RunningPlant:
    """Steps a plant in real time between `start` and `stop`; every method is thread-safe.

    Args:
        plant: The arm to step; alone in its simulation.

    Attributes:
        channels: Number of the board's channels: 6, or as many more as the robot needs. Those
            without a chamber read ambient pressure.

    Raises:
        RobotFileError: If no valve board has a channel for each of the robot's chambers.
    """

    def __init__(self, plant: Simulation):
        self.channels = min(max(LEAST_CHANNELS, plant.robot.robot.least_channels), MOST_CHANNELS)
        self._channel_of_chamber = plant.robot.robot.channels_of(
            'register map valve_board', self.channels
        )
        self._plant = plant
        self._stepper = RealTimeStepper('plant', plant.step, lambda: plant.time_s)

    def start(self) -> None:
        """Start stepping."""
        self._stepper.start()

    def stop(self) -> None:
        """Stop stepping."""
        self._stepper.stop()

    def real_time_factor(self) -> float:
        """Return simulated time over wall time since the last call."""
        return self._stepper.real_time_factor()

    def snapshot(self) -> Snapshot:
        """Return the present state of the plant.

        Raises:
            SimulationError: If the plant's thread has ended, for example because the plant became
                unstable.
        """
        if not self._stepper.runs:
            raise SimulationError(f'the plant does not run: {self._stepper.error}')
        with self._stepper.lock:
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
