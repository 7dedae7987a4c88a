"""Plant and valve board, advanced together in simulated time; no thread, no ROS."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from soft_arm_physics.simulation import Simulation
from soft_arm_sim.board_plant import BoardPlant, Snapshot
from soft_arm_sim.delays import Delays
from soft_arm_sim.devices.valve_board import BoardLoop

TICK_S = 0.010  # grid of simulated time
PASSES = 2  # of the board's loop in one tick
_SLACK_S = 1e-9  # of sums of floating-point times


@dataclass(frozen=True, eq=False)
class Exposure:
    """One image, before it is rendered.

    Attributes:
        stamp_s: Time of the exposure [s].
        qpos: Joint positions of the plant then, as `VirtualCamera.capture` takes them, (nq,).
        T_base_tip: Pose of the tip then, (4, 4).
    """

    stamp_s: float
    qpos: np.ndarray
    T_base_tip: np.ndarray


class SteppedRig:
    """Arm behind a valve board and before a camera, with the delays of its devices.

    The board's loop passes every 5 ms, and its drives reach the valves at the first pass at which
    they are `delays.drive_to_valve_s` old. The camera exposes at k / rate_hz, k = 0, 1, ..; the
    image shows the plant at the nearest time step.

    Args:
        plant: The arm; alone in its simulation.
        delays: Of camera, image processing and valves.
        rate_hz: Rate of the camera [Hz].

    Attributes:
        logic: Registers of the board, which a driver reads and writes between two ticks.
        channels: Number of the board's channels.

    Raises:
        RobotFileError: If no valve board has a channel for each of the robot's chambers.
    """

    def __init__(self, plant: Simulation, delays: Delays, rate_hz: float):
        self._plant, self._delays, self._rate_hz = plant, delays, rate_hz
        self._at_board = BoardPlant(plant)
        self.channels = self._at_board.channels
        valves = _DelayedValves(self._at_board, delays.drive_to_valve_s)
        self._board = BoardLoop(valves, channels=self.channels)
        self.logic = self._board.logic
        self._passes, self._exposed = 0, 0
        self._images: deque[Exposure] = deque()
        self._half_step_s = 0.5 * float(plant.model.opt.timestep)

    @property
    def time_s(self) -> float:
        """Simulated time since the start [s]."""
        return self._passes * TICK_S / PASSES

    def advance(self) -> list[Exposure]:
        """Advance by `TICK_S`; return the exposures that reach the host now, oldest first.

        Raises:
            PhysicsError: If the plant becomes unstable.
        """
        for _ in range(PASSES):
            before_s = self.time_s
            self._passes += 1
            self._step_plant(before_s, self.time_s)
            self._board.tick(TICK_S / PASSES)
        due_s = self.time_s - self._delays.image_s + _SLACK_S
        arrived = []
        while self._images and self._images[0].stamp_s <= due_s:
            arrived.append(self._images.popleft())
        return arrived

    def snapshot(self) -> Snapshot:
        """Return the present state of the plant."""
        return self._at_board.snapshot()

    def _step_plant(self, now_s: float, until_s: float) -> None:
        """Step the plant to a time; keep its state at the exposures on the way."""
        while (stamp_s := self._exposed / self._rate_hz) <= until_s + _SLACK_S:
            nearest_s = max(min(stamp_s + self._half_step_s, until_s), now_s)
            self._plant.step(nearest_s - now_s)
            now_s = nearest_s
            state = self.snapshot()
            self._images.append(Exposure(stamp_s, state.qpos, state.T_base_tip))
            self._exposed += 1
        self._plant.step(until_s - now_s)


class _DelayedValves:
    """The plant at the board, with delayed drives."""

    def __init__(self, plant: BoardPlant, delay_s: float):
        self._plant = plant
        passes = int(np.ceil(delay_s * PASSES / TICK_S - 1e-6))
        self._set_pa = np.zeros(plant.channels)
        self._drives: deque[np.ndarray] = deque([self._set_pa] * passes)
        plant.set_valve_targets_pa(self._set_pa)

    def set_valve_targets_pa(self, targets_pa: np.ndarray) -> None:
        self._drives.append(targets_pa)
        due_pa = self._drives.popleft()
        if not np.array_equal(due_pa, self._set_pa):
            self._plant.set_valve_targets_pa(due_pa)
            self._set_pa = due_pa

    def sensor_pressures_pa(self) -> np.ndarray:
        return self._plant.sensor_pressures_pa()
