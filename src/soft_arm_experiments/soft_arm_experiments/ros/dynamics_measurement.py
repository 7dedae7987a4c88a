"""Measure step responses of one chamber on a running rig, for `softarm calibrate dynamics`."""

from collections.abc import Callable

import numpy as np

from soft_arm_control.errors import ExperimentError
from soft_arm_control.tip.dynamics import StepRecord
from soft_arm_experiments.arm.steps import REST_S, STEPS, step_limits_pa, stepped_chamber
from soft_arm_experiments.ros.rig_session import RigSession
from soft_arm_kinematics.arm import BellowsArm

QUIET_S = 0.5  # time without a command of another node before the first step


def measure(session: RigSession, arm: BellowsArm, on_step: Callable[[], None]) -> list[StepRecord]:
    """Step the last segment's first chamber up and down; all others stay at ambient pressure.

    Args:
        session: Connection to a rig whose driver and ring detector run, and whose controller has
            no goal.
        arm: The arm, for the limits of the chamber.
        on_step: Called after each step.

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
            start_s = _step(session, chamber, high_pa if k % 2 == 0 else low_pa)
            records.append(_record(session, chamber, start_s, start_pa))
            on_step()
    finally:
        session.command_pa = None
    return records


def _step(session: RigSession, chamber: int, pressure_pa: float) -> float:
    command_pa = session.command_pa.copy()
    command_pa[chamber] = pressure_pa
    session.command_pa = command_pa  # a new array: the spin thread sends it whole
    start_s = session.now_s()
    session.wait_for(
        lambda: min(session.pressures.stamps_s[-1], session.rings.stamps_s[-1]) > start_s + REST_S,
        2 * REST_S + 2,
        'pressures and ring poses after a step',
    )
    return start_s


def _record(session: RigSession, chamber: int, start_s: float, start_pa: float) -> StepRecord:
    stop_s = start_s + REST_S
    pressure_s, pressures_pa, _ = session.pressures.since(start_s, stop_s)
    ring_s, rings_m, arrivals_s = session.rings.since(start_s, stop_s)
    return StepRecord(
        pressure_s - start_s,
        pressures_pa[:, chamber],
        ring_s - start_s,
        rings_m,
        arrivals_s - ring_s,
        start_pa,
        float(session.command_pa[chamber]),
    )
