"""Tables and pictures of the benchmark."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from soft_arm_identification.benchmark import Score, Task, axis_of

Results = Mapping[str, tuple[Score, dict[str, np.ndarray]]]
"""Score and predictions by model."""

Scores = Mapping[tuple[str, str], Mapping[str, Score]]
"""Scores by set and split, then by model."""


def overview(scores: Scores, floors_m: Mapping[str, float | None]) -> str:
    """Markdown table of the errors in free run by split and model, the best one in bold."""
    models = list(dict.fromkeys(model for found in scores.values() for model in found))
    lines = [
        f'| mean / p95 [mm] | {" | ".join(models)} | the arm itself (rms) |',
        '|---|' + '---|' * (len(models) + 1),
    ]
    for (set_name, split), found in scores.items():
        best = min(score.mean_m for score in found.values())
        cells = []
        for score in map(found.get, models):
            mean, p95 = (1e3 * score.mean_m, 1e3 * score.p95_m) if score else (np.nan, np.nan)
            bold = '**' * (score is not None and score.mean_m == best)
            cells.append(f'{bold}{mean:.1f}{bold} / {p95:.1f}')
        floor_m = floors_m[set_name]
        floor = '' if floor_m is None else f'{1e3 * floor_m:.1f}'
        lines.append(f'| {set_name}, {split} | {" | ".join(cells)} | {floor} |')
    return '\n'.join(lines) + '\n'


def summary(scores: Scores, floors_m: Mapping[str, float | None]) -> dict:
    """All scores for JSON: `sets.SET.SPLIT.MODEL`, and `sets.SET.floor_m` where it is known."""
    found: dict = {}
    for (set_name, split), models in scores.items():
        found.setdefault(set_name, {})[split] = {m: asdict(score) for m, score in models.items()}
        if floors_m[set_name] is not None:
            found[set_name]['floor_m'] = floors_m[set_name]
    return {'sets': found}


def details(scores: Scores) -> str:
    """Markdown table of all scores."""
    lines = [
        '| set, split | model | lateral rmse | axial rmse | of length | one step [mm] | fit |',
        '|---|---|---|---|---|---|---|',
    ]
    for (set_name, split), found in scores.items():
        for model, score in found.items():
            lines.append(
                f'| {set_name}, {split} | {model} | {1e3 * score.lateral_rmse_m:.1f} | '
                f'{1e3 * score.axial_rmse_m:.1f} | {score.share_of_length:.1%} | '
                f'{1e3 * score.one_step_mean_m:.2f} | {score.fit_s:.0f} s |'
            )
    return '\n'.join(lines) + '\n'


def draw_split(task: Task, results: Results, out: Path) -> None:
    """Draw the worst run of the best model, the error over time and over bend, to a picture file.

    Args:
        task: Any task of the split.
        results: Score and predicted tips [m] of each model.
        out: Picture file.
    """
    best = min(results, key=lambda model: results[model][0].mean_m)
    worst = max(task.test, key=lambda run: np.nanmean(_distance_m(task, run, results[best][1])))
    recording, axis = task.test[worst], axis_of(task)
    figure = Figure(figsize=(10, 8), layout='constrained')
    above, middle, below = figure.subplots(3, 1, height_ratios=[2, 1, 1])
    for place, name in enumerate('xyz'):
        above.plot(recording.time_s, 1e3 * recording.tip_m[:, place], f'C{place}', label=name)
        above.plot(recording.time_s, 1e3 * results[best][1][worst][:, place], f'C{place}--')
    above.set_title(f'{task.set_name}, {task.split}: tip in {worst}; dashed: {best}', loc='left')
    above.set_ylabel('[mm]')
    above.legend(loc='upper right', fontsize='x-small')
    for model, (_, predicted) in results.items():
        middle.plot(recording.time_s, 1e3 * _distance_m(task, worst, predicted), label=model)
        bends, errors = [], []
        for run in task.test:
            tip_m = task.test[run].tip_m - task.arm.base_m
            along = np.clip(tip_m @ axis / np.linalg.norm(tip_m, axis=1), -1.0, 1.0)
            bends.append(np.degrees(np.arccos(along)))
            errors.append(_distance_m(task, run, predicted))
        below.plot(*_binned(np.concatenate(bends), 1e3 * np.concatenate(errors)), '.-', label=model)
    middle.set(ylabel='error [mm]', xlabel='time [s]', ylim=(0, None))
    below.set(
        ylabel='error [mm]', xlabel='direction of the tip from the axis [deg]', ylim=(0, None)
    )
    middle.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), fontsize='x-small')
    for axes in (above, middle, below):
        axes.grid(alpha=0.3)
    figure.savefig(out, dpi=100)


def _distance_m(task: Task, run: str, predicted: dict[str, np.ndarray]) -> np.ndarray:
    return np.linalg.norm(predicted[run] - task.test[run].tip_m, axis=1)


def _binned(x: np.ndarray, y: np.ndarray, bins: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Means of y in bins of x of equal numbers of samples."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    parts = np.array_split(np.argsort(x), min(bins, len(x)))
    return np.array([x[p].mean() for p in parts]), np.array([y[p].mean() for p in parts])
