"""Targets and scores of the arm paper's two experiments and of its table 7.

Module 1 is held at full vacuum and module 2 moves: *bend* from 0 to 120 deg at phi = 30 deg,
*deflection* at theta = 30 deg over 360 deg. The paper uses the solution of module 2 with the
greatest vacuum. Here its shortest bellows is `CONTROL_MARGIN_M` longer than at full vacuum: at the
limit it could not shorten, and the feedback would act in one direction only. Where the longest
bellows would come within `MAX_MARGIN_M` of its limit (beyond 110 deg), all three are shorter,
because a sagging arm needs more length there.
"""

from dataclasses import dataclass

import numpy as np

from soft_arm_control.errors import ExperimentError
from soft_arm_control.tip.differential_ik import differential_ik
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.pressure_effect import PressureEffect, lag_share
from soft_arm_kinematics.arm import BellowsArm
from soft_arm_kinematics.segments import pcc

CONTROL_MARGIN_M = 0.008
MAX_MARGIN_M = 0.025
PHI_BEND_RAD = np.deg2rad(30.0)
THETA_DEFLECTION_RAD = np.deg2rad(30.0)
TABLE_7_DEG = (30.0, 60.0, 90.0, 120.0)
SETTLED_SHARE = 0.02  # of the step
REST_S, MAX_STEP_S = 2.5, 5.0  # rest before a step response, and its longest duration
NEAREST_ITERATIONS = 10
SCORED_S = 0.3  # the true tip is averaged over this time at the end of each step

# Mean error [m] in the paper: open loop, closed loop.
PAPER = {'bend': (8.77e-3, 2.03e-3), 'deflection': (6.63e-3, 1.68e-3)}
PAPER_SETTLE_S = {30.0: 1.19, 60.0: 1.42, 90.0: 1.58, 120.0: 1.81}  # table 7
PAPER_DEFLECTION_RAD_S = 0.52
LAPS_RAD_S = PAPER_DEFLECTION_RAD_S, 3 * PAPER_DEFLECTION_RAD_S


@dataclass(frozen=True)
class Experiment:
    """Targets in the order of execution."""

    name: str
    theta_rad: np.ndarray  # (k,), of the moving segment
    phi_rad: np.ndarray  # (k,)
    lengths_m: np.ndarray  # (k, n)
    points_m: np.ndarray  # (k, 3), the model's tip
    held_segments: tuple[str, ...]


def experiment(arm: BellowsArm, name: str, steps: int | None = None) -> Experiment:
    """Return the targets of `bend` or `deflection`; `steps` is their number over the same range.

    Raises:
        ExperimentError: If there are fewer than 2 steps, or the arm has fewer than 2 segments.
    """
    if steps is not None and steps < 2:
        raise ExperimentError(f'--steps {steps}: give at least 2')
    if name == 'bend':
        theta_rad = np.deg2rad(np.linspace(0.0, 120.0, steps or 13))
        phi_rad = np.full_like(theta_rad, PHI_BEND_RAD)
    else:
        phi_rad = np.deg2rad(np.linspace(0.0, 360.0, steps or 25))
        theta_rad = np.full_like(phi_rad, THETA_DEFLECTION_RAD)
    return targets(arm, name, theta_rad, phi_rad)


def targets(arm: BellowsArm, name: str, theta_rad: np.ndarray, phi_rad: np.ndarray) -> Experiment:
    """Return targets that bend the last segment and hold all others at full vacuum.

    Args:
        arm: The arm, with two segments or more.
        name: Name of the experiment.
        theta_rad, phi_rad: Bend and its direction of the last segment [rad], shape (k,).

    Raises:
        ExperimentError: If the arm has one segment only, or a bellows would become too long.
    """
    if arm.n_segments < 2:
        raise ExperimentError(
            f'robot {arm.robot.name} has {arm.n_segments} segment: the experiments hold one '
            'segment and move another'
        )
    moving = len(arm.columns[-1])
    shortest_m = float(np.max(arm.length_limits_m[0, -moving:]))
    lengths_m = np.tile(arm.length_limits_m[0], (len(theta_rad), 1))
    arcs = np.zeros((len(theta_rad), arm.n_segments, 3))
    arcs[:, -1] = pcc.arcs_from_polar(theta_rad, phi_rad, 0.0)
    offsets_m = arm.lengths_from_arcs(arcs)[:, -moving:]  # of each bellows from the centre line
    above_m = offsets_m - offsets_m.min(axis=1, keepdims=True)  # the shortest
    longest_m = float(np.min(arm.length_limits_m[1, -moving:])) - MAX_MARGIN_M
    margin_m = np.clip(
        longest_m - shortest_m - above_m.max(axis=1, keepdims=True), 0.0, CONTROL_MARGIN_M
    )
    lengths_m[:, -moving:] = shortest_m + margin_m + above_m
    too_long = lengths_m > arm.length_limits_m[1]
    if too_long.any():
        k = int(np.argmax(too_long.any(axis=1)))
        raise ExperimentError(
            f'theta {np.rad2deg(theta_rad[k]):.0f} deg needs a bellows of '
            f'{1e3 * lengths_m[k].max():.1f} mm, limit '
            f'{1e3 * arm.length_limits_m[1].max():.1f} mm: this robot cannot run the experiment'
        )
    return Experiment(
        name,
        np.asarray(theta_rad),
        np.asarray(phi_rad),
        lengths_m,
        arm.at(lengths_m).tip_m,
        arm.robot.segment_names[:-1],
    )


def end_of_step_m(
    times_s: np.ndarray, tips_m: np.ndarray, stop_s: float, step: str = 'a step'
) -> np.ndarray:
    """Return the mean tip [m], shape (3,), over the last `SCORED_S` before `stop_s`.

    Raises:
        ExperimentError: If the tip was not sampled in that time; names the step.
    """
    rows = (times_s > stop_s - SCORED_S) & (times_s <= stop_s)
    if not rows.any():
        raise ExperimentError(
            f'no tip received in the last {SCORED_S} s of {step}: check that the rig runs and, if '
            'it is real, that its detector finds the tip there'
        )
    return tips_m[rows].mean(axis=0)


def settling_time_s(
    times_s: np.ndarray, tips_m: np.ndarray, start_m: np.ndarray, target_m: np.ndarray
) -> float | None:
    """Return the settling time [s] to within `SETTLED_SHARE` of the step; None without settling.

    Args:
        times_s: Time since the command [s], shape (k,).
        tips_m: True tips [m], shape (k, 3).
        start_m, target_m: Ends of the step [m], shape (3,).
    """
    outside = np.flatnonzero(
        np.linalg.norm(tips_m - target_m, axis=1)
        > SETTLED_SHARE * np.linalg.norm(target_m - start_m)
    )
    if len(outside) == 0:
        return 0.0
    return float(times_s[outside[-1] + 1]) if outside[-1] + 1 < len(times_s) else None


def fastest_settling_s(
    arm: BellowsArm, dynamics: Dynamics, start_m: np.ndarray, target_m: np.ndarray
) -> float:
    """Return the lower bound of the settling time [s] that valves and mechanics set.

    Every valve changes its pressure at its rate limit or, near the end of its range, at the rate of
    the extreme command, until the identified hysteresis and creep give the effective pressure of
    the target, which it then holds; the mechanics follow with their lag. The start was reached from
    the side of the target, as in the experiment, so that every chamber first crosses the width of
    its hysteresis.

    Args:
        arm: The model.
        dynamics: Identified dynamics of valves, chambers and mechanics.
        start_m, target_m: Actuator lengths [m], shape (n,). The lengths at which this arm rests
            (`acting_lengths_m`) give the bound for this arm; the lengths of the model may need
            other pressures.
    """
    dt_s = 0.002
    start_pa, goal_pa = arm.pressures(start_m), arm.pressures(target_m)
    effect = PressureEffect(dynamics, np.clip(goal_pa, *arm.pressure_limits_pa))
    effect.advance(REST_S, np.clip(effect.pressures(start_pa), *arm.pressure_limits_pa))
    pressure_pa = np.clip(effect.pressures(start_pa), *arm.pressure_limits_pa)
    lagged_pa = effective_pa = effect.advance(dt_s, pressure_pa)
    times_s, tips_m = [0.0], [arm.at(start_m).tip_m]
    share = lag_share(dt_s, dynamics.mechanical_lag_s)
    while np.max(np.abs(lagged_pa - goal_pa)) > 50.0 and times_s[-1] < MAX_STEP_S:
        wanted_pa = np.clip(effect.pressures(goal_pa), *arm.pressure_limits_pa)
        limits_pa = np.where(wanted_pa > pressure_pa, *arm.pressure_limits_pa[::-1])
        rate_pa_s = np.minimum(
            np.abs(limits_pa - pressure_pa) / dynamics.valve_time_constant_s,
            dynamics.valve_rate_limit_pa_s,
        )
        pressure_pa = pressure_pa + np.clip(
            wanted_pa - pressure_pa, -rate_pa_s * dt_s, rate_pa_s * dt_s
        )
        effective_pa = effect.advance(dt_s, pressure_pa)
        lagged_pa = lagged_pa + share * (effective_pa - lagged_pa)
        times_s.append(times_s[-1] + dt_s)
        tips_m.append(arm.at(arm.lengths(np.clip(lagged_pa, *arm.pressure_limits_pa))).tip_m)
    return dynamics.valve_delay_s + (
        settling_time_s(np.array(times_s), np.array(tips_m), tips_m[0], arm.at(target_m).tip_m)
        or 0.0
    )


def acting_lengths_m(
    arm: BellowsArm, dynamics: Dynamics, times_s: np.ndarray, pressures_pa: np.ndarray
) -> np.ndarray:
    """Return the lengths [m], (k, n), at measured pressures.

    Hysteresis and creep start at rest at the first sample.

    Args:
        arm: The model.
        dynamics: Identified hysteresis and creep.
        times_s: (k,) of the samples [s].
        pressures_pa: (k, n) [Pa].
    """
    effect = PressureEffect(dynamics, pressures_pa[0])
    steps_s = np.diff(times_s, prepend=times_s[0])
    acting_pa = np.array(
        [effect.advance(dt_s, p_pa) for dt_s, p_pa in zip(steps_s, pressures_pa, strict=True)]
    )
    return arm.lengths(arm.clip_pressures(acting_pa))


def unreachable_m(
    arm: BellowsArm,
    dynamics: Dynamics,
    target_m: np.ndarray,
    tip_m: np.ndarray,
    lengths_m: np.ndarray,
    free: np.ndarray,
) -> float:
    """Return the distance of a target from the nearest tip that this arm can hold [m].

    The model is corrected by its error at the current configuration. The effective pressure stays
    within the limits by the width of the hysteresis, because a chamber approaches its limit from
    the inside; the current lengths are always reachable.

    Args:
        arm: The model.
        dynamics: Identified hysteresis.
        target_m: Target [m], shape (3,).
        tip_m: True tip at rest near the target [m], shape (3,).
        lengths_m: Effective lengths at rest (`acting_lengths_m`) [m], shape (n,).
        free: Mask of the actuators that may move, bool, shape (n,).
    """
    effect = PressureEffect(dynamics, np.zeros(arm.n_actuators))
    limits_m = arm.lengths(np.array([effect.settled(pa) for pa in arm.pressure_limits_pa]))
    limits_m = np.array([np.minimum(limits_m[0], lengths_m), np.maximum(limits_m[1], lengths_m)])
    limits_m = np.where(free, limits_m, lengths_m)
    wanted_m = target_m - (tip_m - arm.at(lengths_m).tip_m)
    nearest_m = lengths_m
    for _ in range(NEAREST_ITERATIONS):
        nearest_m, away_m = differential_ik(arm, nearest_m, wanted_m, nearest_m, limits_m, free)
    return away_m


def angular_speed_rad_s(times_s: np.ndarray, tips_m: np.ndarray) -> tuple[float, float]:
    """Return mean and standard deviation [rad/s] of the angular speed about the base's z axis.

    Speeds are computed over windows of 0.5 s.
    """
    angles_rad = np.unwrap(np.arctan2(tips_m[:, 1], tips_m[:, 0]))
    edges_s = np.arange(times_s[0], times_s[-1], 0.5)
    speeds = np.diff(np.interp(edges_s, times_s, angles_rad)) / 0.5
    return float(np.mean(speeds)), float(np.std(speeds))
