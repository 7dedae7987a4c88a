"""Which chamber the calibration of the dynamics steps, between which pressures, and how often."""

import numpy as np

from soft_arm_kinematics.arm import BellowsArm

STEP_PA = 80.0e3  # large enough to show the valve's rate limit
REST_S = 4.0
STEPS = 6


def stepped_chamber(arm: BellowsArm) -> int:
    """Return the index of the chamber that is stepped: the first of the last segment."""
    return int(arm.columns[-1][0])


def step_limits_pa(arm: BellowsArm, chamber: int) -> tuple[float, float]:
    """Return the two pressures [Pa] between which a chamber is stepped."""
    low_pa, high_pa = map(float, arm.pressure_limits_pa[:, chamber])
    middle_pa = (low_pa + high_pa) / 2
    half_pa = min(STEP_PA, 0.9 * (high_pa - low_pa)) / 2
    return middle_pa - half_pa, middle_pa + half_pa


def tips_m(arm: BellowsArm, chamber: int, pressures_pa: np.ndarray) -> np.ndarray:
    """Return the model tips [m] (k, 3) at pressures (k,) of one chamber, the others at ambient."""
    every_pa = np.zeros((len(pressures_pa), arm.n_actuators))
    every_pa[:, chamber] = pressures_pa
    return arm.tip(arm.lengths(arm.clip_pressures(every_pa)))
