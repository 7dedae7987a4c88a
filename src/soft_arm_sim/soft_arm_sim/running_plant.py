"""Plant in real time: a thread steps it; the valve board's channels drive and read it."""

import threading
import time
from dataclasses import dataclass

import numpy as np

from soft_arm_physics.simulation import Simulation
from soft_arm_sim.devices.valve_board import LEAST_CHANNELS, MOST_CHANNELS
from soft_arm_sim.errors import SimulationError

PERIOD_S = 0.004
GIVE_UP_S = 0.1  # a longer delay is not caught up: the arm would jump


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
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name='plant', daemon=True)
        self._marks = (time.monotonic(), plant.time_s)

    def start(self) -> None:
        """Start stepping."""
        self._marks = (time.monotonic(), self._plant.time_s)
        self._thread.start()

    def stop(self, timeout_s: float = 2.0) -> None:
        """Stop stepping."""
        self._ending.set()
        self._thread.join(timeout_s)

    def snapshot(self) -> Snapshot:
        """Return the present state of the plant.

        Raises:
            SimulationError: If the plant's thread has ended, for example because the plant became
                unstable.
        """
        if not self._thread.is_alive():
            raise SimulationError('the plant does not run; its error is above')
        with self._lock:
            robot = self._plant.robot
            return Snapshot(robot.joint_positions(), robot.T_base_tip())

    def real_time_factor(self) -> float:
        """Return simulated time over wall time since the last call."""
        (wall_s, simulated_s), self._marks = self._marks, (time.monotonic(), self._plant.time_s)
        return (self._marks[1] - simulated_s) / max(self._marks[0] - wall_s, 1e-6)

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

    def _run(self) -> None:
        due_s = time.monotonic()
        while not self._ending.wait(max(due_s + PERIOD_S - time.monotonic(), 0.0)):
            due_s += PERIOD_S
            if time.monotonic() - due_s > GIVE_UP_S:
                due_s = time.monotonic()
            with self._lock:
                self._plant.step(PERIOD_S)
