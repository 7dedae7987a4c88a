"""Grasp and release with the one chamber of a finger: pressure profile, contact and faults.

Before a contact every end of a goal vents the finger. After a contact the finger keeps holding,
because a falling object does more harm than a held one; only a release opens it. Without measured
pressures nothing is commanded, so that the driver vents.
"""

import enum
import math
from dataclasses import dataclass, replace

import numpy as np

from soft_arm_control.errors import DriverLostError, GoalError
from soft_arm_control.grasping.contact import ContactDetector
from soft_arm_control.grasping.no_load_reference import NoLoadReference
from soft_arm_control.liveness_monitor import DRIVER, LivenessMonitor, since
from soft_arm_control.outcome import Outcome

PERIOD_S = 0.02
SHAPE_LAG_S = 0.2  # lag of the finger behind its pressure
MAX_SHAPE_WAIT_S = 1.0  # for an image of the finger at rest
SHAPE = 'shape'  # further source of the liveness monitor


class Evidence(enum.Flag):
    """Evidence of a contact, detected or required."""

    NONE = 0
    PRESSURE = 1
    SHAPE = 2
    BOTH = 3


class EndState(enum.Enum):
    """State of the gripper after a goal."""

    NOTHING_COMMANDED = 'nothing commanded'
    HOLDING = 'holding'
    OPEN = 'open'
    VENTED = 'vented'
    OTHER_GOAL = 'other goal'


@dataclass(frozen=True)
class GraspGoal:
    """Gauge pressures [Pa] of a grasp; with `evidence` NONE either evidence is enough."""

    grip_pa: float
    squeeze_pa: float
    timeout_s: float
    evidence: Evidence = Evidence.NONE


@dataclass(frozen=True)
class ReleaseGoal:
    """Gauge pressure [Pa], a vacuum, that opens the finger, and whether to keep it."""

    open_pa: float
    timeout_s: float
    stay_open: bool = False


@dataclass(frozen=True)
class GraspSettings:
    """Pressure profile and timeouts."""

    open_pa: float = -60.0e3  # vacuum from which the closing starts
    rate_pa_s: float = 50.0e3  # of closing; no_load_reference.yaml was measured at this rate
    tolerance_pa: float = 4.0e3
    settle_s: float = 0.3  # the pressure must stay within tolerance for this long
    pressures_timeout_s: float = 0.3  # during a goal, for a silent or inactive driver
    shape_timeout_s: float = 0.6
    # The same while holding. A driver that recovers by itself does so earlier.
    driver_gone_s: float = 1.0


@dataclass(frozen=True)
class GripStatus:
    """State of the gripper after a tick. None: not available."""

    phase: str  # idle, open, close, squeeze, hold
    elapsed_s: float
    pressure_pa: float | None
    outcome: Outcome | None = None  # set in the tick that ends the goal
    message: str = ''
    end_state: EndState | None = None
    seen_by: Evidence = Evidence.NONE
    contact_pa: float | None = None
    contact_s: float | None = None
    largest_excess: float | None = None
    largest_deficit_rad: float | None = None
    deficit_rad: float | None = None
    open_by_shape: bool = False


class Gripper:
    """Control one finger. All times are on one clock [s]; samples have their own stamps."""

    def __init__(
        self,
        reference: NoLoadReference,
        limits_pa: tuple[float, float],
        settings: GraspSettings = GraspSettings(),
    ):
        self._reference = reference
        self._limits_pa = limits_pa
        self._settings = settings
        self._pressure_pa: float | None = None
        self._bends_rad: np.ndarray | None = None
        self.liveness = LivenessMonitor(PERIOD_S, settings.driver_gone_s)
        self._goal: GraspGoal | ReleaseGoal | None = None
        self._phase = 'idle'
        self._start_s = 0.0
        self._inside_s: float | None = None  # since when the pressure is within its tolerance
        self._command_pa: float | None = None
        self._contact: ContactDetector | None = None
        self._contact_pa: float | None = None
        self._contact_s: float | None = None
        self.holding = False  # after a contact, until the release

    @property
    def active(self) -> bool:
        """Return whether a goal is active."""
        return self._goal is not None

    def refused(self, outcome: Outcome, message: str) -> GripStatus:
        """Return the gripper's status after a rejected goal."""
        if self._goal is not None:
            end_state = EndState.OTHER_GOAL
        elif self.holding:
            end_state = EndState.HOLDING
        else:
            commands = self._command_pa is not None
            end_state = EndState.OPEN if commands else EndState.NOTHING_COMMANDED
        return GripStatus('idle', 0.0, self._pressure_pa, outcome, message, end_state)

    def add_pressure(self, stamp_s: float, pressure_pa: float, set_point_pa: float) -> None:
        """Add a measured gauge pressure and the set point of the device [Pa]."""
        self.liveness.heard(DRIVER, stamp_s)
        self._pressure_pa = pressure_pa
        if self._contact is not None and self._phase in ('close', 'squeeze'):
            self._contact.add_pressure(stamp_s, pressure_pa, set_point_pa)

    def add_shape(self, stamp_s: float, bends_rad: np.ndarray) -> None:
        """Add the bends of the segments [rad], shape (segments,), in the image of this stamp."""
        self.liveness.heard(SHAPE, stamp_s)
        self._bends_rad = np.asarray(bends_rad, float)
        if self._contact is not None and self._phase in ('close', 'squeeze'):
            self._contact.add_shape(stamp_s, self._bends_rad)

    def not_ready_reason(self, now_s: float) -> str:
        """Return why a goal would fail now, in one line; empty if it would not."""
        limit_s = self._settings.pressures_timeout_s
        return self.liveness.driver_lost(now_s, limit_s, limit_s)

    def start(self, goal: GraspGoal | ReleaseGoal, now_s: float) -> None:
        """Start a goal; it replaces the active one.

        Raises:
            DriverLostError: If no measured pressures arrive.
            GoalError: If the goal is rejected; then nothing changes.
        """
        if self.liveness.silence_s(DRIVER, now_s) > self._settings.pressures_timeout_s:
            raise DriverLostError('no measured pressures: start the gripper driver and activate it')
        self._check(goal, now_s)
        self._goal = goal
        self._start_s = now_s
        if isinstance(goal, GraspGoal):
            self._contact = ContactDetector(self._reference)
            self._contact_pa = self._contact_s = None
            self._command_pa = self._settings.open_pa
        else:
            self._command_pa = goal.open_pa
        self._enter('open')

    def status(self, now_s: float) -> GripStatus:
        """Return the state of the gripper and of its active goal."""
        contact = self._contact
        idle = self._goal is None and self._phase == 'idle'
        elapsed_s = 0.0 if idle else now_s - self._start_s
        status = GripStatus(self._phase, elapsed_s, self._pressure_pa)
        if contact is None:
            return status
        return replace(
            status,
            seen_by=self._seen_by() if self._contact_pa is not None else Evidence.NONE,
            contact_pa=self._contact_pa,
            contact_s=self._contact_s,
            largest_excess=contact.largest_excess,
            largest_deficit_rad=contact.largest_deficit_rad,
            deficit_rad=contact.deficit_rad,
        )

    def cancel(self, now_s: float) -> GripStatus:
        """Cancel the active goal: vent the finger or, after a contact, hold."""
        assert self._goal is not None, 'no goal to cancel'
        return self._end(self._goal, now_s, Outcome.CANCELLED, 'cancelled by the client')

    def step(self, now_s: float) -> tuple[float | None, GripStatus]:
        """Run one tick, `PERIOD_S` after the last.

        Returns:
            Gauge pressure to command [Pa], None when nothing is commanded; and the status.
        """
        ran_s = self.liveness.tick(now_s)
        s = self._settings
        goal = self._goal
        limit_s = s.driver_gone_s if goal is None else s.pressures_timeout_s
        gone = self.liveness.driver_lost(now_s, limit_s, limit_s)
        if gone and goal is not None:
            self.holding = False
            status = self._end(goal, now_s, Outcome.DRIVER_LOST, gone)
            self._command_pa = None
            return None, replace(status, end_state=EndState.NOTHING_COMMANDED)
        if gone:
            self._command_pa = None
            self.holding = False
            self._phase = 'idle'
        if goal is None:
            return self._take_command(), self.status(now_s)
        # `start` needs a measured pressure and sets a command.
        assert self._pressure_pa is not None
        assert self._command_pa is not None
        if isinstance(goal, ReleaseGoal):
            status = self._release(goal, now_s, self._pressure_pa)
        else:
            status = self._grasp(goal, now_s, ran_s, self._pressure_pa, self._command_pa)
        return self._take_command(), status

    def _take_command(self) -> float | None:
        """Return the command of this tick.

        Ambient pressure is commanded once after a goal, then nothing, so that other nodes may
        command the finger.
        """
        command_pa = self._command_pa
        if command_pa == 0.0 and self._goal is None:
            self._command_pa = None
        return command_pa

    def _grasp(
        self, goal: GraspGoal, now_s: float, ran_s: float, pressure_pa: float, command_pa: float
    ) -> GripStatus:
        s = self._settings
        if goal.evidence & Evidence.SHAPE and not self.holding and not self._sees(now_s):
            silence = since(self.liveness.silence_s(SHAPE, now_s))
            message = f'no shape {silence}, limit {s.shape_timeout_s} s: check the camera'
            return self._end(goal, now_s, Outcome.SHAPE_LOST, message)
        if now_s - self._start_s > goal.timeout_s:
            message = (
                f'{pressure_pa / 1e3:.1f} kPa after {goal.timeout_s:g} s, '
                f'commanded {command_pa / 1e3:.1f} kPa: '
                'check that the driver is active and the supply on, or allow more time'
            )
            return self._end(goal, now_s, Outcome.TIMEOUT, message)
        if self._phase == 'open':
            if self._settled(now_s, pressure_pa, command_pa):
                self._enter('close')
        elif self._phase == 'close':
            # `ran_s` is limited, so that a stall does not become a jump of the command.
            self._command_pa = command_pa = min(command_pa + s.rate_pa_s * ran_s, goal.grip_pa)
            if self._has_contact(goal):
                self._contact_pa = pressure_pa
                self._contact_s = now_s - self._start_s
                self.holding = True
                self._command_pa = min(max(pressure_pa, 0.0) + goal.squeeze_pa, goal.grip_pa)
                self._enter('squeeze')
            elif command_pa == goal.grip_pa and self._settled(now_s, pressure_pa, command_pa):
                message = self._no_contact(goal, now_s, pressure_pa)
                return self._end(goal, now_s, Outcome.NO_CONTACT, message)
        elif self._settled(now_s, pressure_pa, command_pa):
            return self._end(goal, now_s, Outcome.REACHED, '')
        return self.status(now_s)

    def _release(self, goal: ReleaseGoal, now_s: float, pressure_pa: float) -> GripStatus:
        if self._settled(now_s, pressure_pa, goal.open_pa) and self._seen_settled(now_s):
            self.holding = False
            return self._end(goal, now_s, Outcome.REACHED, '')
        if now_s - self._start_s > goal.timeout_s:
            self.holding = False
            message = (
                f'{pressure_pa / 1e3:.1f} kPa after {goal.timeout_s:g} s, '
                f'commanded {goal.open_pa / 1e3:.1f} kPa: check the vacuum'
            )
            return self._end(goal, now_s, Outcome.TIMEOUT, message)
        return self.status(now_s)

    def _check(self, goal: GraspGoal | ReleaseGoal, now_s: float) -> None:
        low_pa, high_pa = self._limits_pa
        if not 0 < goal.timeout_s < math.inf:
            raise GoalError(f'timeout_s = {goal.timeout_s}: must be finite and > 0')
        if isinstance(goal, ReleaseGoal):
            if not low_pa <= goal.open_pa < 0:
                raise GoalError(
                    f'open_pa = {goal.open_pa / 1e3:g} kPa: must be in [{low_pa / 1e3:g}, 0) kPa'
                )
            return
        if not 0 < goal.grip_pa <= high_pa or not 0 <= goal.squeeze_pa <= high_pa:
            raise GoalError(
                f'grip_pa = {goal.grip_pa / 1e3:g} kPa, '
                f'squeeze_pa = {goal.squeeze_pa / 1e3:g} kPa: '
                f'must be in (0, {high_pa / 1e3:g}] and [0, {high_pa / 1e3:g}] kPa'
            )
        if self.holding:
            raise GoalError('the finger holds an object: release it before the next grasp')
        available = self._available(now_s)
        if not available or goal.evidence & ~available:
            raise GoalError(
                f'required evidence: {_text(goal.evidence)}, available: {_text(available)}: '
                'pressure needs `softarm calibrate grasp`, shape needs the finger detector'
            )

    def _available(self, now_s: float) -> Evidence:
        pressure = Evidence.NONE if self._reference.time_constants_s is None else Evidence.PRESSURE
        return pressure | (Evidence.SHAPE if self._sees(now_s) else Evidence.NONE)

    def _has_contact(self, goal: GraspGoal) -> bool:
        seen = self._seen_by()
        return goal.evidence & seen == goal.evidence if goal.evidence else bool(seen)

    def _seen_by(self) -> Evidence:
        contact = self._contact
        if contact is None:
            return Evidence.NONE
        return (Evidence.PRESSURE if contact.by_pressure else Evidence.NONE) | (
            Evidence.SHAPE if contact.by_shape else Evidence.NONE
        )

    def _sees(self, now_s: float) -> bool:
        return self.liveness.silence_s(SHAPE, now_s) <= self._settings.shape_timeout_s

    def _settled(self, now_s: float, pressure_pa: float, command_pa: float) -> bool:
        if not abs(pressure_pa - command_pa) <= self._settings.tolerance_pa:
            self._inside_s = None
            return False
        if self._inside_s is None:
            self._inside_s = now_s
        return now_s - self._inside_s >= self._settings.settle_s

    def _seen_settled(self, now_s: float) -> bool:
        """Return whether the newest shape shows the settled finger, or the wait for it is over."""
        assert self._inside_s is not None
        return (
            self.liveness.last_s(SHAPE) >= self._inside_s + SHAPE_LAG_S
            or not self._sees(now_s)
            or now_s - self._inside_s > MAX_SHAPE_WAIT_S
        )

    def _enter(self, phase: str) -> None:
        self._phase = phase
        self._inside_s = None

    def _no_contact(self, goal: GraspGoal, now_s: float, pressure_pa: float) -> str:
        evidence = _text(goal.evidence or self._available(now_s))
        seen = self._seen_by()
        but = f'; only {_text(seen)} showed one' if seen else ''
        return f'closed to {pressure_pa / 1e3:.1f} kPa without a contact by {evidence}{but}: vented'

    def _end(
        self, goal: GraspGoal | ReleaseGoal, now_s: float, outcome: Outcome, message: str
    ) -> GripStatus:
        """Drop the goal: hold after a contact, keep the vacuum if the goal says so, else vent."""
        self._goal = None
        opened = isinstance(goal, ReleaseGoal)
        if self.holding and not opened:
            end_state = EndState.HOLDING
        elif isinstance(goal, ReleaseGoal) and goal.stay_open and outcome is Outcome.REACHED:
            end_state = EndState.OPEN
        else:
            end_state = EndState.VENTED
            self._command_pa = 0.0
            self.holding = False
        status = replace(
            self.status(now_s),
            outcome=outcome,
            end_state=end_state,
            open_by_shape=opened and self._open_by_shape(now_s),
        )
        self._phase = 'hold' if self.holding else 'idle'
        if outcome is Outcome.CANCELLED:
            message = f'{message}; {end_state.value}'
        return replace(status, message=message)

    def _open_by_shape(self, now_s: float) -> bool:
        if self._bends_rad is None or self._pressure_pa is None or not self._sees(now_s):
            return False
        missing_rad = abs(
            float(self._bends_rad.sum()) - self._reference.bend_rad(self._pressure_pa)
        )
        return missing_rad <= max(0.2, 2 * self._reference.deficit_limit_rad)


def _text(evidence: Evidence) -> str:
    return {
        Evidence.NONE: 'none',
        Evidence.PRESSURE: 'pressure',
        Evidence.SHAPE: 'shape',
        Evidence.BOTH: 'pressure and shape',
    }[evidence]
