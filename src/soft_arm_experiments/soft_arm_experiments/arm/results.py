"""Results of an experiment, and their JSON and CSV forms."""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from soft_arm_calibration.rig import Clock
from soft_arm_experiments.arm.experiments import Experiment


@dataclass(frozen=True)
class Run:
    """One pass over the targets: open or closed loop."""

    times_s: np.ndarray  # (m,), time of each sample of the true tip, from the first step
    tips_m: np.ndarray  # (m, 3), true tip
    ends_m: np.ndarray  # (k, 3), true tip at the end of each step
    unreachable_m: np.ndarray  # (k,), distance of each target from the tips that this arm can hold
    problems: tuple[str, ...]  # faults reported by the controller

    def errors_m(self, points_m: np.ndarray) -> np.ndarray:
        """Return the distance of each step's end from its target [m], shape (k,)."""
        return np.linalg.norm(self.ends_m - points_m, axis=1)


@dataclass(frozen=True)
class StepResponse:
    """One row of table 7, closed loop."""

    theta_deg: float
    settle_s: float | None
    limit_s: float  # lower bound set by valves and mechanics
    step_m: float
    times_s: np.ndarray
    distance_m: np.ndarray  # of the true tip from the target


@dataclass(frozen=True)
class Lap:
    """The deflection as one continuous turn.

    Attributes:
        wanted_rad_s, mean_rad_s, std_rad_s: Speed of the target, and of the true tip [rad/s].
        error_mean_m, error_p95_m: Distance of the true tip from the moving target [m].
        valve_rate_share: Largest pressure rate of the turn over the rate limit of the identified
            valves; beyond 1 no controller can follow.
    """

    wanted_rad_s: float
    mean_rad_s: float
    std_rad_s: float
    error_mean_m: float
    error_p95_m: float
    valve_rate_share: float


@dataclass(frozen=True)
class Result:
    """An experiment, open loop then closed loop on one plant."""

    experiment: Experiment
    plant_seed: int | None  # None if the rig was already running
    clock: Clock
    open_loop: Run
    closed_loop: Run
    responses: tuple[StepResponse, ...]
    laps: tuple[Lap, ...]
    rates_hz: dict[str, float]
    latency_ms: dict[str, float]

    def as_json(self) -> dict:
        """Return the values of the JSON report."""
        points_m = self.experiment.points_m
        open_m, closed_m = self.open_loop.errors_m(points_m), self.closed_loop.errors_m(points_m)
        unreachable_m = self.closed_loop.unreachable_m
        steps = [
            {
                'theta_rad': float(self.experiment.theta_rad[k]),
                'phi_rad': float(self.experiment.phi_rad[k]),
                'target_m': points_m[k].tolist(),
                'open_loop_m': self.open_loop.ends_m[k].tolist(),
                'closed_loop_m': self.closed_loop.ends_m[k].tolist(),
                'open_loop_error_m': float(open_m[k]),
                'closed_loop_error_m': float(closed_m[k]),
                'unreachable_m': float(unreachable_m[k]),
            }
            for k in range(len(points_m))
        ]
        return {
            'open_loop_mean_m': float(np.mean(open_m)),
            'open_loop_p95_m': float(np.percentile(open_m, 95)),
            'closed_loop_mean_m': float(np.mean(closed_m)),
            'closed_loop_p95_m': float(np.percentile(closed_m, 95)),
            'unreachable_mean_m': float(np.mean(unreachable_m)),
            'settle_s': {f'{r.theta_deg:.0f}_deg': r.settle_s for r in self.responses} or None,
            'valve_limit_s': {f'{r.theta_deg:.0f}_deg': r.limit_s for r in self.responses} or None,
            'laps': [asdict(lap) for lap in self.laps] or None,
            'plant_seed': self.plant_seed,
            'clock': self.clock,
            'rates_hz': self.rates_hz,
            'latency_ms': self.latency_ms,
            'problems': {
                'open_loop': list(self.open_loop.problems),
                'closed_loop': list(self.closed_loop.problems),
            },
            'steps': steps,
        }

    def write_csv(self, path: Path) -> None:
        """Write one row for each step."""
        e = self.experiment
        table = [e.theta_rad, e.phi_rad, e.points_m, self.open_loop.ends_m, self.closed_loop.ends_m]
        errors = [run.errors_m(e.points_m) for run in (self.open_loop, self.closed_loop)]
        errors.append(self.closed_loop.unreachable_m)
        points = [f'{p}_{a}_m' for p in ('target', 'open_loop', 'closed_loop') for a in 'xyz']
        scores = ['open_loop_error_m', 'closed_loop_error_m', 'unreachable_m']
        columns = ['theta_rad', 'phi_rad', *points, *scores]
        np.savetxt(
            path,
            np.column_stack([*table, *errors]),
            fmt='%.6f',
            delimiter=',',
            header=','.join(columns),
            comments='',
        )
