"""Gain and phase margin of the tip loop at a posture, from its linear model.

Each slow mode is a separate loop. With the reference r of the mode and the measured tip m:

    y0 = V (r - b - k v)                      quasi-static tip; V: reference filter, valve delay
    x = A y0                                  tip; A: the mode
    (b, y, v) = P y0 + e^(-s age) F N (m - A y0)          bias and swing that the filter estimates

P contains the modelled swing, F the free motion from the image to the effect of the command, and N
the stationary Kalman filter at the rate of the images. The age of the newest measurement is the
delay plus half a period of the images. The loop is opened at m.
Source: K. J. Astrom, R. M. Murray, Feedback Systems, 2nd ed. 2021, section 10.3.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_discrete_are

from soft_arm_control.tip.bias_filter import DRIFT_M_PER_SQRT_S, SWING_M_PER_SQRT_S
from soft_arm_control.tip.command_shaper import REFERENCE_TIME_CONSTANT_S
from soft_arm_control.tip.swing_modes import SwingModes

FREQUENCIES_HZ = np.geomspace(0.02, 12.0, 200)

MIN_DEVIATION_M = 1e-5


@dataclass(frozen=True)
class Margins:
    """Factor of the loop gain, and phase [rad], that make the loop unstable."""

    gain: float
    phase_rad: float


def stability_margins(
    modes: SwingModes,
    added_ratio: float,
    valve_delay_s: float,
    image_delay_s: float,
    image_period_s: float,
    deviation_m: float,
) -> Margins:
    """Return the smallest margins of the modes.

    Args:
        modes: The modes at a posture.
        added_ratio: Damping ratio that the feedback adds.
        valve_delay_s: Time from a command to its effect [s].
        image_delay_s: Time from an image to the command that contains it [s].
        image_period_s: Period of the images [s].
        deviation_m: Standard deviation of the measured tip [m].
    """
    s = 2j * np.pi * FREQUENCIES_HZ
    deviation_m = max(deviation_m, MIN_DEVIATION_M)
    age_s = image_delay_s + image_period_s / 2.0  # of the newest measurement, on average
    loops = []
    for i in range(len(modes.omega_rad_s)):
        mode = SwingModes(
            modes.omega_rad_s[i : i + 1],
            modes.damping_ratio[i : i + 1],
            modes.tip[:, i : i + 1],
            modes.lengths[:, i : i + 1],
            modes.from_lengths[i : i + 1],
        )
        omega, ratio = mode.omega_rad_s[0], mode.damping_ratio[0]
        gain, step = _kalman(mode, image_period_s, deviation_m)
        later = np.exp(-s * image_period_s)[:, None, None]
        n = np.linalg.solve(np.eye(3) - later * step, np.broadcast_to(gain, (len(s), 3, 1)))[..., 0]
        n = n * np.exp(-s * age_s)[:, None]
        ahead_s = valve_delay_s + REFERENCE_TIME_CONSTANT_S
        k = 2.0 * added_ratio / omega
        a = omega**2 / (s**2 + 2.0 * ratio * omega * s + omega**2)
        v = np.exp(-s * valve_delay_s) / (REFERENCE_TIME_CONSTANT_S * s + 1.0)
        modelled = np.stack([a - 1.0, s * a], axis=-1) @ mode.transition(ahead_s)[1]
        late = n[:, 1:] @ mode.transition(age_s + ahead_s)[1]
        c = n[:, 0] + k * late
        loops.append(a * v * c / (1.0 + v * k * modelled - v * c * a))
    return margins_of(np.array(loops))


def _kalman(mode: SwingModes, dt_s: float, deviation_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Return gain (3, 1) and transition (3, 3) of the filter of bias, displacement, velocity."""
    forward = np.eye(3)
    forward[1:, 1:] = mode.transition(dt_s)
    swing_m2 = SWING_M_PER_SQRT_S**2 * dt_s
    noise = np.diag([DRIFT_M_PER_SQRT_S**2 * dt_s, swing_m2, mode.omega_rad_s[0] ** 2 * swing_m2])
    observed = np.array([[1.0, 1.0, 0.0]])
    prior = solve_discrete_are(forward.T, observed.T, noise, [[deviation_m**2]])
    gain = prior @ observed.T / (observed @ prior @ observed.T + deviation_m**2)
    return gain, (np.eye(3) - gain @ observed) @ forward


def margins_of(loops: np.ndarray) -> Margins:
    """Return the smallest margins of loops (k, frequencies)."""
    before, after = loops[:, :-1], loops[:, 1:]
    crosses = (before.imag * after.imag < 0.0) & (before.real < 0.0)
    before_crossing, after_crossing = before[crosses], after[crosses]
    share = before_crossing.imag / (before_crossing.imag - after_crossing.imag)
    gains = -1.0 / (before_crossing.real + share * (after_crossing.real - before_crossing.real))
    turns = np.abs(np.angle(-before))[(np.abs(before) - 1.0) * (np.abs(after) - 1.0) < 0.0]
    return Margins(
        float(np.min(gains[gains > 1.0], initial=np.inf)), float(np.min(turns, initial=np.pi))
    )
