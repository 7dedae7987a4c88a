"""Closed-loop tip control: internal-model control with an estimated model error.

Every tick the controller solves model(lengths) + error(lengths) = target for the actuator lengths,
inverts the identified creep and hysteresis for the pressures that give these lengths at once, and
commands them through the command shaper, which inverts the valves. The model is the quasi-static
arm under gravity (see `loaded_arm`). The feedback is the estimate of the model error and of the
swing about the quasi-static tip (see `bias_filter`). The velocity of the swing, multiplied by a
gain, adds damping to the slow modes. No integrator winds up: at a limit the solution is the point
nearest to the target that the limits allow, and it leaves the limit as soon as the target does.

After a goal is reached the controller holds the tip there until the next goal. After a fault or a
cancelled goal it stops at the present pressures and holds them. Once the driver has been silent or
inactive for a second it commands nothing until the next goal, so that an arm that was vented does
not move by itself.

A goal that starts while the tip is not measured first returns, in open loop, to the last pressures
at which it was measured at rest; held segments do not. Without a measurement there, the arm moves
to the goal by the model. The loop is closed as soon as the tip is measured. If the tip is lost
again on the way, the rest of the way is in open loop.
"""

from dataclasses import dataclass, replace

import numpy as np

from soft_arm_control.errors import DriverLostError, GoalError, TipPoseError
from soft_arm_control.liveness_monitor import DRIVER, LivenessMonitor, since
from soft_arm_control.outcome import Outcome
from soft_arm_control.tip.bias_filter import BiasFilter
from soft_arm_control.tip.command_shaper import PERIOD_S, REFERENCE_TIME_CONSTANT_S, CommandShaper
from soft_arm_control.tip.differential_ik import differential_ik
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.goal import Goal
from soft_arm_control.tip.residual_model import ResidualModel
from soft_arm_control.tip.way_back import WayBack
from soft_arm_kinematics.arm import BellowsArm

# Largest difference between the measured pressure of a held chamber, which the model uses, and the
# commanded one: valves do not reach full vacuum exactly.
MAX_HELD_DEVIATION_PA = 4.0e3
ADDED_DAMPING_RATIO = 0.25  # of the slow modes, while the loop is closed
# Further sources of the liveness monitor.
CAMERA = 'camera'
TIP = 'tip'


@dataclass(frozen=True)
class ControllerSettings:
    """Timeouts, and the conditions under which a goal is reached or ends saturated."""

    camera_timeout_s: float = 0.8
    tip_timeout_s: float = 0.8
    pressures_timeout_s: float = 0.3
    # A driver that recovers by itself is silent or inactive for less than this.
    driver_gone_s: float = 1.0
    hold_s: float = 0.25  # within tolerance up to the last image, until a goal is reached
    max_ik_error_m: float = 0.0005  # above it the length limits saturate
    max_saturated_s: float = 1.0  # time at the nearest point that the limits allow
    # Largest standard deviation of an estimate that the residual model learns.
    max_learned_deviation_m: float = 0.0005


@dataclass(frozen=True)
class Status:
    """State of the controller after a tick. None: not available."""

    phase: str = 'idle'  # idle, return, approach, correct, settle, hold
    elapsed_s: float = 0.0
    error_m: float | None = None  # distance of the estimated tip from the target
    tip_m: np.ndarray | None = None  # (3,), estimated, base frame
    waypoint: int = 0
    outcome: Outcome | None = None  # set in the tick that ends the goal
    message: str = ''
    settle_s: float | None = None


class TipController:
    """Control the tip of one arm. All times are on one clock [s], samples have their own stamps."""

    def __init__(
        self,
        arm: BellowsArm,
        dynamics: Dynamics,
        settings: ControllerSettings = ControllerSettings(),
    ):
        self._arm = arm
        self._dynamics = dynamics
        self._settings = settings
        self.residual_model = ResidualModel(arm.n_actuators)
        self._bias_filter = BiasFilter(arm, self.residual_model, dynamics)
        self._preview_s = (
            dynamics.mechanical_lag_s + dynamics.valve_delay_s + REFERENCE_TIME_CONSTANT_S
        )
        self.liveness = LivenessMonitor(PERIOD_S, settings.driver_gone_s)
        self._measured_pa: np.ndarray | None = None
        self._new_pa: np.ndarray | None = None  # measured since the last command
        self._held_pa = np.zeros(arm.n_actuators)  # while no goal is active
        self._shaper: CommandShaper | None = None
        self._applied_pa: np.ndarray | None = None
        self._lengths_m: np.ndarray | None = None
        self._goal: Goal | None = None
        self._target_m: np.ndarray | None = None
        self._reached = False
        self._start_s = 0.0
        self._inside_s: float | None = None  # since when the tip is inside the tolerance
        self._unsaturated_s = 0.0  # last time that the tip could come nearer to its target
        self._errors_m: list[float] = []
        self._way_back = WayBack(settings.tip_timeout_s)
        self.tip_trouble = ''  # why the tip was not measured last

    @property
    def applied_pa(self) -> np.ndarray | None:
        """Return the last commanded pressures [Pa], shape (n,); None when nothing is commanded."""
        return self._applied_pa

    @property
    def measured_pa(self) -> np.ndarray | None:
        """Return the last measured pressures [Pa], shape (n,)."""
        return self._measured_pa

    @property
    def bias_filter(self) -> BiasFilter:
        """Return the estimator of the loop."""
        return self._bias_filter

    @property
    def target_m(self) -> np.ndarray | None:
        """Return the target of the last tick [m], shape (3,); None without a goal."""
        return self._target_m if self._goal is not None else None

    @property
    def active(self) -> bool:
        """Return whether a goal is active and not yet reached."""
        return self._goal is not None and not self._reached

    @property
    def path_errors_m(self) -> np.ndarray:
        """Return the distance [m] of the tip from the path in each image of the last goal."""
        return np.array(self._errors_m)

    def add_pressures(self, stamp_s: float, pressures_pa: np.ndarray) -> None:
        """Add measured gauge pressures [Pa], shape (n,)."""
        self.liveness.heard(DRIVER, stamp_s)
        self._measured_pa = self._new_pa = np.asarray(pressures_pa, float)
        self._bias_filter.add_pressures(stamp_s, self._measured_pa)

    def add_image(self, stamp_s: float) -> None:
        """Record that an image arrived, whether or not the tip was detected in it."""
        self.liveness.heard(CAMERA, stamp_s)

    def add_tip_pose(
        self, stamp_s: float, measured_m: np.ndarray, covariance_m2: np.ndarray
    ) -> None:
        """Add a measured tip [m], base frame, with its covariance [m^2], by its image's stamp."""
        self.add_image(stamp_s)
        used = self._bias_filter.add_tip_pose(stamp_s, measured_m, covariance_m2)
        if not self._bias_filter.contradiction:
            self.liveness.heard(TIP, stamp_s)
            if self._measured_pa is not None:
                self._way_back.remember(stamp_s, self._measured_pa)
        if used and self._goal is not None and not self._reached and stamp_s > self._start_s:
            target_m, _ = self._goal.at(stamp_s - self._start_s)
            self._errors_m.append(float(np.linalg.norm(measured_m - target_m)))

    def start(self, goal: Goal, now_s: float) -> None:
        """Start a goal; it replaces the active one without a jump of the commands.

        Raises:
            DriverLostError: If no measured pressures arrive.
            TipPoseError: If the goal needs the camera and the measured tip contradicts the model.
            GoalError: If the goal has another number of lengths than the arm.
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
                f'goal with {goal.lengths_m.shape[1]} lengths: '
                f'the arm has {len(self._measured_pa)} actuators'
            )
        if (
            self._bias_filter.contradiction
            and not goal.open_loop
            and now_s - self.liveness.last_s(TIP) > s.tip_timeout_s
        ):
            raise TipPoseError(f'{self._bias_filter.contradiction}; goal rejected')
        before = self._goal
        if (
            before is not None
            and not before.open_loop
            and before.payload_kg == goal.payload_kg  # else the load may hang there already
            and self._bias_filter.deviation_m < s.max_learned_deviation_m
        ):
            self._bias_filter.learn()
        self._bias_filter.set_payload(goal.payload_kg)
        if self._shaper is None:
            self._shaper = CommandShaper(
                self._dynamics, self._arm.pressure_limits_pa, self._measured_pa
            )
        self._shaper.velocity_scaling = goal.velocity_scaling
        self._goal = goal
        self._reached = False
        self._start_s = self._unsaturated_s = now_s
        self._inside_s, self._errors_m = None, []
        self._lengths_m = goal.at(0.0)[1]
        if goal.open_loop:
            self._way_back.end()
        else:
            lengths_m = np.clip(self._lengths_m, *self._arm.length_limits_m)
            self._way_back.prepare(self._arm.pressures(lengths_m), goal.free)

    def cancel(self, now_s: float) -> Status:
        """Cancel the active goal and hold the present pressures; return its last status."""
        assert self._goal is not None, 'no goal to cancel'
        message = 'cancelled by the client; the arm stops and holds the present pressures'
        return self._end(self._goal, now_s, Outcome.CANCELLED, message)

    def not_ready_reason(self, now_s: float, open_loop: bool = False) -> str:
        """Return why a goal would fail now, in one line; empty if it would not."""
        fault = self._fault(now_s, open_loop)
        return fault[1] if fault else ''

    def step(self, now_s: float) -> tuple[np.ndarray | None, Status]:
        """Run one tick, `PERIOD_S` after the last.

        Returns:
            Pressures to command [Pa], shape (n,), None when nothing is commanded; and the status.
        """
        self.liveness.tick(now_s)
        gone_s = self._settings.driver_gone_s
        if self.liveness.driver_lost(now_s, gone_s, gone_s):
            self._applied_pa = self._shaper = None
        goal = self._goal
        if goal is None:
            return self._hold(), Status(tip_m=self._tip())
        if self._way_back.update(now_s, self.liveness.silence_s(TIP, now_s), self._start_s):
            self._start_s = self._unsaturated_s = now_s
        fault = self._fault(now_s, goal.open_loop)
        if fault is not None:
            status = self._end(goal, now_s, *fault)
            return self._hold(), status
        if self._way_back.active:
            return self._return(now_s)
        elapsed_s = now_s - self._start_s
        short_m = self._move(goal, elapsed_s + self._preview_s - self._bias_filter.ahead_s)
        return self._judge(goal, now_s, short_m)

    def _move(self, goal: Goal, at_s: float) -> float:
        """Command the pressures for the target at a time.

        Returns:
            Distance [m] from the target at which the length limits keep the solution.
        """
        # `start` sets these; a driver lost since then is a fault.
        assert self._shaper is not None
        assert self._measured_pa is not None
        assert self._lengths_m is not None
        arm = self._arm
        target_m, preferred_m = goal.at(at_s)
        preferred_m = lengths_m = np.clip(preferred_m, *arm.length_limits_m)
        short_m = 0.0
        if not goal.open_loop:
            preferred_pa = arm.pressures(preferred_m)
            held_pa = np.clip(
                self._measured_pa,
                preferred_pa - MAX_HELD_DEVIATION_PA,
                preferred_pa + MAX_HELD_DEVIATION_PA,
            )
            effect = self._bias_filter.effect
            acting_pa = [effect.settled(limit_pa) for limit_pa in self._shaper.reachable_pa]
            acting_pa.append(effect.effective(held_pa))
            acting_m = arm.lengths(arm.clip_pressures(np.array(acting_pa)))
            limits_m = np.where(goal.free, acting_m[:2], arm.length_limits_m)
            start_m = np.where(goal.free, self._lengths_m, acting_m[2])
            model_target_m = target_m - self._bias_filter.error_m(start_m)
            lengths_m, short_m = differential_ik(
                self._bias_filter.model, start_m, model_target_m, preferred_m, limits_m, goal.free
            )
        self._lengths_m = np.where(goal.free, lengths_m, preferred_m)
        wanted_pa = arm.pressures(self._lengths_m)
        if not goal.open_loop:
            ahead_s = self._dynamics.valve_delay_s + REFERENCE_TIME_CONSTANT_S
            target_m_s = (goal.at(at_s + PERIOD_S)[0] - target_m) / PERIOD_S
            damping_m = self._bias_filter.damping_m(ahead_s, ADDED_DAMPING_RATIO, target_m_s)
            damped_m = np.clip(self._lengths_m + damping_m, *arm.length_limits_m)
            inverse_pa = self._bias_filter.effect.pressures(arm.pressures(damped_m))
            wanted_pa = np.where(goal.free, arm.clip_pressures(inverse_pa), wanted_pa)
        new_pa, self._new_pa = self._new_pa, None
        self._applied_pa = self._shaper.step(wanted_pa, new_pa)
        return short_m

    def _return(self, now_s: float) -> tuple[np.ndarray, Status]:
        """Command the pressures of the way back."""
        assert self._shaper is not None  # as in `_move`
        wanted_pa = self._way_back.wanted_pa(now_s, resting=self._shaper.resting)
        new_pa, self._new_pa = self._new_pa, None
        self._applied_pa = self._shaper.step(wanted_pa, new_pa)
        return self._applied_pa, Status('return', now_s - self._start_s, tip_m=self._tip())

    def _hold(self) -> np.ndarray | None:
        """Command the held pressures, if anything is commanded, and return the command [Pa]."""
        if self._shaper is not None and self._applied_pa is not None:
            new_pa, self._new_pa = self._new_pa, None
            self._applied_pa = self._shaper.hold(self._held_pa, new_pa)
        return self._applied_pa

    def _judge(self, goal: Goal, now_s: float, short_m: float) -> tuple[np.ndarray | None, Status]:
        """Return the command and the status of this tick; end the goal if its time is over."""
        s = self._settings
        elapsed_s = now_s - self._start_s
        tip_m = self._bias_filter.tip_m()
        self._target_m = goal.at(elapsed_s)[0]
        error_m = float(np.linalg.norm(tip_m - self._target_m))
        if short_m <= s.max_ik_error_m or error_m > short_m + goal.tolerance_m:
            self._unsaturated_s = now_s
        over = elapsed_s >= goal.duration_s
        arrived = over and self._shaper is not None and self._shaper.resting
        swing_m = self._bias_filter.swing_m
        inside = arrived if goal.open_loop else over and max(error_m, swing_m) <= goal.tolerance_m
        if not inside:
            self._inside_s = None
        elif self._inside_s is None:
            self._inside_s = now_s
        if self._reached:
            phase = 'hold'
        elif inside:
            phase = 'settle'
        else:
            phase = 'correct' if arrived else 'approach'
        status = Status(phase, elapsed_s, error_m, tip_m, goal.waypoint(elapsed_s))
        if self._reached:
            return self._applied_pa, status
        seen_s = now_s if goal.open_loop else self.liveness.last_s(TIP)
        if self._inside_s is not None and seen_s - self._inside_s >= s.hold_s:
            self._reached = True
            self._way_back.end()
            settle_s = self._inside_s - self._start_s
            return self._applied_pa, replace(status, outcome=Outcome.REACHED, settle_s=settle_s)
        if now_s - self._unsaturated_s > s.max_saturated_s:
            message = (
                f'length limits leave the tip {1e3 * short_m:.1f} mm from the target: '
                'choose a target further inside the workspace or free the held segments'
            )
            return self._applied_pa, self._end(goal, now_s, Outcome.SATURATED, message)
        if elapsed_s - goal.duration_s > goal.timeout_s:
            message = (
                f'tip is {1e3 * error_m:.2f} mm from the target and swings by '
                f'{1e3 * swing_m:.2f} mm after {goal.timeout_s:.1f} s, '
                f'tolerance {1e3 * goal.tolerance_m:.2f} mm: allow more of either'
            )
            return self._applied_pa, self._end(goal, now_s, Outcome.TIMEOUT, message)
        return self._applied_pa, status

    def _fault(self, now_s: float, open_loop: bool) -> tuple[Outcome, str] | None:
        s = self._settings
        if self._goal is not None and now_s < self._start_s:
            return Outcome.TIMEOUT, 'time has jumped back: send the goal again'
        if lost := self.liveness.driver_lost(now_s, s.pressures_timeout_s, s.driver_gone_s):
            return Outcome.DRIVER_LOST, lost
        if open_loop:
            return None
        image_s = self.liveness.silence_s(CAMERA, now_s)
        if image_s > s.camera_timeout_s:
            return (
                Outcome.CAMERA_STALE,
                f'no image or pose of the tip {since(image_s)} (limit {s.camera_timeout_s} s): '
                'check the camera, or what measures the tip; without it move in open loop',
            )
        tip_s = self.liveness.silence_s(TIP, now_s)
        if tip_s > s.tip_timeout_s and not self._way_back.active:
            return Outcome.TIP_LOST, self._bias_filter.contradiction or (
                f'the tip was not measured {since(tip_s)} (limit {s.tip_timeout_s} s). '
                f'{self.tip_trouble or "What measures it gives no reason"}. Check that nothing '
                'covers the ring or the markers, their keys in the robot file, and the scene behind'
            )
        return None

    def _end(self, goal: Goal, now_s: float, outcome: Outcome, message: str) -> Status:
        """Drop the goal and hold the present pressures, from the next command on.

        A fault while a reached target is held ends the holding and is reported too.
        """
        self._goal = None
        self._way_back.end()
        if self._shaper is not None:
            new_pa = self._new_pa
            self._held_pa = self._shaper.present_pa if new_pa is None else new_pa
        tip_m = self._tip()
        elapsed_s = now_s - self._start_s
        error_m = None if tip_m is None else float(np.linalg.norm(tip_m - goal.at(elapsed_s)[0]))
        return Status('idle', elapsed_s, error_m, tip_m, goal.waypoint(elapsed_s), outcome, message)

    def _tip(self) -> np.ndarray | None:
        return None if self._measured_pa is None else self._bias_filter.tip_m()
