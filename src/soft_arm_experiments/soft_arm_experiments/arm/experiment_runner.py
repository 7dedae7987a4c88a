"""Run an experiment on a rig: open loop, closed loop, then step responses or two turns."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from soft_arm_calibration.rig import Ending, Rig
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.goal_planning import free_actuators
from soft_arm_experiments.arm.experiments import (
    LAPS_RAD_S,
    PHI_BEND_RAD,
    SCORED_S,
    TABLE_7_DEG,
    Experiment,
    acting_lengths_m,
    angular_speed_rad_s,
    end_of_step_m,
    fastest_settling_s,
    settling_time_s,
    targets,
    unreachable_m,
)
from soft_arm_experiments.arm.results import Lap, Result, Run, StepResponse
from soft_arm_kinematics.arm import BellowsArm

SCORED_SAMPLES = round(SCORED_S / PERIOD_S)
FIRST_S = 4.0  # time to reach the first target from any pose
RESPONSE_S = 2.5
GOAL_TIMEOUT_S = 60.0  # steps end by the clock, not by the goal
TOLERANCE_M = 0.001
ATTEMPTS = 3
START_SHARE = 0.1  # largest distance of a response's start from its target, share of the step


@dataclass(frozen=True)
class Pace:
    """Durations of the parts of an experiment."""

    step_s: float = 2.0
    table_7_deg: tuple[float, ...] = TABLE_7_DEG
    lap: bool = True

    def duration_s(self, name: str, steps: int) -> float:
        """Return the duration of one experiment [s]."""
        lap_s = self.lap * sum(FIRST_S + 2 * np.pi / speed_rad_s for speed_rad_s in LAPS_RAD_S)
        extra_s = (1 + 2 * len(self.table_7_deg)) * RESPONSE_S if name == 'bend' else lap_s
        return 2 * (FIRST_S + steps * self.step_s) + extra_s


class ExperimentRunner:
    """Run experiments on one rig.

    Args:
        rig: The rig.
        arm: The arm.
        dynamics: Identified dynamics, for the shortest possible settling times.
        pace: Durations of the parts of an experiment.
        on_time: Called with the time since its last call [s].
    """

    def __init__(
        self,
        rig: Rig,
        arm: BellowsArm,
        dynamics: Dynamics,
        pace: Pace,
        on_time: Callable[[float], None],
    ):
        self._rig = rig
        self._arm = arm
        self._dynamics = dynamics
        self._pace = pace
        self._on_time = on_time

    def run(self, experiment: Experiment) -> Result:
        """Run all parts of one experiment.

        Raises:
            ExperimentError: If the true tip is missing during a step, or the rig ends.
        """
        start_s = self._rig.now_s()
        open_loop = self._pass(experiment, open_loop=True)
        closed_loop = self._pass(experiment, open_loop=False)
        problems: list[str] = []
        responses = self._responses(problems) if experiment.name == 'bend' else []
        speeds = LAPS_RAD_S if experiment.name == 'deflection' and self._pace.lap else ()
        laps = [self._lap(experiment, speed_rad_s, problems) for speed_rad_s in speeds]
        closed_loop = replace(closed_loop, problems=(*closed_loop.problems, *problems))
        return Result(
            experiment,
            self._rig.plant_seed,
            self._rig.clock,
            open_loop,
            closed_loop,
            tuple(response for response in responses if response is not None),
            tuple(lap for lap in laps if lap is not None),
            self._rig.rates_hz(start_s),
            self._rig.latency_ms(),
        )

    def _pass(self, experiment: Experiment, open_loop: bool) -> Run:
        problems: list[str] = []
        stops_s = []
        began_s = self._rig.now_s()
        first_s = self._step(experiment, 0, open_loop, FIRST_S, problems)[1]
        for k in range(len(experiment.points_m)):
            stops_s.append(self._step(experiment, k, open_loop, self._pace.step_s, problems)[1])
        times_s, tips_m = self._rig.tips(first_s, stops_s[-1])
        ends_m = np.array(
            [
                end_of_step_m(times_s, tips_m, stop_s, f'step {k}')
                for k, stop_s in enumerate(stops_s)
            ]
        )
        unreachable_m = self._unreachable_m(experiment, ends_m, began_s, stops_s)
        return Run(times_s - first_s, tips_m, ends_m, unreachable_m, tuple(problems))

    def _unreachable_m(
        self, experiment: Experiment, ends_m: np.ndarray, began_s: float, stops_s: list[float]
    ) -> np.ndarray:
        """Return the distance of each target from the tips that this arm can hold [m], (k,)."""
        seen_s, pressures_pa = self._rig.measured_pa(began_s, stops_s[-1])
        lengths_m = acting_lengths_m(self._arm, self._dynamics, seen_s, pressures_pa)
        free = free_actuators(self._arm.robot, list(experiment.held_segments))
        found_m = []
        for point_m, end_m, stop_s in zip(experiment.points_m, ends_m, stops_s, strict=True):
            last = np.searchsorted(seen_s, stop_s, 'right')
            resting_m = lengths_m[max(0, last - SCORED_SAMPLES) : last].mean(axis=0)
            found_m.append(
                unreachable_m(self._arm, self._dynamics, point_m, end_m, resting_m, free)
            )
        return np.array(found_m)

    def _responses(self, problems: list[str]) -> list[StepResponse | None]:
        degrees = self._pace.table_7_deg
        steps = targets(
            self._arm, 'bend', np.deg2rad([0.0, *degrees]), np.full(1 + len(degrees), PHI_BEND_RAD)
        )
        self._step(steps, 0, False, RESPONSE_S, [])
        return [
            self._response(steps, k, theta_deg, problems)
            for k, theta_deg in enumerate(degrees, start=1)
        ]

    def _response(
        self, steps: Experiment, k: int, theta_deg: float, problems: list[str]
    ) -> StepResponse | None:
        """Step from target 0 to target k; repeat after a fault, a wrong start or without a tip.

        A goal at a pressure limit ends every attempt with a fault; it counts as settled if the tip
        stays within the share of the step. The result is None if the last attempt saw no tip.
        """
        start_m, target_m = steps.points_m[0], steps.points_m[k]
        step_m = float(np.linalg.norm(target_m - start_m))
        for _ in range(ATTEMPTS):
            self._step(steps, 0, False, RESPONSE_S, [])
            start_s, stop_s, problem = self._try_step(steps, k, False, RESPONSE_S)
            times_s, tips_m = self._rig.tips(start_s, stop_s)
            right_start = (
                len(tips_m) > 0 and np.linalg.norm(tips_m[0] - start_m) <= START_SHARE * step_m
            )
            settled_s = None
            if right_start:
                settled_s = settling_time_s(times_s - start_s, tips_m, start_m, target_m)
            if right_start and problem is None:
                break
        if not len(tips_m):
            problems.append(f'response to {theta_deg:g} deg: not measured, no tip received')
            return None
        seen_s, pressures_pa = self._rig.measured_pa(start_s - RESPONSE_S, stop_s)
        lengths_m = acting_lengths_m(self._arm, self._dynamics, seen_s, pressures_pa)
        before, after = seen_s <= start_s, seen_s > stop_s - SCORED_S
        fastest_s = fastest_settling_s(
            self._arm,
            self._dynamics,
            lengths_m[before][-1],
            lengths_m[after].mean(axis=0),
        )
        return StepResponse(
            theta_deg,
            settled_s,
            fastest_s,
            step_m,
            times_s - start_s,
            np.linalg.norm(tips_m - target_m, axis=1),
        )

    def _lap(self, experiment: Experiment, speed_rad_s: float, problems: list[str]) -> Lap | None:
        """Follow the deflection's circle once; None if all attempts end early or see no tip."""
        phi_rad = np.linspace(0.0, 2 * np.pi, 73)
        path = targets(
            self._arm, 'deflection', np.full_like(phi_rad, experiment.theta_rad[0]), phi_rad
        )
        times_s = phi_rad / speed_rad_s + 0.1
        for attempt in range(1, ATTEMPTS + 1):
            self._step(path, 0, False, FIRST_S, problems)
            start_s = self._rig.now_s()
            ending = self._rig.follow_path(
                path.points_m, path.lengths_m, times_s, list(path.held_segments)
            )
            self._wait_until(start_s + times_s[-1])
            problem = _problem(ending)
            if problem is None:
                break
            problems.append(f'continuous turn, attempt {attempt}: {problem}')
        else:
            return None
        # Exclude acceleration and braking: the first and the last half second.
        seen_s, tips_m = self._rig.tips(start_s + 0.5, start_s + times_s[-1] - 0.5)
        if not len(seen_s):
            problems.append(f'continuous turn at {speed_rad_s:g} rad/s: no tip received')
            return None
        wanted_m = np.stack(
            [np.interp(seen_s - start_s, times_s, axis_m) for axis_m in path.points_m.T], axis=1
        )
        off_m = np.linalg.norm(tips_m - wanted_m, axis=1)
        speeds_rad_s = angular_speed_rad_s(seen_s, tips_m)
        rates_pa_s = (
            np.diff(self._arm.pressures(path.lengths_m), axis=0) / np.diff(times_s)[:, None]
        )
        return Lap(
            speed_rad_s,
            *speeds_rad_s,
            float(off_m.mean()),
            float(np.percentile(off_m, 95)),
            float(np.abs(rates_pa_s).max() / self._dynamics.valve_rate_limit_pa_s),
        )

    def _step(
        self,
        experiment: Experiment,
        k: int,
        open_loop: bool,
        duration_s: float,
        problems: list[str],
    ) -> tuple[float, float]:
        """Go to target k and wait for the duration; return start and end [s].

        A step with a fault is added to `problems` and repeated.
        """
        for attempt in range(1, ATTEMPTS + 1):
            start_s, stop_s, problem = self._try_step(experiment, k, open_loop, duration_s)
            if problem is None:
                return start_s, stop_s
            problems.append(f'step {k}, attempt {attempt}: {problem}')
            duration_s = max(duration_s, FIRST_S)  # the start is unknown after a fault
        return start_s, self._rig.now_s()  # score the pose after the last fault

    def _try_step(
        self, experiment: Experiment, k: int, open_loop: bool, duration_s: float
    ) -> tuple[float, float, str | None]:
        """Go to target k and wait for the duration; return start and end [s], and any fault."""
        start_s = self._rig.now_s()
        ending = self._rig.move_tip(
            experiment.points_m[k],
            experiment.lengths_m[k],
            list(experiment.held_segments),
            open_loop,
            TOLERANCE_M,
            GOAL_TIMEOUT_S,
        )
        self._wait_until(start_s + duration_s)
        return start_s, start_s + duration_s, _problem(ending)

    def _wait_until(self, stop_s: float) -> None:
        left_s = stop_s - self._rig.now_s()
        self._rig.wait_until(stop_s)
        self._on_time(left_s)


def _problem(ending: Ending) -> str | None:
    """Return the reason of a failed goal; None if it runs, was reached, or was cancelled."""
    ended = ending()
    return None if ended is None else ended[1] or None
