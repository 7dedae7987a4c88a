"""Closed-loop tip control: internal-model control with a learnt model error.

Every tick the controller solves model(lengths) + error(lengths) = target for the actuator lengths
and sends their pressures, shaped for the valves' rate and lag. The feedback is the error estimate
alone (see `estimator`), so there is no integrator to wind up: at a limit the solution is the
nearest the limits allow, and it leaves the limit as soon as the target does.

After a goal is reached the tip goes on being held there until the next goal. A fault or a cancelled
goal holds the last pressures. Once the driver is gone or inactive for a second nothing is commanded
until the next goal: an arm that was vented must not be led back.
"""

from dataclasses import dataclass, replace

import numpy as np

from soft_arm_control.errors import DriverLostError, GoalError, RingError
from soft_arm_control.liveness_monitor import DRIVER, LivenessMonitor, since
from soft_arm_control.outcome import Outcome
from soft_arm_control.tip.bias_filter import BiasFilter
from soft_arm_control.tip.command_shaper import PERIOD_S, REFERENCE_TIME_CONSTANT_S, CommandShaper
from soft_arm_control.tip.differential_ik import differential_ik
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.goal import Goal
from soft_arm_control.tip.residual_model import ResidualModel
from soft_arm_kinematics.arm import BellowsArm

HELD_WITHIN_PA = 4.0e3  # a held chamber this near its pressure counts where it is measured: valves do not quite reach full vacuum
CREEP_MADE_UP = 0.4  # share of the creep still to come that is made up for: what is taken back later, hysteresis keeps in part


CAMERA, RING = 'camera', 'ring'  # sources of the liveness monitor, besides the driver


@dataclass(frozen=True)
class ControllerSettings:
    """Deadlines, and what counts as reached."""

    camera_timeout_s: float = (
        0.8  # without images the estimate, and so the correction, stands still
    )
    ring_timeout_s: float = 0.8
    pressures_timeout_s: float = 0.3
    driver_gone_s: float = (
        1.0  # longer than a driver that recovers by itself is inactive, or silent
    )
    hold_s: float = 0.25  # the error must stay within tolerance for this long
    saturated_m: float = 0.0005  # a solution this far off its target is held back by the limits ..
    saturated_s: float = 1.0  # .. and ends the goal after this long
    known_m: float = 0.0005  # an estimate with a smaller deviation is worth remembering


@dataclass(frozen=True)
class Status:
    """The loop after a tick. None where there is no such value."""

    phase: str  # idle, approach, correct, settle, hold
    elapsed_s: float
    error_m: float | None  # estimated tip from the target
    tip_m: np.ndarray | None  # (3,), estimated
    waypoint: int
    outcome: Outcome | None = None  # set in the tick that ends the goal
    message: str = ''
    settle_s: float | None = None


class TipController:
    """The loop's state. All times are on one clock [s]; samples carry their stamps, `step` the present."""

    def __init__(
        self,
        arm: BellowsArm,
        dynamics: Dynamics,
        settings: ControllerSettings = ControllerSettings(),
    ):
        self._arm, self._dynamics, self._settings = arm, dynamics, settings
        self.residual_model = ResidualModel(np.mean(arm.length_limits_m, axis=0))
        self.estimator = BiasFilter(arm, self.residual_model, dynamics)
        self._preview_s = (
            dynamics.mechanical_lag_s + dynamics.valve_delay_s + REFERENCE_TIME_CONSTANT_S
        )
        self.liveness = LivenessMonitor(PERIOD_S, settings.driver_gone_s)
        self._measured_pa: np.ndarray | None = None
        self._valves: CommandShaper | None = None
        self._applied_pa: np.ndarray | None = None
        self._lengths_m: np.ndarray | None = None
        self._goal: Goal | None = None
        self._target_m: np.ndarray | None = None
        self._reached = False  # and held on
        self._start_s = 0.0
        self._inside_s = self._free_s = (
            None  # since when inside the tolerance, and last time clear of the limits
        )
        self._errors_m: list[float] = []
        self.ring_trouble = ''  # what the ring's detector says about the images without a ring

    @property
    def applied_pa(self) -> np.ndarray | None:
        """Last commanded pressures [Pa], shape (n,); None when nothing is commanded."""
        return self._applied_pa

    @property
    def measured_pa(self) -> np.ndarray | None:
        """Last measured pressures [Pa], shape (n,)."""
        return self._measured_pa

    @property
    def target_m(self) -> np.ndarray | None:
        """Where the tip shall be at the last tick [m], shape (3,); None without a goal."""
        return self._target_m if self._goal is not None else None

    @property
    def active(self) -> bool:
        """Whether a goal is being worked on."""
        return self._goal is not None and not self._reached

    @property
    def path_errors_m(self) -> np.ndarray:
        """Measured distances [m] of the ring from the present or last goal's path, one for each image."""
        return np.array(self._errors_m)

    def add_pressures(self, stamp_s: float, pressures_pa: np.ndarray) -> None:
        """Take measured gauge pressures [Pa], shape (n,)."""
        self.liveness.heard(DRIVER, stamp_s)
        self._measured_pa = np.asarray(pressures_pa, float)
        self.estimator.add_pressures(stamp_s, self._measured_pa)

    def add_image(self, stamp_s: float) -> None:
        """Record that the camera lives, whether or not the ring is in the image."""
        self.liveness.heard(CAMERA, stamp_s)

    def add_ring(self, stamp_s: float, ring_m: np.ndarray, covariance_m2: np.ndarray) -> None:
        """Take a ring centre [m], base frame, with its covariance [m^2], seen in the image stamped `stamp_s`."""
        self.add_image(stamp_s)
        used = self.estimator.add_ring(stamp_s, ring_m, covariance_m2)
        if not self.estimator.contradiction:
            self.liveness.heard(RING, stamp_s)
        if used and self.active and stamp_s > self._start_s:
            self._errors_m.append(
                float(np.linalg.norm(ring_m - self._goal.at(stamp_s - self._start_s)[0]))
            )

    def start(self, goal: Goal, now_s: float) -> None:
        """Begin a goal; one that is under way is replaced without a jump.

        Raises:
            DriverLostError: If no pressures are being measured.
            RingError: If the ring is seen where this arm cannot be, and the goal needs it.
            GoalError: If the goal is of another arm.
        """
        s = self._settings
        if (
            self._measured_pa is None
            or self.liveness.silence_s(DRIVER, now_s) > s.pressures_timeout_s
        ):
            raise DriverLostError(
                'no measured pressures: start the pneumatic driver and activate it'
            )
        if goal.lengths_m.shape[1:] != self._measured_pa.shape:
            raise GoalError(
                f'goal with {goal.lengths_m.shape[1]} lengths: the arm has {len(self._measured_pa)} actuators'
            )
        if (
            self.estimator.contradiction
            and not goal.open_loop
            and now_s - self.liveness.last_s(RING) > s.ring_timeout_s
        ):
            raise RingError(f'{self.estimator.contradiction}; goal refused')
        before = self._goal
        if before is not None and not before.open_loop and self.estimator.deviation_m < s.known_m:
            self.estimator.remember()
        if self._valves is None:
            self._valves = CommandShaper(
                self._dynamics, self._arm.pressure_limits_pa, self._measured_pa
            )
        self._goal, self._reached, self._start_s = goal, False, now_s
        self._inside_s, self._free_s, self._errors_m = None, now_s, []
        self._lengths_m = goal.at(0.0)[1]

    def cancel(self, now_s: float) -> Status:
        """Give up the goal and hold the last pressures; return the status that it ends with."""
        return self._end(now_s, Outcome.CANCELLED, 'cancelled by the client; last pressures held')[
            1
        ]

    def lacking(self, now_s: float) -> str:
        """Return why a goal would not be carried out now, in one line; empty when it would."""
        fault = self._fault(now_s, open_loop=False)
        return fault[1] if fault else ''

    def step(self, now_s: float) -> tuple[np.ndarray | None, Status]:
        """One tick, `valves.PERIOD_S` after the last: pressures to command [Pa], None when there are none, and the status."""
        self.liveness.tick(now_s)
        gone_s = self._settings.driver_gone_s
        if self.liveness.driver_lost(now_s, gone_s, gone_s):
            self._applied_pa = self._valves = None
        if self._goal is None:
            return self._applied_pa, Status('idle', 0.0, None, self._tip(), 0)
        fault = self._fault(now_s, self._goal.open_loop)
        if fault is not None:
            return self._end(now_s, *fault)
        elapsed_s = now_s - self._start_s
        short_m = self._move(*self._goal.at(elapsed_s + self._preview_s))
        if short_m <= self._settings.saturated_m:
            self._free_s = now_s
        return self._judge(now_s, elapsed_s, short_m)

    def _move(self, target_m, preferred_m) -> float:
        """Command the pressures for a target; return how far [m] the limits keep the solution from it."""
        goal, arm = self._goal, self._arm
        preferred_m = lengths_m = np.clip(preferred_m, *arm.length_limits_m)
        short_m = 0.0
        if not goal.open_loop:
            preferred_pa = arm.pressures(preferred_m)
            held_pa = np.clip(
                self._measured_pa, preferred_pa - HELD_WITHIN_PA, preferred_pa + HELD_WITHIN_PA
            )
            start_m = np.where(
                goal.free, self._lengths_m, arm.lengths(np.clip(held_pa, *arm.pressure_limits_pa))
            )
            lengths_m, short_m = differential_ik(
                arm,
                start_m,
                target_m - self.estimator.error_m(start_m),
                preferred_m,
                arm.length_limits_m,
                goal.free,
            )
        self._lengths_m = np.where(goal.free, lengths_m, preferred_m)
        wanted_pa = arm.pressures(self._lengths_m)
        if not goal.open_loop:
            ahead_pa = wanted_pa + CREEP_MADE_UP * self.estimator.creep_deficit_pa(wanted_pa)
            wanted_pa = np.where(goal.free, np.clip(ahead_pa, *arm.pressure_limits_pa), wanted_pa)
        self._applied_pa = self._valves.step(wanted_pa, self._measured_pa)
        return short_m

    def _judge(self, now_s, elapsed_s, short_m):
        s, goal = self._settings, self._goal
        tip_m = self._tip()
        self._target_m = goal.at(elapsed_s)[0]
        error_m = float(np.linalg.norm(tip_m - self._target_m))
        arrived = self._valves.resting and elapsed_s >= goal.duration_s
        inside = (
            arrived
            if goal.open_loop
            else elapsed_s >= goal.duration_s and error_m <= goal.tolerance_m
        )
        self._inside_s = (now_s if self._inside_s is None else self._inside_s) if inside else None
        phase = (
            'hold'
            if self._reached
            else 'settle'
            if inside
            else 'correct'
            if arrived
            else 'approach'
        )
        status = Status(phase, elapsed_s, error_m, tip_m, goal.waypoint(elapsed_s))
        if self._reached:
            return self._applied_pa, status
        if inside and now_s - self._inside_s >= s.hold_s:
            self._reached = True
            return self._applied_pa, replace(
                status, outcome=Outcome.REACHED, settle_s=self._inside_s - self._start_s
            )
        if now_s - self._free_s > s.saturated_s:
            return self._end(
                now_s,
                Outcome.SATURATED,
                f'length limits leave the tip {1e3 * short_m:.1f} mm from the target: '
                'choose a target further inside the workspace or free the held segments',
            )
        if elapsed_s - goal.duration_s > goal.timeout_s:
            return self._end(
                now_s,
                Outcome.TIMEOUT,
                f'tip is {1e3 * error_m:.2f} mm from the target after {goal.timeout_s:.1f} s, '
                f'tolerance {1e3 * goal.tolerance_m:.2f} mm: allow more of either',
            )
        return self._applied_pa, status

    def _fault(self, now_s, open_loop) -> tuple[Outcome, str] | None:
        s, liveness = self._settings, self.liveness
        if lost := liveness.driver_lost(now_s, s.pressures_timeout_s, s.driver_gone_s):
            return Outcome.DRIVER_LOST, lost
        if open_loop:
            return None
        image_s, ring_s = liveness.silence_s(CAMERA, now_s), liveness.silence_s(RING, now_s)
        if image_s > s.camera_timeout_s:
            return (
                Outcome.CAMERA_STALE,
                f'no image {since(image_s)} (limit {s.camera_timeout_s} s): check the camera',
            )
        if ring_s > s.ring_timeout_s:
            return Outcome.RING_LOST, self.estimator.contradiction or (
                f'no ring detected {since(ring_s)} (limit {s.ring_timeout_s} s). {self.ring_trouble or "The ring detector says nothing"}. '
                'Check that nothing covers the ring, its colour in the robot file and the scene behind it'
            )
        return None

    def _end(self, now_s, outcome, message):
        """Drop the goal, hold the last pressures. A fault while a reached target is held ends the holding and is reported too."""
        goal, self._goal = self._goal, None
        tip_m, elapsed_s = self._tip(), now_s - self._start_s
        error_m = None if tip_m is None else float(np.linalg.norm(tip_m - goal.at(elapsed_s)[0]))
        return self._applied_pa, Status(
            'idle', elapsed_s, error_m, tip_m, goal.waypoint(elapsed_s), outcome, message
        )

    def _tip(self) -> np.ndarray | None:
        return None if self._measured_pa is None else self.estimator.tip_m()
