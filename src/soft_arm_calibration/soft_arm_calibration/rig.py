"""Interface of a rig for experiments, on hardware, on a virtual graph and in process.

`soft_arm_calibration.ros.rig_session.RigSession` is one on ROS topics and actions, of a real rig or
of a virtual one. `soft_arm_experiments.arm.in_process_rig.InProcessRig` is one without ROS.
"""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import numpy as np

Clock = Literal['wall', 'lockstep', 'in_process']
Ending = Callable[[], tuple[bool, str] | None]
"""Returns None while a goal runs, then whether its target was reached, and what went wrong.

A goal that was cancelled or replaced was not reached, without an error.
"""


class Rig(Protocol):
    """An arm with its controller and the measured or true tip.

    Attributes:
        clock: Source of time: real time, simulated time of a ROS graph, or of this process.
        plant_seed: Seed of the virtual arm; None if unknown.
    """

    clock: Clock
    plant_seed: int | None

    def now_s(self) -> float:
        """Return the time on the rig's clock [s]."""

    def move_tip(
        self,
        point_m: np.ndarray,
        lengths_m: np.ndarray,
        held: list[str],
        open_loop: bool,
        tolerance_m: float,
        timeout_s: float,
    ) -> Ending:
        """Send a goal as the action `move_tip` takes it; it replaces the one that runs.

        Args:
            point_m: Target [m], shape (3,), base frame.
            lengths_m: Preferred lengths of the actuators [m], shape (n,).
            held: Segments that the feedback must not move.
            open_loop: Whether the camera is ignored.
            tolerance_m, timeout_s: When the goal is reached [m], and when it ends [s].
        """

    def follow_path(
        self, points_m: np.ndarray, lengths_m: np.ndarray, times_s: np.ndarray, held: list[str]
    ) -> Ending:
        """Send a path: points [m] (k, 3), lengths [m] (k, n) and times [s] (k,) from now on."""

    def wait_until(self, stop_s: float) -> None:
        """Return when the rig's clock, and its samples, have reached a time [s].

        Raises:
            ExperimentError: If the rig ends or no samples come.
        """

    def tips(self, start_s: float, stop_s: float) -> tuple[np.ndarray, np.ndarray]:
        """Return times [s] (k,) in [start_s, stop_s] and tips [m] (k, 3), base frame.

        They are true tips on virtual devices, measured ones (`tip_pose`) on real devices.
        """

    def measured_pa(self, start_s: float, stop_s: float) -> tuple[np.ndarray, np.ndarray]:
        """Return times [s] (k,) in [start_s, stop_s] and measured pressures [Pa] (k, n)."""

    def rates_hz(self, since_s: float) -> dict[str, float]:
        """Return the rates of camera, valves and ring poses since a time [Hz]."""

    def latency_ms(self) -> dict[str, float]:
        """Return percentiles of the time from an image's stamp to its command [ms]; may be {}."""


def rate_hz(stamps_s: Sequence[float], since_s: float) -> float:
    """Return the rate of samples with these stamps [Hz] since a time [s]."""
    seen_s = [stamp_s for stamp_s in stamps_s if stamp_s >= since_s]
    return (len(seen_s) - 1) / (seen_s[-1] - seen_s[0]) if len(seen_s) > 2 else 0.0
