"""Simulation stepped in real time by a thread."""

import threading
import time

from soft_arm_physics.simulation import Simulation
from soft_arm_sim.errors import SimulationError

PERIOD_S = 0.004
MAX_LAG_S = 0.1  # a longer delay is not caught up: a robot would jump


class RealTimeSimulation:
    """Base of what steps a simulation in real time between `start` and `stop`.

    Attributes:
        lock: Held during each step; hold it to read or change the simulation.
    """

    def __init__(self, simulation: Simulation):
        self.lock = threading.Lock()
        self._simulation = simulation
        self._error: Exception | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name='simulation', daemon=True)
        self._marks = (time.monotonic(), simulation.time_s)

    def start(self) -> None:
        """Start stepping."""
        self._marks = (time.monotonic(), self._simulation.time_s)
        self._thread.start()

    def stop(self, timeout_s: float = 2.0) -> None:
        """Stop stepping."""
        self._ending.set()
        self._thread.join(timeout_s)

    def real_time_factor(self) -> float:
        """Return simulated time over wall time since the last call."""
        (wall_s, simulated_s), self._marks = (
            self._marks,
            (time.monotonic(), self._simulation.time_s),
        )
        return (self._marks[1] - simulated_s) / max(self._marks[0] - wall_s, 1e-6)

    def check(self) -> None:
        """Raise SimulationError if the thread does not run, for example after divergence."""
        if not self._thread.is_alive():
            raise SimulationError(f'the simulation does not run: {self._error}')

    def _run(self) -> None:
        due_s = time.monotonic()
        while not self._ending.wait(max(due_s + PERIOD_S - time.monotonic(), 0.0)):
            due_s += PERIOD_S
            if time.monotonic() - due_s > MAX_LAG_S:
                due_s = time.monotonic()
            with self.lock:
                try:
                    self._simulation.step(PERIOD_S)
                except Exception as error:
                    self._error = error
                    raise
