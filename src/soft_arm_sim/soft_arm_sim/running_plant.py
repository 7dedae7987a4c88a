"""Plant in real time: a thread steps it; the valve board's channels drive and read it."""

from soft_arm_physics.simulation import Simulation
from soft_arm_sim.board_plant import BoardPlant, Snapshot
from soft_arm_sim.errors import SimulationError
from soft_arm_sim.real_time import RealTimeStepper


class RunningPlant(BoardPlant):
    """Steps a plant in real time between `start` and `stop`.

    `snapshot`, which is of one moment, may be called from any thread. `set_valve_targets_pa` and
    `sensor_pressures_pa` belong to the board's thread: they do not wait for a step, which may see
    the new targets of some chambers and the earlier ones of others.

    Args:
        plant: The arm to step; alone in its simulation.

    Raises:
        RobotFileError: If no valve board has a channel for each of the robot's chambers.
    """

    def __init__(self, plant: Simulation):
        super().__init__(plant)
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
            return super().snapshot()
