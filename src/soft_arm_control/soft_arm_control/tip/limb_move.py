"""Move the tip of one limb: a smooth way by inverse kinematics, then correction by measurement.

A limb of tendons is not where its kinematics say: weight, buoyancy and contact bend it. So at the
end of the way the distance of the measured tip from the target is integrated into the point that
the kinematics aim at, which `differential_ik` follows. The integral is slower than the limb swings.
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

SPEED_RAD_S = 0.5  # of the fastest segment's bend
SPEED_M_S = 0.02  # of the fastest segment's length
LEAST_S = 0.2  # duration of the shortest way
HOLD_S = 0.5  # the tip must stay within tolerance for this long
# Time constant of the integral; limbs in water swing with about 1 rad/s, well damped.
CORRECTION_S = 5.0
STEPS = 3  # of inverse kinematics in a tick
STILL_S = 5.0  # the tip is stuck when its distance has stayed for so long ..
STILL_SHARE = 0.1  # .. within this share of itself
SHORT_SHARE = 0.5  # at its limits, the model's tip follows less of a step of the point aimed at


class LimbMove:
    """A goal from its start to its end. All times are on one clock [s].

    Args:
        arm: An arm of tendon segments.
        start: Actuation now, (n,).
        goal: Actuation at the target by the model, (n,).
        target_m: The target in the base frame [m], (3,).
        tolerance_m: Distance within which the tip must stay [m]; None: it has only to get there by
            the model, and nothing corrects it.
        timeout_s: Time for that after the way [s].
        now_s: Time at the start [s].
        held: Segments, by place, that keep their shapes; bool, (k,).
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
    ):
        self._bends = TendonBends(arm)
        self._start, self._goal = self._bends.shares(start), self._bends.shares(goal)
        self._target_m, self._tolerance_m, self._timeout_s = target_m, tolerance_m, timeout_s
        self._free = np.repeat(~held if held is not None else np.ones(len(arm.columns), bool), 3)
        self._start_s, self._inside_s = now_s, now_s
        way = self._bends.bends(self._goal) - self._bends.bends(self._start)
        rates = np.abs(way).max(axis=0) / [SPEED_RAD_S, SPEED_RAD_S, SPEED_M_S]
        self.duration_s = max(LEAST_S, float(rates.max()))
        self._shares, self._correction_m = self._start, np.zeros(3)
        self._errors_m: deque[float] = deque(maxlen=round(STILL_S / PERIOD_S))

    def step(self, now_s: float, tip_m: np.ndarray | None) -> tuple[np.ndarray, Status]:
        """Run one tick, every `PERIOD_S`.

        Args:
            now_s: Time [s].
            tip_m: Measured tip in the base frame [m], (3,), or None.

        Returns:
            The actuation to command (n,), and the status; its outcome is set when the goal ends.
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
        command = self._bends.actuation(self._shares)
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
        """Move the point that the model aims at by what the measured tip is off the target."""
        step_m = PERIOD_S / CORRECTION_S * (self._target_m - tip_m)
        aim_m = self._target_m + self._correction_m + step_m
        for _ in range(STEPS):  # after each, other segments take over from one that is at its limit
            shares, _ = differential_ik(
                self._bends, self._shares, aim_m, self._goal, self._bends.limits, self._free, 1
            )
            self._shares = self._bends.limited(shares)
        reached_m = self._bends.tip(self._shares)
        short_m = float(np.linalg.norm(reached_m - aim_m))
        at_limits = short_m > SHORT_SHARE * float(np.linalg.norm(step_m))
        # What the limits do not allow is not integrated: the correction turns back at once.
        self._correction_m = (reached_m if at_limits else aim_m) - self._target_m

    def _stuck(self) -> bool:
        """Return whether the tip has come no nearer for `STILL_S`."""
        if len(self._errors_m) < (self._errors_m.maxlen or 0):
            return False
        return max(self._errors_m) - min(self._errors_m) < STILL_SHARE * self._errors_m[-1]

    def _missed(self, error_m: float | None, elapsed_s: float) -> tuple[Outcome, str]:
        if error_m is None or self._tolerance_m is None:
            return Outcome.TIMEOUT, (
                f'no pose of the tip after {elapsed_s:.1f} s: the limb moved open loop, and how '
                'far its tip is from the target is not known; start what publishes its joint '
                'states and frames, or set open_loop'
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
                f'{where}it comes no nearer; choose a target further inside, or clear what blocks '
                'the limb'
            )
        return Outcome.TIMEOUT, f'{where}allow more of either'
