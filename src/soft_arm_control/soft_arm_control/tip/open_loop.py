"""Open-loop move of one arm's tip: a smooth way to the solution of inverse kinematics.

For an arm that no camera sees. Nothing corrects it: weight, buoyancy and contact leave the tip off
its target, and the measured tip, if there is one, only says how far.
"""

from dataclasses import replace

import numpy as np

from soft_arm_control.outcome import Outcome
from soft_arm_control.tip.controller import Status
from soft_arm_kinematics.arm import Arm

SPEED_RAD_S = 0.5  # of the fastest segment's bend
SPEED_M_S = 0.02  # of the fastest segment's length
LEAST_S = 0.2  # duration of the shortest way
HOLD_S = 0.5  # the tip must stay within tolerance for this long


class OpenLoopMove:
    """A goal from its start to its end. All times are on one clock [s].

    Args:
        arm: An arm of tendon segments.
        start: Actuation now, (n,).
        goal: Actuation at the target, (n,).
        target_m: The target in the base frame [m], (3,).
        tolerance_m: Distance within which the tip must stay [m]; None: it has only to get there by
            the model.
        timeout_s: Time for that after the way [s].
        now_s: Time at the start [s].
    """

    def __init__(
        self,
        arm: Arm,
        start: np.ndarray,
        goal: np.ndarray,
        target_m: np.ndarray,
        tolerance_m: float | None,
        timeout_s: float,
        now_s: float,
    ):
        self._columns = arm.columns
        self._start, self._goal = self._bends(start), self._bends(goal)
        self._target_m, self._tolerance_m, self._timeout_s = target_m, tolerance_m, timeout_s
        self._start_s, self._inside_s = now_s, now_s
        way = np.abs(self._goal - self._start).max(axis=0)
        self.duration_s = max(LEAST_S, float((way / [SPEED_RAD_S, SPEED_RAD_S, SPEED_M_S]).max()))

    def step(self, now_s: float, tip_m: np.ndarray | None) -> tuple[np.ndarray, Status]:
        """Run one tick.

        Args:
            now_s: Time [s].
            tip_m: Measured tip in the base frame [m], (3,), or None.

        Returns:
            The actuation to command (n,), and the status; its outcome is set when the goal ends.
        """
        elapsed_s = now_s - self._start_s
        share = min(elapsed_s / self.duration_s, 1.0)
        smooth = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)  # at rest at both ends
        command = self._actuation(self._start + smooth * (self._goal - self._start))
        error_m = None if tip_m is None else float(np.linalg.norm(tip_m - self._target_m))
        phase = 'approach' if share < 1.0 else 'settle'
        status = Status(phase, elapsed_s, error_m, tip_m, 0)
        inside = self._tolerance_m is None or (error_m is not None and error_m <= self._tolerance_m)
        if share < 1.0 or not inside:
            self._inside_s = now_s
        elif now_s - self._inside_s >= HOLD_S:
            settle_s = self._inside_s - self._start_s
            return command, replace(status, outcome=Outcome.REACHED, settle_s=settle_s)
        if elapsed_s > self.duration_s + self._timeout_s:
            return command, replace(status, outcome=Outcome.TIMEOUT, message=self._late(error_m))
        return command, status

    def _late(self, error_m: float | None) -> str:
        if error_m is None or self._tolerance_m is None:
            return (
                f'no pose of the tip after {self._timeout_s:.1f} s: start what publishes it, or '
                'set open_loop'
            )
        return (
            f'tip is {1e3 * error_m:.1f} mm from the target after {self._timeout_s:.1f} s, '
            f'tolerance {1e3 * self._tolerance_m:.1f} mm; nothing corrects what weight, buoyancy '
            'and contact do: allow more of either, or set open_loop'
        )

    def _bends(self, actuation: np.ndarray) -> np.ndarray:
        """Return bends towards x and y [rad] and lengths [m] of the segments, (k, 3)."""
        theta, phi, ell = np.array([actuation[columns] for columns in self._columns]).T
        return np.stack([theta * np.cos(phi), theta * np.sin(phi), ell], axis=1)

    def _actuation(self, bends: np.ndarray) -> np.ndarray:
        x, y, ell = bends.T
        actuation = np.empty(sum(map(len, self._columns)))
        arcs = np.stack([np.hypot(x, y), np.arctan2(y, x), ell], axis=1)
        for columns, arc in zip(self._columns, arcs, strict=True):
            actuation[columns] = arc
        return actuation
