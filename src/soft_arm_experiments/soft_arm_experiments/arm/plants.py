"""The closed loop on many virtual arms, each in a process: experiments and random targets."""

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np

from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.calibration import load_calibration
from soft_arm_description.rig import load_rig
from soft_arm_experiments.arm.experiment_runner import ExperimentRunner, Pace
from soft_arm_experiments.arm.experiments import experiment
from soft_arm_experiments.arm.in_process_rig import in_process_rig
from soft_arm_experiments.arm.reach import reach, reach_poses
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_vision.calibration import extrinsics

matplotlib.use('Agg')
from matplotlib import pyplot as plt  # noqa: E402 - after the choice of its backend

EXPERIMENTS = ('bend', 'deflection')
WIDE_RATIO = 50.0  # of the largest to the smallest value, above which an axis is logarithmic
MIN_UNREACHABLE_M = 0.5e-3  # distance of a step from the tips that the arm can hold


@dataclass(frozen=True)
class Setup:
    """Settings of all plants.

    Attributes:
        rig: Folder of a calibrated rig.
        robot: Name or path of the robot file.
        tip_source, network, camera_file: See `tip_sensor_of`.
        targets: Number of random targets of each plant.
    """

    rig: str
    robot: str
    tip_source: str | None
    network: Path | None
    camera_file: str
    targets: int


def measure(setup: Setup, seed: int) -> dict:
    """Run the experiments, if the arm has two segments, and random targets on one plant.

    Returns:
        `errors_m` of all steps of the experiments, `unreachable_m` (their distances from the tips
        that this arm can hold) and `settling` (time over the limit that valves and mechanics set,
        None where it did not settle), and of the random targets `reach_m`, `reach_s`, `swing_m`;
        `problems`: reasons of failures.
    """
    rig = load_rig(setup.rig)
    arm = load_bellows_arm(setup.robot, setup.rig)
    dynamics = load_calibration(rig, Dynamics, arm.robot).values
    found: dict = {'errors_m': {}, 'unreachable_m': {}, 'settling': [], 'problems': []}
    with in_process_rig(
        rig,
        arm,
        dynamics,
        seed,
        tip_source=setup.tip_source,
        network=setup.network,
        camera_file=setup.camera_file,
    ) as virtual:
        names = EXPERIMENTS if arm.n_segments > 1 else ()
        runner = ExperimentRunner(virtual, arm, dynamics, Pace(lap=False), lambda _: None)
        for name in names:
            result = runner.run(experiment(arm, name))
            errors_m = result.closed_loop.errors_m(result.experiment.points_m)
            found['errors_m'][name] = errors_m.tolist()
            found['unreachable_m'][name] = result.closed_loop.unreachable_m.tolist()
            found['problems'] += result.closed_loop.problems
            found['settling'] += [
                None if r.settle_s is None else r.settle_s / r.limit_s for r in result.responses
            ]
        camera_m = extrinsics.load(rig, arm.robot).T_base_camera[:3, 3]
        poses_m = reach_poses(arm, camera_m, setup.targets, seed)
        moves = reach(virtual, arm, poses_m)
    found['reach_m'] = [move.error_m for move in moves]
    found['reach_s'] = [None if move.problem else move.duration_s for move in moves]
    found['swing_m'] = [move.swing_m for move in moves]
    found['problems'] += [f'target {k}: {m.problem}' for k, m in enumerate(moves) if m.problem]
    return found


def measure_all(
    setup: Setup, seeds: Sequence[int], workers: int, on_plant: Callable[[], object]
) -> dict[int, dict]:
    """Measure many plants; `on_plant` is called after each."""
    # spawned: a fork would inherit the threads of the compiled kinematics
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        jobs = {pool.submit(measure, setup, seed): seed for seed in seeds}
        found = {}
        for job in as_completed(jobs):
            found[jobs[job]] = job.result()
            on_plant()
    return {seed: found[seed] for seed in seeds}


def summary(plants: Sequence[dict]) -> dict:
    """Return the figures of some plants; None where nothing was measured.

    Moves that fail count with the error that they leave, and have no duration.
    """
    steps_m, ratios, reach_m, reach_s, swing_m = _series(plants)
    settled = [ratio for ratio in ratios if ratio is not None]
    return {
        'steps': len(steps_m),
        'steps_mean_m': _value(np.mean, steps_m),
        'steps_p95_m': _value(lambda x: np.percentile(x, 95), steps_m),
        'steps_beyond_1mm': _value(lambda x: np.mean(np.array(x) > 1e-3), steps_m),
        'steps_unreachable': sum(
            away_m > MIN_UNREACHABLE_M
            for p in plants
            for aways_m in p['unreachable_m'].values()
            for away_m in aways_m
        ),
        'responses': len(ratios),
        'responses_settled': len(settled),
        'settling_median': _value(np.median, settled),
        'settling_p95': _value(lambda x: np.percentile(x, 95), settled),
        'targets': len(reach_m),
        'targets_reached': len(reach_s),
        'targets_mean_m': _value(np.mean, reach_m),
        'targets_p95_m': _value(lambda x: np.percentile(x, 95), reach_m),
        'time_median_s': _value(np.median, reach_s),
        'time_p95_s': _value(lambda x: np.percentile(x, 95), reach_s),
        'swing_p95_m': _value(lambda x: np.percentile(x, 95), swing_m),
    }


def _series(plants: Iterable[dict]) -> tuple[list, ...]:
    """Return errors of steps, settling, and errors, times and swing of targets, of all plants.

    Times and swing are those of the targets that were reached.
    """
    plants = list(plants)
    moves = [
        move for p in plants for move in zip(p['reach_m'], p['reach_s'], p['swing_m'], strict=True)
    ]
    reached = [move for move in moves if move[1] is not None]
    return (
        [e for p in plants for errors_m in p['errors_m'].values() for e in errors_m],
        [ratio for p in plants for ratio in p['settling']],
        [move[0] for move in moves],
        [move[1] for move in reached],
        [move[2] for move in reached],
    )


def _value(of: Callable, values: list[float]) -> float | None:
    return float(of(values)) if values else None


def draw(plants: dict[int, dict], path: Path) -> None:
    """Draw errors, settling times and swing of all plants, sorted, and their distribution."""
    steps_m, ratios, reach_m, _, swing_m = _series(plants.values())
    series: dict[str, np.ndarray] = {
        'end of the steps [mm]': 1e3 * np.array(steps_m),
        'random targets [mm]': 1e3 * np.array(reach_m),
        "settling time over the valves' limit": np.array([r for r in ratios if r is not None]),
        'swing after settling [mm]': 1e3 * np.array(swing_m),
    }
    shown = {name: values for name, values in series.items() if len(values)}
    figure, axes = plt.subplots(1, len(shown), figsize=(4 * len(shown), 3.2), squeeze=False)
    for axis, (name, values) in zip(axes[0], shown.items(), strict=True):
        axis.step(np.sort(values), np.arange(1, len(values) + 1) / len(values), where='post')
        wide = np.max(values) > WIDE_RATIO * np.min(values)
        axis.set(xlabel=name, xscale='log' if wide else 'linear', ylim=(0, 1))
        axis.grid(True, alpha=0.3, which='both')
    axes[0, 0].set_ylabel(f'share of all, {len(plants)} plants')
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
