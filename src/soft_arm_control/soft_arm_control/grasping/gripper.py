"""Grasp and release with one finger chamber: pressure profile, contact, and what stays when something goes wrong.

Until something was touched every end of a goal vents. From then on it holds, because what falls
does more harm than what is held; only a release lets go. Without measured pressures nothing is
commanded, so the driver vents.
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
SHAPE_LAG_S, SHAPE_WAIT_S = (
    0.2,
    1.0,
)  # of the finger behind its pressure; for an image of the finger at rest

SHAPE = 'shape'  # source of the liveness monitor, besides the driver


class Evidence(enum.Flag):
    """What has shown, or has to show, a contact."""

    NONE = 0
    PRESSURE = 1
    SHAPE = 2
    BOTH = 3


class EndState(enum.Enum):
    """What the gripper does after a goal."""

    NOTHING_COMMANDED = 'nothing commanded'
    HOLDING = 'holding'
    OPEN = 'open'
    VENTED = 'vented'
    OTHER_GOAL = 'other goal'


@dataclass(frozen=True)
class GraspGoal:
    """Pressures [Pa] gauge; `evidence` NONE: whichever is at hand."""

    grip_pa: float
    squeeze_pa: float
    timeout_s: float
    evidence: Evidence = Evidence.NONE


@dataclass(frozen=True)
class ReleaseGoal:
    """Vacuum to open with [Pa] gauge, and whether it is kept."""

    open_pa: float
    timeout_s: float
    stay_open: bool = False


@dataclass(frozen=True)
class GraspSettings:
    """Profile and deadlines."""

    open_pa: float = -60.0e3  # vacuum that the closing starts from
    rate_pa_s: float = 50.0e3  # of closing; no_load_reference.yaml was measured at this rate
    tolerance_pa: float = 4.0e3
    settle_s: float = 0.3  # the pressure must stay within tolerance for this long
    pressures_timeout_s: float = 0.3  # during a goal; also of an inactive driver
    shape_timeout_s: float = 0.6
    driver_gone_s: float = (
        1.0  # while holding: longer than a driver that recovers by itself is inactive, or silent
    )


@dataclass(frozen=True)
class GripStatus:
    """The gripper after a tick. None where there is no such value."""

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
    """The gripper's state. All times are on one clock [s]; samples carry their stamps, `step` the present."""

    def __init__(
        self,
        free: NoLoadReference,
        limits_pa: tuple[float, float],
        settings: GraspSettings = GraspSettings(),
    ):
        self._free, self._limits_pa, self._settings = free, limits_pa, settings
        self._pressure_pa: float | None = None
        self._bends_rad: np.ndarray | None = None
        self.liveness = LivenessMonitor(PERIOD_S, settings.driver_gone_s)
        self._goal: GraspGoal | ReleaseGoal | None = None
        self._phase, self._start_s, self._phase_s, self._inside_s = 'idle', 0.0, 0.0, None
        self._command_pa: float | None = None
        self._contact: ContactDetector | None = None
        self._contact_pa = self._contact_s = None
        self.holding = False  # something was touched and has not been released

    @property
    def active(self) -> bool:
        """Whether a goal is being worked on."""
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
        """Take the measured gauge pressure and what the device regulates to [Pa]."""
        self.liveness.heard(DRIVER, stamp_s)
        self._pressure_pa = pressure_pa
        if self._contact is not None and self._phase in ('close', 'squeeze'):
            self._contact.add_pressure(stamp_s, pressure_pa, set_point_pa)

    def add_shape(self, stamp_s: float, bends_rad: np.ndarray) -> None:
        """Take the bends of the pieces [rad] as seen in the image of this stamp."""
        self.liveness.heard(SHAPE, stamp_s)
        self._bends_rad = np.asarray(bends_rad, float)
        if self._contact is not None and self._phase in ('close', 'squeeze'):
            self._contact.add_shape(stamp_s, self._bends_rad)

    def lacking(self, now_s: float) -> str:
        """Why a goal would not be carried out now, in one line; empty when it would."""
        limit_s = self._settings.pressures_timeout_s
        return self.liveness.driver_lost(now_s, limit_s, limit_s)

    def start(self, goal: GraspGoal | ReleaseGoal, now_s: float) -> None:
        """Begin a goal; one that is under way is replaced.

        Raises:
            DriverLostError: If no pressures are being measured.
            GoalError: If the goal cannot be taken; nothing changes.
        """
        if self.liveness.silence_s(DRIVER, now_s) > self._settings.pressures_timeout_s:
            raise DriverLostError('no measured pressures: start the gripper driver and activate it')
        self._check(goal, now_s)
        self._goal, self._start_s = goal, now_s
        if isinstance(goal, GraspGoal):
            self._contact, self._contact_pa, self._contact_s = (
                ContactDetector(self._free),
                None,
                None,
            )
            self._command_pa = self._settings.open_pa
        else:
            self._command_pa = goal.open_pa
        self._enter('open', now_s)

    def status(self, now_s: float) -> GripStatus:
        """Where the goal under way is."""
        contact, elapsed_s = (
            self._contact,
            now_s - self._start_s if self._goal is not None or self._phase != 'idle' else 0.0,
        )
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
        """Give up the goal under way: vent, or hold what was touched."""
        return self._end(now_s, Outcome.CANCELLED, 'cancelled by the client')

    def step(self, now_s: float) -> tuple[float | None, GripStatus]:
        """One tick, `PERIOD_S` after the last: signed gauge pressure to command [Pa], None when there is none, and the status."""
        ran_s, s = self.liveness.tick(now_s), self._settings
        limit_s = s.driver_gone_s if self._goal is None else s.pressures_timeout_s
        gone = self.liveness.driver_lost(now_s, limit_s, limit_s)
        if gone and self._goal is not None:
            self.holding = False
            status = self._end(now_s, Outcome.DRIVER_LOST, gone)
            self._command_pa = None
            return None, replace(status, end_state=EndState.NOTHING_COMMANDED)
        if gone:
            self._command_pa, self.holding, self._phase = None, False, 'idle'
        if self._goal is None:
            return self._take_command(), self.status(now_s)
        if isinstance(self._goal, ReleaseGoal):
            status = self._release(now_s)
        else:
            status = self._grasp(now_s, ran_s)
        return self._take_command(), status

    def _take_command(self) -> float | None:
        """The command of this tick. Venting is said once; then nothing is, and others may command."""
        command_pa = self._command_pa
        if command_pa == 0.0 and self._goal is None:
            self._command_pa = None
        return command_pa

    def _grasp(self, now_s: float, ran_s: float) -> GripStatus:
        goal, s = self._goal, self._settings
        if goal.evidence & Evidence.SHAPE and not self.holding and not self._sees(now_s):
            return self._end(
                now_s,
                Outcome.SHAPE_LOST,
                f'no shape {since(self.liveness.silence_s(SHAPE, now_s))}, limit {s.shape_timeout_s} s: check the camera',
            )
        if now_s - self._start_s > goal.timeout_s:
            return self._end(
                now_s,
                Outcome.TIMEOUT,
                f'{self._pressure_pa / 1e3:.1f} kPa after {goal.timeout_s:g} s, commanded {self._command_pa / 1e3:.1f} kPa: '
                'check that the driver is active and the supply on, or allow more time',
            )
        if self._phase == 'open':
            if self._settled(now_s):
                self._enter('close', now_s)
        elif self._phase == 'close':
            self._command_pa = min(
                self._command_pa + s.rate_pa_s * ran_s, goal.grip_pa
            )  # a stall must not become a jump
            if self._touched():
                self._contact_pa, self._contact_s, self.holding = (
                    self._pressure_pa,
                    now_s - self._start_s,
                    True,
                )
                self._command_pa = min(max(self._pressure_pa, 0.0) + goal.squeeze_pa, goal.grip_pa)
                self._enter('squeeze', now_s)
            elif self._command_pa == goal.grip_pa and self._settled(now_s):
                return self._end(now_s, Outcome.NO_CONTACT, self._nothing_touched(now_s))
        elif self._settled(now_s):
            return self._end(now_s, Outcome.REACHED, '')
        return self.status(now_s)

    def _release(self, now_s: float) -> GripStatus:
        goal = self._goal
        if self._settled(now_s) and self._seen_since(now_s):
            self.holding = False
            return self._end(now_s, Outcome.REACHED, '')
        if now_s - self._start_s > goal.timeout_s:
            self.holding = False
            return self._end(
                now_s,
                Outcome.TIMEOUT,
                f'{self._pressure_pa / 1e3:.1f} kPa after {goal.timeout_s:g} s, commanded {goal.open_pa / 1e3:.1f} kPa: check the vacuum',
            )
        return self.status(now_s)

    def _check(self, goal, now_s) -> None:
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
                f'grip_pa = {goal.grip_pa / 1e3:g} kPa, squeeze_pa = {goal.squeeze_pa / 1e3:g} kPa: '
                f'must be in (0, {high_pa / 1e3:g}] and [0, {high_pa / 1e3:g}] kPa'
            )
        if self.holding:
            raise GoalError('something is held: release it before the next grasp')
        at_hand = self._at_hand(now_s)
        if not at_hand or goal.evidence & ~at_hand:
            raise GoalError(
                f'evidence asked for: {_said(goal.evidence)}, at hand: {_said(at_hand)}: '
                'pressure needs `softarm calibrate grasp`, shape needs the finger detector'
            )

    def _at_hand(self, now_s: float) -> Evidence:
        pressure = Evidence.NONE if self._free.time_constants_s is None else Evidence.PRESSURE
        return pressure | (Evidence.SHAPE if self._sees(now_s) else Evidence.NONE)

    def _touched(self) -> bool:
        seen, asked = self._seen_by(), self._goal.evidence
        return bool(seen) if not asked else asked & seen == asked

    def _seen_by(self) -> Evidence:
        contact = self._contact
        if contact is None:
            return Evidence.NONE
        return (Evidence.PRESSURE if contact.by_pressure else Evidence.NONE) | (
            Evidence.SHAPE if contact.by_shape else Evidence.NONE
        )

    def _sees(self, now_s: float) -> bool:
        return self.liveness.silence_s(SHAPE, now_s) <= self._settings.shape_timeout_s

    def _settled(self, now_s: float) -> bool:
        inside = abs(self._pressure_pa - self._command_pa) <= self._settings.tolerance_pa
        self._inside_s = (now_s if self._inside_s is None else self._inside_s) if inside else None
        return inside and now_s - self._inside_s >= self._settings.settle_s

    def _seen_since(self, now_s: float) -> bool:
        """Whether the newest shape is of the settled finger, or none may be waited for."""
        return (
            self.liveness.last_s(SHAPE) >= self._inside_s + SHAPE_LAG_S
            or not self._sees(now_s)
            or now_s - self._inside_s > SHAPE_WAIT_S
        )

    def _enter(self, phase: str, now_s: float) -> None:
        self._phase, self._phase_s, self._inside_s = phase, now_s, None

    def _nothing_touched(self, now_s: float) -> str:
        at_hand = self._at_hand(now_s)
        seen = self._seen_by()
        but = f'; only {_said(seen)} showed one' if seen else ''
        return f'closed to {self._pressure_pa / 1e3:.1f} kPa without a contact by {_said(self._goal.evidence or at_hand)}{but}: vented'

    def _end(self, now_s, outcome, message) -> GripStatus:
        """Drop the goal: hold what was touched, keep a vacuum that was to be kept, else vent."""
        goal, self._goal = self._goal, None
        opened = isinstance(goal, ReleaseGoal)
        if self.holding and not opened:
            end_state = EndState.HOLDING
        elif opened and goal.stay_open and outcome is Outcome.REACHED:
            end_state = EndState.OPEN
        else:
            end_state, self._command_pa, self.holding = EndState.VENTED, 0.0, False
        status = replace(
            self.status(now_s),
            outcome=outcome,
            end_state=end_state,
            open_by_shape=opened and self._looks_open(now_s),
        )
        self._phase = 'hold' if self.holding else 'idle'
        return replace(
            status,
            message=f'{message}; {end_state.value}' if outcome is Outcome.CANCELLED else message,
        )

    def _looks_open(self, now_s: float) -> bool:
        if not self._sees(now_s):
            return False
        missing_rad = abs(float(self._bends_rad.sum()) - self._free.bend_rad(self._pressure_pa))
        return missing_rad <= max(0.2, 2 * self._free.deficit_limit_rad)


def _said(evidence: Evidence) -> str:
    return {
        Evidence.NONE: 'none',
        Evidence.PRESSURE: 'pressure',
        Evidence.SHAPE: 'shape',
        Evidence.BOTH: 'pressure and shape',
    }[evidence]
