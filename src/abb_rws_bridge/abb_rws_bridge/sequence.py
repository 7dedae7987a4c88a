"""Joint move by the RAPID program, as in the gripper paper.

Sequence: reset the program pointer, write the target variable, start, stop on arrival.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from abb_rws_bridge import irb120, mapping
from abb_rws_bridge.controller import Controller
from abb_rws_bridge.errors import Rejected, RwsError, WrongMode, WrongState
from abb_rws_bridge.monitor import UP, Knowledge, Monitor

TARGET_SYMBOL = 'T_ROB1/J_Orientation_Target'
STATE_TIMEOUT_S = 1.0
"""Time without joint angles after which a move is stopped [s]."""
STOP_RETRY_S = 3.0
"""Time for which an unconfirmed stop is repeated [s]."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Arrival:
    """Result of a move: joint angles [rad], largest distance to the target [rad], duration [s]."""

    position_rad: np.ndarray
    error_rad: float
    duration_s: float


class MoveFailed(RwsError):
    """The robot did not arrive; the program was stopped."""


async def move_to(
    controller: Controller,
    monitor: Monitor,
    target_rad: ArrayLike,
    *,
    symbol: str = TARGET_SYMBOL,
    tolerance_rad: float = 0.002,
    timeout_s: float = 30.0,
    progress: Callable[[float], None] = lambda _error_rad: None,
) -> Arrival:
    """Move to joint angles [rad] by the RAPID program; stop it however the move ends.

    Args:
        progress: Called with the largest remaining joint error [rad] at every sample.

    Raises:
        ConfigurationError: If the target is outside the limits; nothing was sent.
        WrongMode: If the controller is not in automatic mode.
        WrongState: If the motors are off or a program is running.
        MoveFailed: If the program stopped early or the target was not reached in time.
    """
    target = irb120.check_joints(target_rad)
    await _check_ready(controller, monitor.known)
    await controller.reset_pointer()
    await controller.set_symbol(symbol, mapping.jointtarget_literal(target))
    started_s = time.monotonic()
    try:
        await controller.start(cycle='forever')
        return await _arrive(monitor, target, tolerance_rad, started_s, timeout_s, progress)
    finally:
        await asyncio.shield(_stop(controller))


async def _check_ready(controller: Controller, known: Knowledge) -> None:
    """Query the controller; the monitored state may be older than the last command."""
    if not known.ready:
        why = (
            f'link {known.link} {known.error}'.rstrip()
            if known.link != UP
            else 'no RAPID tasks yet: it is booting'
        )
        raise WrongState(f'the controller is not ready: {why}')
    mode = (await controller.operation_mode()).value
    if mode != 'AUTO':
        raise WrongMode(f'operation mode is {mode}: turn the key to automatic')
    state = (await controller.control_state()).value
    if state != 'motoron':
        raise WrongState(f'controller state is {state}: switch the motors on')
    if (await controller.execution()).value.running:
        raise WrongState('a program runs already: stop it first')


async def _arrive(
    monitor: Monitor,
    target: np.ndarray,
    tolerance_rad: float,
    started_s: float,
    timeout_s: float,
    progress: Callable[[float], None],
) -> Arrival:
    end_s, seen_s = started_s + timeout_s, started_s
    while time.monotonic() < end_s:

        def has_changed(known: Knowledge, seen_s: float = seen_s) -> bool:
            return _fresh(known, seen_s) or _interrupted(known, started_s) != ''

        fresh = await monitor.wait_for(has_changed, 0.1)
        if _interrupted(monitor.known, started_s):
            # the cause is often reported just after the end of the program
            await monitor.wait_for(lambda known: not _motors_on(known), 0.3)
            raise MoveFailed(_interrupted(monitor.known, started_s))
        sample = monitor.known.joints
        if not fresh or sample is None:
            continue
        seen_s = sample.asked_s
        error_rad = float(np.max(np.abs(sample.value - target)))
        progress(error_rad)
        if error_rad <= tolerance_rad:
            return Arrival(sample.value, error_rad, time.monotonic() - started_s)
    raise MoveFailed(
        f'target not reached within {timeout_s:.1f} s; link {monitor.known.link} '
        f'{monitor.known.error}'.rstrip()
    )


def _fresh(known: Knowledge, seen_s: float) -> bool:
    return known.joints is not None and known.joints.asked_s > seen_s


def _interrupted(known: Knowledge, started_s: float) -> str:
    """Return the reason for ending the move from values after its start; empty to continue."""
    asked_s = started_s if known.joints is None else max(known.joints.asked_s, started_s)
    if time.monotonic() - asked_s > STATE_TIMEOUT_S:
        link = f'link {known.link} {known.error}'.rstrip()
        return f'no joint angles for {STATE_TIMEOUT_S} s during the move: {link}'
    state, execution = known.control_state, known.execution
    if state is not None and state.asked_s > started_s and not _motors_on(known):
        return f'controller state became {state.value} during the move'
    if (
        execution is not None
        and execution.asked_s > started_s + 0.2
        and not execution.value.running
    ):
        return 'the program stopped before the target was reached'
    return ''


def _motors_on(known: Knowledge) -> bool:
    return known.control_state is not None and known.control_state.value == 'motoron'


async def _stop(controller: Controller) -> None:
    """Stop the program; repeat the request until it is confirmed, for STOP_RETRY_S."""
    end_s = time.monotonic() + STOP_RETRY_S
    while True:
        try:
            await controller.stop()
            return
        except Rejected:
            raise
        except RwsError as error:
            _log.error('the stop was not confirmed: %s', error)
            if time.monotonic() > end_s:
                raise
        await asyncio.sleep(0.1)
