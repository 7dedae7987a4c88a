"""Motion of one chamber for the calibration of the dynamics: steps, then slow loops."""

import numpy as np

from soft_arm_control.tip.loaded_arm import LoadedArm
from soft_arm_control.tip.swing_modes import SwingModes
from soft_arm_kinematics.arm import BellowsArm

STEP_PA = 80.0e3  # large enough to show the valve's rate limit
REST_S = 4.0
STEPS = 6
LOOP_SHARES = (1.0, 0.7, 0.45, 0.25, 0.1) * 2  # width of each loop, share of a step
LOOP_RATE_PA_S = 20.0e3  # slow enough that valve and arm follow without much lag


def stepped_chamber(arm: BellowsArm) -> int:
    """Return the index of the chamber that is moved: the first of the last segment."""
    return int(arm.columns[-1][0])


def step_limits_pa(arm: BellowsArm, chamber: int) -> tuple[float, float]:
    """Return the two pressures [Pa] between which a chamber is moved."""
    low_pa, high_pa = map(float, arm.pressure_limits_pa[:, chamber])
    middle_pa = (low_pa + high_pa) / 2
    half_pa = min(STEP_PA, 0.9 * (high_pa - low_pa)) / 2
    return middle_pa - half_pa, middle_pa + half_pa


def middle_modes(arm: BellowsArm) -> SwingModes:
    """Return the modes in the middle of the steps, all other chambers at ambient pressure."""
    pressures_pa, chamber = np.zeros(arm.n_actuators), stepped_chamber(arm)
    pressures_pa[chamber] = np.mean(step_limits_pa(arm, chamber))
    return LoadedArm(arm).modes(arm.lengths(pressures_pa))


def loop_corners(arm: BellowsArm, chamber: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times [s] and pressures [Pa], (k,) each, between which the loops go in straight lines.

    They begin and end at the lower pressure of the steps.
    """
    low_pa, high_pa = step_limits_pa(arm, chamber)
    middle_pa, half_pa = (low_pa + high_pa) / 2, (high_pa - low_pa) / 2
    corners_pa = [low_pa]
    for share in LOOP_SHARES:
        corners_pa += [middle_pa + share * half_pa, middle_pa - share * half_pa]
    corners_pa.append(low_pa)
    durations_s = np.abs(np.diff(corners_pa)) / LOOP_RATE_PA_S
    keep = np.append(True, durations_s > 0)
    return np.append(0.0, np.cumsum(durations_s))[keep], np.array(corners_pa)[keep]
