"""Move the tip of one limb: a smooth trajectory by inverse kinematics, then measured correction.

Weight, buoyancy and contact bend a limb of tendons, so its tip deviates from the kinematics. At the
end of the trajectory the error of the measured tip is integrated into the target of the kinematics,
which `differential_ik` follows. The integral is slower than the limb's oscillation.
"""

from collections import deque
from dataclasses import replace

import numpy as np

from soft_arm_control.outcome import Outcome
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.controller import Status
from soft_arm_control.tip.differential_ik import differential_ik
from soft_arm_control.tip.tendon_bends import TendonBends
from soft_arm_kinematics.arm import Arm

MAX_BEND_RATE_RAD_S = 0.5  # mean rate of the fastest segment
MAX_LENGTH_RATE_M_S = 0.02  # mean rate of the fastest segment
MIN_DURATION_S = 0.2  # of a trajectory
HOLD_S = 0.5  # the tip must stay within tolerance for this long
# Of the integral; limbs in water oscillate at about 1 rad/s, well damped.
CORRECTION_TIME_CONSTANT_S = 5.0
IK_STEPS = 3  # of inverse kinematics in a tick
# The tip is stuck if its error has changed by less than this share for this time.
STUCK_WINDOW_S = 5.0
MAX_STUCK_CHANGE = 0.1
# At its limits the model's tip misses more than this share of a step of the corrected target.
MIN_LIMITED_MISS = 0.5


class LimbMove:
    """A goal from its start to its end. All times are on one clock [s].

    Args:
        arm: An arm of tendon segments.
        start: Current q, (n,).
        goal: q at the target by the model, (n,).
        target_m: The target in the base frame [m], (3,).
        tolerance_m: Distance within which the tip must stay [m]; None: the
            model's tip has to reach it, without correction.
        timeout_s: Time to settle after the trajectory [s].
        now_s: Time at the start [s].
        held: Segments that keep their configurations, bool, (k,).
        velocity_scaling: Share of the rates that the trajectory uses, at most 1.
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
        held: np.ndarray | None = None,
        velocity_scaling: float = 1.0,
    ):
        self._bends = TendonBends(arm)
        self._start, self._goal = self._bends.shares(start), self._bends.shares(goal)
        self._target_m, self._tolerance_m, self._timeout_s = target_m, tolerance_m, timeout_s
        self._free = np.repeat(~held if held is not None else np.ones(len(arm.columns), bool), 3)
        self._start_s, self._inside_s = now_s, now_s
        way = self._bends.bends(self._goal) - self._bends.bends(self._start)
        rates = np.abs(way).max(axis=0) / [
            MAX_BEND_RATE_RAD_S,
            MAX_BEND_RATE_RAD_S,
            MAX_LENGTH_RATE_M_S,
        ]
        self.duration_s = max(MIN_DURATION_S, float(rates.max())) / velocity_scaling
        self._shares, self._correction_m = self._start, np.zeros(3)
        self._errors_m: deque[float] = deque(maxlen=round(STUCK_WINDOW_S / PERIOD_S))

    def step(self, now_s: float, tip_m: np.ndarray | None) -> tuple[np.ndarray, Status]:
        """Run one tick, every `PERIOD_S`.

        Args:
            now_s: Time [s].
            tip_m: Measured tip in the base frame [m], (3,), or None.

        Returns:
            The q to command (n,), and the status; its outcome is set when the goal ends.
        """
        elapsed_s = now_s - self._start_s
        share = min(elapsed_s / self.duration_s, 1.0)
        error_m = None if tip_m is None else float(np.linalg.norm(tip_m - self._target_m))
        if share < 1.0:
            smooth = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)  # at rest at both ends
            self._shares = self._start + smooth * (self._goal - self._start)
        elif self._tolerance_m is None or not self._errors_m and tip_m is None:
            self._shares = self._goal
        elif tip_m is not None and error_m is not None:
            self._correct(tip_m)
            self._errors_m.append(error_m)
        command = self._bends.q(self._shares)
        phase = 'approach' if share < 1.0 else 'settle' if self._tolerance_m is None else 'correct'
        status = Status(phase, elapsed_s, error_m, tip_m)
        inside = self._tolerance_m is None or (error_m is not None and error_m <= self._tolerance_m)
        if share < 1.0 or not inside:
            self._inside_s = now_s
        elif now_s - self._inside_s >= HOLD_S:
            settle_s = self._inside_s - self._start_s
            return command, replace(status, outcome=Outcome.REACHED, settle_s=settle_s)
        late = elapsed_s > self.duration_s + self._timeout_s
        if late or (not inside and self._stuck()):
            outcome, message = self._missed(error_m, elapsed_s)
            return command, replace(status, outcome=outcome, message=message)
        return command, status

    def _correct(self, tip_m: np.ndarray) -> None:
        """Move the target of the model by a share of the measured error."""
        step_m = PERIOD_S / CORRECTION_TIME_CONSTANT_S * (self._target_m - tip_m)
        aim_m = self._target_m + self._correction_m + step_m
        for _ in range(IK_STEPS):  # each step redistributes motion from segments at their limits
            shares, _ = differential_ik(
                self._bends, self._shares, aim_m, self._goal, self._bends.limits, self._free, 1
            )
            self._shares = self._bends.limited(shares)
        reached_m = self._bends.at(self._shares).tip_m
        short_m = float(np.linalg.norm(reached_m - aim_m))
        at_limits = short_m > MIN_LIMITED_MISS * float(np.linalg.norm(step_m))
        # Anti-windup: motion beyond the limits is not integrated.
        self._correction_m = (reached_m if at_limits else aim_m) - self._target_m

    def _stuck(self) -> bool:
        """Return whether the error has not changed for `STUCK_WINDOW_S`."""
        if len(self._errors_m) < (self._errors_m.maxlen or 0):
            return False
        return max(self._errors_m) - min(self._errors_m) < MAX_STUCK_CHANGE * self._errors_m[-1]

    def _missed(self, error_m: float | None, elapsed_s: float) -> tuple[Outcome, str]:
        if error_m is None or self._tolerance_m is None:
            return Outcome.TIMEOUT, (
                f'no pose of the tip after {elapsed_s:.1f} s: the limb moved open loop, and how '
                'far its tip is from the target is unknown; start the nodes that publish its '
                'joint states and frames, or set open_loop'
            )
        where = (
            f'tip is {1e3 * error_m:.1f} mm from the target after {elapsed_s:.1f} s, tolerance '
            f'{1e3 * self._tolerance_m:.1f} mm: '
        )
        limits = ', '.join(self._bends.at_limits(self._shares))
        if limits:
            return Outcome.SATURATED, (
                f'{where}limits of {limits} are reached; choose a target further inside, or clear '
                'what blocks the limb'
            )
        if self._stuck():
            return Outcome.TIMEOUT, (
                f'{where}the error no longer decreases; choose a target further inside, or '
                'clear what blocks the limb'
            )
        return Outcome.TIMEOUT, f'{where}allow more of either'
