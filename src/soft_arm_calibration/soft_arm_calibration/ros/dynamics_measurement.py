"""Move one chamber of a running rig in steps and loops, for `softarm calibrate dynamics`."""

from collections.abc import Callable

import numpy as np

from soft_arm_calibration.ros.rig_session import RigSession
from soft_arm_calibration.steps import (
    REST_S,
    STEPS,
    loop_corners,
    step_limits_pa,
    stepped_chamber,
)
from soft_arm_control.errors import ExperimentError
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.identification import Record, StepRecord
from soft_arm_kinematics.arm import BellowsArm

MAX_TIP_AGE_S = 0.1  # age of the newest ring pose in simulated time, at most
QUIET_S = 0.5  # time without a command of another node before the first step


def measure(
    session: RigSession, arm: BellowsArm, on_part: Callable[[], None]
) -> tuple[list[StepRecord], list[Record]]:
    """Move the last segment's first chamber; all others stay at ambient pressure.

    Args:
        session: Connection to a rig whose driver and ring detector run, and whose controller has
            no goal.
        arm: The arm, for the limits of the chamber.
        on_part: Called after each step, and after the loops.

    Returns:
        The steps, and the loops after them.

    Raises:
        ExperimentError: If another node commands the arm, or samples stop coming.
    """
    heard_s = session.commanded_by_others_s
    if heard_s is not None and session.now_s() - heard_s < QUIET_S:
        raise ExperimentError(
            'another node is sending pressure_command: stop it, or run `softarm vent` and '
            'activate the driver again'
        )
    chamber = stepped_chamber(arm)
    low_pa, high_pa = step_limits_pa(arm, chamber)
    session.command_pa = np.zeros(arm.n_actuators)
    records = []
    try:
        _step(session, chamber, low_pa)
        for k in range(STEPS):
            start_pa = float(session.command_pa[chamber])
            to_pa = high_pa if k % 2 == 0 else low_pa
            start_s = _step(session, chamber, to_pa)
            record = _record(session, chamber, start_s, REST_S)
            records.append(StepRecord(**vars(record), start_pa=start_pa, command_pa=to_pa))
            on_part()
        loops = _loops(session, chamber, *loop_corners(arm, chamber))
        on_part()
    finally:
        session.command_pa = None
    return records, [loops]


def _step(session: RigSession, chamber: int, pressure_pa: float) -> float:
    """Step to a pressure and rest there; return the time at which the step was sent [s]."""
    _command(session, chamber, pressure_pa)
    _wait(session, session.now_s() + PERIOD_S + REST_S, 2 * REST_S + 2)
    return session.sent_since_s


def _loops(
    session: RigSession, chamber: int, times_s: np.ndarray, pressures_pa: np.ndarray
) -> Record:
    start_s = session.now_s()
    while (elapsed_s := session.now_s() - start_s) < times_s[-1]:
        _command(session, chamber, float(np.interp(elapsed_s, times_s, pressures_pa)))
        _wait(session, start_s + elapsed_s + PERIOD_S, 2.0)
    return _record(session, chamber, start_s, float(times_s[-1]))


def _command(session: RigSession, chamber: int, pressure_pa: float) -> None:
    command_pa = session.command_pa.copy()
    command_pa[chamber] = pressure_pa
    session.command_pa = command_pa  # a new array: the spin thread sends it whole


def _wait(session: RigSession, until_s: float, limit_s: float) -> None:
    """Wait until samples of a time have come; `limit_s`: of the wall clock, for a real rig."""
    if session.clock == 'lockstep':
        session.wait_until(until_s + MAX_TIP_AGE_S)
        return
    session.wait_for(
        lambda: min(session.pressures.stamps_s[-1], session.rings.stamps_s[-1]) > until_s,
        limit_s,
        'pressures and ring poses',
    )


def _record(session: RigSession, chamber: int, start_s: float, duration_s: float) -> Record:
    stop_s = start_s + duration_s
    pressure_s, pressures_pa, _ = session.pressures.since(start_s, stop_s)
    ring_s, rings_m, arrivals_s = session.rings.since(start_s, stop_s)
    return Record(
        pressure_s - start_s,
        pressures_pa[:, chamber],
        ring_s - start_s,
        rings_m,
        arrivals_s - ring_s,
    )
