"""`softarm bench soft_robotic_arm`: models and a control law on a plant that others wrote."""

import importlib.util
from argparse import Namespace
from functools import partial
from typing import Any

import numpy as np

from soft_arm_benchmarks.errors import BenchError
from soft_arm_benchmarks.limits import Figures, at_most, measured, report
from soft_arm_io.command_line import CommandLine, whole_number_in

MODEL = 'constant_curvature_memory'  # of the control law
TEST_RUNS = 2
LIMITS = {'tracking.share_of_baseline': at_most(1.0)}


def main(argv: list[str] | None = None) -> int:
    """Entry point; return 0, or 1 if a figure misses its limit."""
    parser = CommandLine(
        prog='softarm bench soft_robotic_arm',
        description='Fit the models of arms to recordings of the calibrated twin in the PyPI '
        'package soft-robotic-arm, from commanded pressure to tip, predict other recordings, and '
        "score a control law by the package's own circular tracking task. Takes about two minutes.",
    )
    parser.add_json()
    parser.add_option(
        '--runs', whole_number_in(1, 100), 3, 'recordings that models are fitted to', metavar='N'
    )
    parser.add_option(
        '--seconds', whole_number_in(10, 3600), 40, 'duration of each recording', metavar='T'
    )
    return parser.answer(argv, _measure)


def _measure(options: Namespace) -> int:
    if importlib.util.find_spec('soft_robotic_arm') is None:
        raise BenchError('soft_robotic_arm is not installed: pip install soft-robotic-arm==0.4.2')
    # Slow to import: after the arguments are checked.
    from soft_arm_benchmarks.outside_plant import plant
    from soft_arm_identification.arm_sections import ArmSections
    from soft_arm_identification.models.model import importable_models, make_model

    models = {
        name: make_model(name, ArmSections(sections=[{'end': 'tip'}]))  # type: ignore[list-item]
        for name in importable_models()[0]
    }
    runs = [plant.record(seed, options.seconds) for seed in range(options.runs + TEST_RUNS)]
    parts = {name: partial(_free_run, name, model, runs) for name, model in models.items()}
    parts['tracking'] = partial(_tracking, models[MODEL])
    return report(measured(parts), LIMITS, as_json=options.json)


def _free_run(name: str, model: Any, runs: list) -> Figures:
    model.fit(runs[:-TEST_RUNS])
    errors_m = np.concatenate([model.predict(run) - run.tip_m for run in runs[-TEST_RUNS:]])
    lateral_m2, axial_m2 = (errors_m[:, :2] ** 2).sum(axis=1), errors_m[:, 2] ** 2
    return {
        name: {
            'lateral_rmse_m': float(np.sqrt(lateral_m2.mean())),
            'axial_rmse_m': float(np.sqrt(axial_m2.mean())),
        }
    }


def _tracking(model: Any) -> Figures:
    from soft_robotic_arm import CircularTrackingTask, evaluate_controller

    from soft_arm_benchmarks.outside_plant import plant, tracking

    task = CircularTrackingTask()
    start_psi = task.baseline_command(plant.MAX_PSI)
    fitted = {name: parameter.value for name, parameter in model.parameters.items()}
    lag_s = (fitted['memory.rising'] + fitted['memory.falling']) / 2
    dead_time_s = fitted['dead_time']
    law = tracking.ModelInverse(model, start_psi, dead_time_s + lag_s)
    ours, baseline = (
        evaluate_controller(controller, task=task)
        for controller in (law, plant.Baseline(start_psi))
    )
    figures = {
        'dead_time_s': dead_time_s,
        'lag_s': lag_s,
        'rmse_m': ours.rmse_mm / 1e3,
        'max_error_m': ours.max_error_mm / 1e3,
        'phase_lag_s': ours.phase_lag_s,
        'baseline_rmse_m': baseline.rmse_mm / 1e3,
        'share_of_baseline': ours.rmse_mm / baseline.rmse_mm,
    }
    return {'tracking': figures}
