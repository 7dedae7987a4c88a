"""Report of an experiment: Markdown with the figures of the paper, plots, CSV."""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt  # noqa: E402 (the backend comes first)
import numpy as np  # noqa: E402

from soft_arm_experiments.arm.experiments import (
    CONTROL_MARGIN_M,
    PAPER,
    PAPER_DEFLECTION_RAD_S,
    PAPER_SETTLE_S,
    PHI_BEND_RAD,
)  # noqa: E402
from soft_arm_experiments.arm.results import Result  # noqa: E402

OUT_OF_REACH_M = 1e-4  # distance from the nearest tip that the arm can hold
OPEN, CLOSED, TARGET = 'tab:red', 'tab:blue', 'black'


def write_report(result: Result, folder: Path) -> Path:
    """Write report.md, steps.csv and the plots; return the report's path."""
    folder.mkdir(parents=True, exist_ok=True)
    result.write_csv(folder / 'steps.csv')
    _plot_trajectory(result, folder / 'trajectory.png')
    _plot_errors(result, folder / 'errors.png')
    if result.responses:
        _plot_responses(result, folder / 'step_responses.png')
    path = folder / 'report.md'
    path.write_text(_markdown(result))
    return path


def write_overview(results: list[Result], reports: list[Path], folder: Path) -> Path:
    """Write report.md over several experiments, with links to their reports; return its path."""
    seed = results[0].plant_seed
    links = [
        f'- [{r.experiment.name}]({report.relative_to(folder)})'
        for r, report in zip(results, reports, strict=True)
    ]
    parts = [
        f'# {" and ".join(r.experiment.name for r in results)}'
        + ('' if seed is None else f', plant seed {seed}'),
        table(results),
        *(settling_table(r) for r in results if r.responses),
        '\n'.join(links),
    ]
    plots = [
        f'![{r.experiment.name}]({report.parent.relative_to(folder)}/trajectory.png)'
        for r, report in zip(results, reports, strict=True)
    ]
    path = folder / 'report.md'
    path.write_text('\n\n'.join([*parts, *plots]) + '\n')
    return path


def table(results: list[Result]) -> str:
    """Return a Markdown table of the mean errors, next to the paper's."""
    rows = [
        '| experiment | open loop mean (p95) | closed loop mean (p95) '
        '| paper, open loop | paper, closed loop |',
        '|---|---|---|---|---|',
    ]
    for result in results:
        values, (paper_open_m, paper_closed_m) = result.as_json(), PAPER[result.experiment.name]
        rows.append(
            f'| {result.experiment.name} '
            f'| {_mm(values["open_loop_mean_m"])} ({_mm(values["open_loop_p95_m"])}) mm '
            f'| {_mm(values["closed_loop_mean_m"])} ({_mm(values["closed_loop_p95_m"])}) mm '
            f'| {_mm(paper_open_m)} mm | {_mm(paper_closed_m)} mm |'
        )
    return '\n'.join(rows)


def settling_table(result: Result) -> str:
    """Return a Markdown table of settling times, the limit of the valves, and table 7."""
    rows = [
        '| bend, closed loop | settled within 2 % | limit of the valves | paper, table 7 |',
        '|---|---|---|---|',
    ]
    for r in result.responses:
        settle = 'not settled' if r.settle_s is None else f'{r.settle_s:.2f} s'
        paper = f'{PAPER_SETTLE_S[r.theta_deg]:.2f} s' if r.theta_deg in PAPER_SETTLE_S else ''
        rows.append(f'| 0 to {r.theta_deg:.0f} deg | {settle} | {r.limit_s:.2f} s | {paper} |')
    return '\n'.join(rows)


def _markdown(result: Result) -> str:
    e = result.experiment
    seed = 'a running rig' if result.plant_seed is None else f'plant seed {result.plant_seed}'
    parts = [
        f'# Experiment {e.name}, {seed}',
        table([result]),
        'Error: distance of the true tip (mean over the last 0.3 s of a step) from the target, '
        f'{len(e.points_m)} steps. {", ".join(e.held_segments)} held at full vacuum; the shortest '
        f'moving bellows stays {1e3 * CONTROL_MARGIN_M:.0f} mm longer than at full vacuum (less '
        'beyond 110 deg), so that the feedback can move it both ways.',
    ]
    away_m = result.closed_loop.unreachable_m
    if (away_m > OUT_OF_REACH_M).any():
        parts.append(
            f'{(away_m > OUT_OF_REACH_M).sum()} of the targets are out of reach of this arm with '
            f'{", ".join(e.held_segments)} held, because a chamber is at its limit: the nearest '
            f'tip that it can hold is up to {_mm(away_m.max())} mm from the target, in the mean '
            f'over all targets {_mm(away_m.mean())} mm. No controller can reduce this distance.'
        )
    if result.responses:
        parts += [
            settling_table(result),
            'Settled: the true tip stays within 2 % of the step about the target. The limit is '
            'computed from the pressures at which this arm rested before and after the step, and '
            'from the identified valves (rate limit, lag, delay), hysteresis, creep and mechanical '
            'lag.',
        ]
    parts += [
        f'One continuous turn: {lap.mean_rad_s:.2f} rad/s '
        f'(standard deviation {lap.std_rad_s:.2f}), wanted {lap.wanted_rad_s:.2f}, '
        f'paper {PAPER_DEFLECTION_RAD_S} rad/s; true distance from the moving target '
        f'{_mm(lap.error_mean_m)} mm mean, {_mm(lap.error_p95_m)} mm p95. It needs '
        f"{lap.valve_rate_share:.0%} of the valves' largest rate."
        for lap in result.laps
    ]
    rates = ', '.join(f'{name} {hz:.1f} Hz' for name, hz in result.rates_hz.items())
    latency = ', '.join(f'{name} {ms:.0f} ms' for name, ms in result.latency_ms.items())
    parts.append(f'Rates: {rates}. Image stamp to pressure command: {latency}.')
    parts += [
        f'- {mode}: {problem}'
        for mode, run in (('open loop', result.open_loop), ('closed loop', result.closed_loop))
        for problem in run.problems
    ]
    plots = ['trajectory', 'errors', *(['step_responses'] if result.responses else [])]
    return '\n\n'.join([*parts, *(f'![{name}]({name}.png)' for name in plots)]) + '\n'


def _mm(value_m: float) -> str:
    return f'{1e3 * value_m:.2f}'


def _plot_trajectory(result: Result, path: Path) -> None:
    """Plot the bend in its plane (figures 12, 13) or the deflection in space (figures 15, 16)."""
    e = result.experiment
    figure = plt.figure(figsize=(10, 4.5), layout='constrained')
    for column, (title, run, colour) in enumerate(
        (('open loop', result.open_loop, OPEN), ('closed loop', result.closed_loop, CLOSED))
    ):
        in_space = e.name == 'deflection'
        axes: Any = figure.add_subplot(1, 2, column + 1, projection='3d' if in_space else None)
        for points_m, style in (
            (run.tips_m, {'color': colour, 'lw': 0.8, 'label': 'true tip'}),
            (run.ends_m, {'color': colour, 'marker': '.', 'ls': '', 'label': 'end of step'}),
            (e.points_m, {'color': TARGET, 'marker': '+', 'ls': '', 'label': 'target'}),
        ):
            x, y, z = 1e3 * points_m.T
            if in_space:
                axes.plot(x, y, z, **style)
            else:
                axes.plot(x * np.cos(PHI_BEND_RAD) + y * np.sin(PHI_BEND_RAD), z, **style)
        axes.set_title(f'{e.name}, {title}')
        if in_space:
            axes.set(xlabel='x [mm]', ylabel='y [mm]', zlabel='z [mm]')
            axes.invert_zaxis()  # the arm hangs
        else:
            axes.set(xlabel='in the bending plane [mm]', ylabel='z [mm]', aspect='equal')
            axes.invert_yaxis()
        axes.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _plot_errors(result: Result, path: Path) -> None:
    e = result.experiment
    angle = np.rad2deg(e.theta_rad if e.name == 'bend' else e.phi_rad)
    figure, axes = plt.subplots(figsize=(8, 4), layout='constrained')
    for label, run, colour, paper_m in (
        ('open loop', result.open_loop, OPEN, PAPER[e.name][0]),
        ('closed loop', result.closed_loop, CLOSED, PAPER[e.name][1]),
    ):
        axes.plot(angle, 1e3 * run.errors_m(e.points_m), 'o-', color=colour, label=label)
        axes.axhline(1e3 * paper_m, color=colour, ls=':', label=f'paper, {label} mean')
    axes.set(
        xlabel='theta [deg]' if e.name == 'bend' else 'phi [deg]',
        ylabel='tip error at the end of the step [mm]',
        ylim=(0, None),
    )
    axes.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _plot_responses(result: Result, path: Path) -> None:
    figure, axes = plt.subplots(figsize=(8, 4), layout='constrained')
    for r in result.responses:
        (line,) = axes.plot(
            r.times_s, 100 * r.distance_m / r.step_m, label=f'0 to {r.theta_deg:.0f} deg'
        )
        axes.axvline(r.limit_s, color=line.get_color(), ls=':')
    axes.axhline(2.0, color='grey', lw=0.8)
    axes.set(
        xlabel='time from the command [s]',
        ylabel='distance from the target [% of the step]',
        yscale='log',
        ylim=(0.1, 150),
    )
    axes.legend(title="dotted: the valves' limit")
    figure.savefig(path, dpi=110)
    plt.close(figure)
