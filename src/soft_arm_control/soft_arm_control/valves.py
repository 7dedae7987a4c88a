"""Pressure commands that make lagging, rate-limited valves arrive as fast as they can, without overshoot in pressure.

The valves follow dp/dt = clip((command - p) / tau, +-rate). A reference moves to the wanted pressures at the identified rate; the
command leads it by tau * dp/dt, so that the valve follows the reference instead of lagging behind it. Where the lead meets the pressure
limits the reference slows down to what the valve can do. What the measured pressures are found off at rest is trimmed.
"""

import numpy as np

from soft_arm_control.dynamics import Dynamics

REFERENCE_TIME_CONSTANT_S = 0.05   # lead gain tau / this; several sample times, so that image noise is not amplified much
RATE_SHARE = 0.97                  # of the identified rate limit
TRIM_TIME_S = 0.6
TRIM_LIMIT_PA = 6.0e3
QUIET_PA_S = 4.0e3                 # reference slower than this counts as at rest
QUIET_S = 0.4                      # at rest for this long, measured and reference can be compared


class ValveShaper:
    """Turns wanted pressures into commands; one object for all chambers."""

    def __init__(self, dynamics: Dynamics, limits_pa: np.ndarray, start_pa: np.ndarray):
        self._dynamics, self._limits_pa = dynamics, limits_pa
        self.reference_pa = np.clip(np.asarray(start_pa, float), *limits_pa)
        self._trim_pa = np.zeros_like(self.reference_pa)
        self._quiet_s = 0.0

    @property
    def resting(self) -> bool:
        """Whether the reference has come to rest."""
        return self._quiet_s > 0.0

    def step(self, wanted_pa: np.ndarray, measured_pa: np.ndarray, dt_s: float) -> np.ndarray:
        """Command [Pa] for the next `dt_s`, within the limits, shape (n,)."""
        d = self._dynamics
        rate_limit_pa_s = RATE_SHARE * d.valve_rate_limit_pa_s
        rate_pa_s = (wanted_pa - self.reference_pa) / REFERENCE_TIME_CONSTANT_S
        rate_pa_s *= min(1.0, rate_limit_pa_s / max(float(np.max(np.abs(rate_pa_s))), 1.0))   # together: the tip takes the direct way
        command_pa = self.reference_pa + self._trim_pa + d.valve_time_constant_s * rate_pa_s
        applied_pa = np.clip(command_pa, *self._limits_pa)
        rate_pa_s += (applied_pa - command_pa) / d.valve_time_constant_s
        self._trim(measured_pa, rate_pa_s, applied_pa == command_pa, dt_s)
        self.reference_pa = np.clip(self.reference_pa + dt_s * rate_pa_s, *self._limits_pa)
        return applied_pa

    def _trim(self, measured_pa, rate_pa_s, unsaturated, dt_s):
        self._quiet_s = self._quiet_s + dt_s if np.max(np.abs(rate_pa_s)) < QUIET_PA_S else 0.0
        if self._quiet_s > QUIET_S:
            change_pa = (self.reference_pa - measured_pa) * dt_s / TRIM_TIME_S
            self._trim_pa = np.clip(self._trim_pa + np.where(unsaturated, change_pa, 0.0), -TRIM_LIMIT_PA, TRIM_LIMIT_PA)
