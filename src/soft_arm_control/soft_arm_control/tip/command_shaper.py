"""Command shaper with disturbance observer for valves with lag, delay and a rate limit.

The pressures arrive as fast as the valves allow and do not overshoot. The valves follow
dp/dt = clip((command - p) / tau, +-rate). A reference moves to the wanted pressures at the
identified rate; the command leads it by tau * dp/dt, so that the valve follows the
reference instead of lagging behind it. Where the lead meets the pressure limits the reference slows
down to what the valve can do. The disturbance observer filters the difference between the measured
pressures and the valve's model (offset, gain) and subtracts it from the command.

During a move the reference is ahead of the pressures: by the valves' delay, and by more where a
valve is slower than identified. A stop must not continue to the reference. While pressures are
held, the reference is corrected to the pressures, predicted from the measured ones, that the valves
will have when the command arrives.
"""

from collections import deque

import numpy as np

from soft_arm_control.tip.dynamics import Dynamics

PERIOD_S = 0.02  # nominal time between two steps
# The lead gain is tau over this time constant. It is several periods long, so that image noise is
# amplified little.
REFERENCE_TIME_CONSTANT_S = 0.03
RATE_SHARE = 0.97  # share of the identified rate limit that the reference uses
OFFSET_TIME_CONSTANT_S = 0.3  # of the disturbance observer
MAX_OFFSET_PA = 8.0e3  # a larger offset indicates a defective valve
STOP_STEPS = 25  # duration of the correction of the reference at a stop
STOP_GAIN = 0.25  # share of the error corrected in each of these steps after the first
MAX_RESTING_ERROR_PA = 500.0  # reference to wanted pressures; below it the move is over


class CommandShaper:
    """Turn wanted pressures into commands for all chambers, once every `PERIOD_S`.

    Attributes:
        velocity_scaling: Share of the rate limit that moves use, at most 1.
    """

    def __init__(self, dynamics: Dynamics, limits_pa: np.ndarray, start_pa: np.ndarray):
        self.velocity_scaling = 1.0
        self._dynamics = dynamics
        self._limits_pa = limits_pa
        self._reference_pa = np.clip(np.asarray(start_pa, float), *limits_pa)
        self._model_pa = np.asarray(start_pa, float).copy()
        self._offset_pa = np.zeros_like(self._model_pa)
        delay_periods = round(dynamics.valve_delay_s / PERIOD_S)
        self._sent_pa = deque(
            [self._model_pa.copy()] * (delay_periods + 1), maxlen=delay_periods + 1
        )
        self._distance_pa = 0.0
        self._present_pa = self._model_pa
        self._held_steps = 0

    @property
    def present_pa(self) -> np.ndarray:
        """Return the pressures at the last step [Pa], shape (n,).

        Measured, or by the valves' model if nothing had been measured since the step before.
        """
        return np.clip(self._present_pa, *self._limits_pa)

    @property
    def resting(self) -> bool:
        """Return whether the reference has reached the wanted pressures."""
        return self._distance_pa < MAX_RESTING_ERROR_PA

    @property
    def reachable_pa(self) -> np.ndarray:
        """Return the lowest and highest pressures [Pa] that the valves reach, shape (2, n)."""
        return np.clip(self._limits_pa + self._offset_pa, *self._limits_pa)

    def step(self, wanted_pa: np.ndarray, measured_pa: np.ndarray | None) -> np.ndarray:
        """Compute the command of a move for the next period.

        Args:
            wanted_pa: Pressures to reach [Pa], shape (n,).
            measured_pa: Pressures measured since the last step [Pa], shape (n,); None: none.

        Returns:
            The command [Pa], within the limits, shape (n,).
        """
        self._observe(measured_pa)
        self._held_steps = 0
        return self._towards(wanted_pa)

    def hold(self, held_pa: np.ndarray, measured_pa: np.ndarray | None) -> np.ndarray:
        """Compute the command that stops a move at pressures passed just now, or keeps them.

        Arguments and result as of `step`.
        """
        self._observe(measured_pa)
        if self._held_steps < STOP_STEPS:
            share = STOP_GAIN if self._held_steps else 1.0
            error_pa = self._arriving_pa() - self._reference_pa
            self._reference_pa = self._reference_pa + share * error_pa
            self._held_steps += 1
        return self._towards(held_pa)

    def _towards(self, wanted_pa: np.ndarray) -> np.ndarray:
        d = self._dynamics
        rate_pa_s = (wanted_pa - self._reference_pa) / REFERENCE_TIME_CONSTANT_S
        largest_pa_s = max(float(np.max(np.abs(rate_pa_s))), 1.0)
        # One factor for all chambers, so that the tip takes the direct way.
        rate_limit_pa_s = RATE_SHARE * self.velocity_scaling * d.valve_rate_limit_pa_s
        rate_pa_s *= min(1.0, rate_limit_pa_s / largest_pa_s)
        leading_pa = np.clip(
            self._reference_pa + d.valve_time_constant_s * rate_pa_s, *self._limits_pa
        )
        applied_pa = np.clip(leading_pa - self._offset_pa, *self._limits_pa)
        self._reference_pa = self._reference_pa + PERIOD_S / d.valve_time_constant_s * (
            leading_pa - self._reference_pa
        )
        self._distance_pa = float(np.max(np.abs(wanted_pa - self._reference_pa)))
        self._sent_pa.append(applied_pa)
        return applied_pa

    def _observe(self, measured_pa: np.ndarray | None) -> None:
        self._model_pa = self._a_period_later(self._model_pa, self._sent_pa[0])
        if measured_pa is None:
            self._present_pa = self._model_pa + self._offset_pa
            return
        self._present_pa = measured_pa
        difference_pa = measured_pa - self._model_pa
        self._offset_pa = np.clip(
            self._offset_pa + PERIOD_S / OFFSET_TIME_CONSTANT_S * (difference_pa - self._offset_pa),
            -MAX_OFFSET_PA,
            MAX_OFFSET_PA,
        )

    def _arriving_pa(self) -> np.ndarray:
        """Return the pressures [Pa], shape (n,), at which the next command finds the valves."""
        pressures_pa = self._present_pa - self._offset_pa
        for sent_pa in list(self._sent_pa)[1:]:  # the first has acted
            pressures_pa = self._a_period_later(pressures_pa, sent_pa)
        return np.clip(pressures_pa + self._offset_pa, *self._limits_pa)

    def _a_period_later(self, pressures_pa: np.ndarray, command_pa: np.ndarray) -> np.ndarray:
        d = self._dynamics
        share = 1.0 - np.exp(-PERIOD_S / d.valve_time_constant_s)
        step_pa = d.valve_rate_limit_pa_s * PERIOD_S
        return pressures_pa + np.clip(share * (command_pa - pressures_pa), -step_pa, step_pa)
