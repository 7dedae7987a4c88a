"""Pressure commands that make lagging, rate-limited valves arrive as fast as they can, without overshoot in pressure.

The valves follow dp/dt = clip((command - p) / tau, +-rate). A reference moves to the wanted
pressures at the identified rate; the command leads it by tau * dp/dt, so that the valve follows the
reference instead of lagging behind it. Where the lead meets the pressure limits the reference slows
down to what the valve can do. What the measured pressures differ from the valve's model by (offset,
gain) is filtered and taken off the command.
"""

from collections import deque

import numpy as np

from soft_arm_control.tip.dynamics import Dynamics

PERIOD_S = 0.02  # nominal time between two steps
REFERENCE_TIME_CONSTANT_S = (
    0.05  # lead gain tau / this; several periods, so that image noise is not amplified much
)
RATE_SHARE = 0.97  # of the identified rate limit
OFFSET_TIME_CONSTANT_S = 0.3
OFFSET_LIMIT_PA = 8.0e3  # a valve further off than this is defective, not inaccurate
RESTING_PA = 500.0  # wanted and reference this near: the move is over


class CommandShaper:
    """Turns wanted pressures into commands for all chambers, once every `PERIOD_S`."""

    def __init__(self, dynamics: Dynamics, limits_pa: np.ndarray, start_pa: np.ndarray):
        self._dynamics, self._limits_pa = dynamics, limits_pa
        self._reference_pa = np.clip(np.asarray(start_pa, float), *limits_pa)
        self._model_pa = np.asarray(start_pa, float).copy()
        self._offset_pa = np.zeros_like(self._model_pa)
        delay_periods = round(dynamics.valve_delay_s / PERIOD_S)
        self._sent_pa = deque(
            [self._model_pa.copy()] * (delay_periods + 1), maxlen=delay_periods + 1
        )
        self._distance_pa = 0.0

    @property
    def resting(self) -> bool:
        """Whether the reference has arrived."""
        return self._distance_pa < RESTING_PA

    def step(self, wanted_pa: np.ndarray, measured_pa: np.ndarray) -> np.ndarray:
        """Command [Pa] for the next period, within the limits, shape (n,)."""
        d = self._dynamics
        self._observe(measured_pa)
        rate_pa_s = (wanted_pa - self._reference_pa) / REFERENCE_TIME_CONSTANT_S
        largest_pa_s = max(float(np.max(np.abs(rate_pa_s))), 1.0)
        rate_pa_s *= min(
            1.0, RATE_SHARE * d.valve_rate_limit_pa_s / largest_pa_s
        )  # all together: the tip takes the direct way
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

    def _observe(self, measured_pa):
        d = self._dynamics
        share = 1.0 - np.exp(-PERIOD_S / d.valve_time_constant_s)
        step_pa = d.valve_rate_limit_pa_s * PERIOD_S
        self._model_pa = self._model_pa + np.clip(
            share * (self._sent_pa[0] - self._model_pa), -step_pa, step_pa
        )
        off_pa = measured_pa - self._model_pa
        self._offset_pa = np.clip(
            self._offset_pa + PERIOD_S / OFFSET_TIME_CONSTANT_S * (off_pa - self._offset_pa),
            -OFFSET_LIMIT_PA,
            OFFSET_LIMIT_PA,
        )
