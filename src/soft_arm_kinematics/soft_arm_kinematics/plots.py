"""Pictures of the reachable set and of solutions; they need Matplotlib, an optional dependency."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from soft_arm_kinematics.errors import KinematicsError

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise KinematicsError(
        'pictures need Matplotlib, which is not installed: pip install matplotlib'
    ) from error

if TYPE_CHECKING:
    from soft_arm_kinematics.arm import Arm
    from soft_arm_kinematics.ik.inverse import IkSolution
    from soft_arm_kinematics.workspace.reachable import ReachableSet

POINTS = 30  # of each segment's centre line
DPI = 130


def draw_workspace(arm: Arm, reachable: ReachableSet) -> Figure:
    """Draw the boundary in space, and cuts by the planes y = 0 and x = 0 [mm]; the arm hangs."""
    figure = Figure(figsize=(14.0, 5.2), dpi=DPI)
    points_mm = reachable.boundary_m * 1e3
    space: Any = figure.add_axes((0.0, 0.03, 0.36, 0.87), projection='3d')
    # Draw the half behind the plane y = 0, so that hollows show.
    front = points_mm[points_mm[:, 1] >= 0.0]
    space.scatter(*front.T, s=2, c=front[:, 2], cmap='viridis')
    low, high = points_mm.min(axis=0), points_mm.max(axis=0)
    space.set(
        xlim=(low[0], high[0]),
        ylim=(low[1], high[1]),
        zlim=(high[2], low[2]),
        xlabel='x [mm]',
        ylabel='y [mm]',
        zlabel='z [mm]',
    )
    space.set_box_aspect(high - low)
    space.view_init(elev=18.0, azim=-70.0)
    space.set_title(f'boundary, half of it; volume {reachable.volume_text}', fontsize=10)
    low_mm = (reachable.origin_m - reachable.cell_m / 2) * 1e3
    high_mm = low_mm + np.array(reachable.inside.shape) * reachable.cell_m * 1e3
    for left, across, along, name in ((0.42, 1, 0, 'x'), (0.73, 0, 1, 'y')):
        axes = figure.add_axes((left, 0.11, 0.25, 0.76))
        middle = int(
            np.clip(
                np.rint(-reachable.origin_m[across] / reachable.cell_m),
                0,
                reachable.inside.shape[across] - 1,
            )
        )
        cut = np.take(reachable.inside, middle, axis=across)
        axes.imshow(
            cut.T,
            origin='lower',
            extent=(low_mm[along], high_mm[along], low_mm[2], high_mm[2]),
            cmap='Blues',
            vmax=2,
        )
        near = np.abs(reachable.boundary_m[:, across]) < reachable.cell_m
        axes.plot(
            points_mm[near, along],
            points_mm[near, 2],
            '.',
            markersize=2,
            color='C3',
            label='boundary',
        )
        axes.plot(0.0, 0.0, '^', color='black', label='base')
        axes.set(
            xlabel=f'{name} [mm]',
            ylabel='z [mm]',
            ylim=(max(high_mm[2], 20.0), min(low_mm[2], -20.0)),
        )
        axes.set_title(f'cut through the base axis, {name}-z plane', fontsize=10)
        axes.legend(fontsize=8, loc='upper right')
    figure.suptitle(arm.robot.name)
    return figure


def draw_solutions(
    arm: Arm,
    target_m: np.ndarray,
    solutions: Sequence[IkSolution],
    ranks: Sequence[int],
    present: np.ndarray,
) -> Figure:
    """Draw solutions side by side to one scale, each with its sentence and the parts of its score.

    Args:
        arm: The arm.
        target_m: (3,) [m].
        solutions: The best first.
        ranks: Place of each among all solutions, 1 the best.
        present: Current q (n,), drawn grey.
    """
    lines_mm = [arm.at(x).backbone(POINTS) * 1e3 for x in (present, *(s.q for s in solutions))]
    every = np.concatenate(lines_mm)
    centre = (every.min(axis=0) + every.max(axis=0)) / 2.0
    half = max(np.ptp(every, axis=0).max() / 2.0, 1.0)
    weights = arm.robot.ik_weights
    parts = np.array(
        [[s.score_angle_change, s.score_bend_growth, s.score_stiffness] for s in solutions]
    )
    parts = parts * [weights.angle_change, weights.bend_growth, weights.stiffness]
    figure = Figure(figsize=(3.7 * len(solutions) + 0.6, 7.4), dpi=DPI)
    width = 1.0 / len(solutions)
    for i, s in enumerate(solutions):
        axes: Any = figure.add_axes(((i + 0.01) * width, 0.36, 0.9 * width, 0.47), projection='3d')
        axes.plot(*lines_mm[0].T, color='0.7', linewidth=3, linestyle='--', label='now')
        for k, name in enumerate(arm.robot.segment_names):
            axes.plot(
                *lines_mm[i + 1][k * POINTS : (k + 1) * POINTS + 1].T,
                linewidth=5,
                solid_capstyle='round',
                label=name,
            )
        axes.scatter(*(target_m * 1e3), color='black', marker='x', s=60, label='target')
        low, high = centre - half, centre + half
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(high[2], low[2]))
        for name, label in (('x', axes.set_xlabel), ('y', axes.set_ylabel), ('z', axes.set_zlabel)):
            label(f'{name} [mm]', fontsize=8, labelpad=-3)
        axes.tick_params(labelsize=7, pad=-1)
        axes.locator_params(nbins=5)
        margin = (
            ''
            if s.pressure_margin_pa is None
            else f'\n{s.pressure_margin_pa / 1e3:.1f} kPa from the pressure limits'
        )
        name = 'best' if i == 0 else f'rival {i} (number {ranks[i]})'
        axes.set_title(
            f'{name}: score {s.score:.3f}{margin}',
            fontsize=10,
        )
        figure.text(
            (i + 0.5) * width,
            0.355,
            textwrap.fill(s.explanation, 44),
            ha='center',
            va='top',
            fontsize=8,
        )
        bars = figure.add_axes(((i + 0.32) * width, 0.06, 0.62 * width, 0.15))
        drawn = bars.barh(
            ('angle change', 'bend growth', 'stiffness'), parts[i], color=('C2', 'C3', 'C4')
        )
        bars.bar_label(drawn, fmt='%.3f', fontsize=8, padding=2)
        bars.set_xlim(min(1.3 * parts.min(), 0.0), max(1.3 * parts.max(), 0.1))
        bars.axvline(0.0, color='black', linewidth=0.8)
        bars.invert_yaxis()
        bars.tick_params(labelsize=8)
        bars.set_xlabel('weight times score', fontsize=8)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        ncols=len(labels),
        loc='upper center',
        bbox_to_anchor=(0.5, 0.96),
        fontsize=8,
    )
    figure.suptitle(
        f'{arm.robot.name}: target {np.round(target_m * 1e3, 2).tolist()} mm; '
        f'score = {weights.angle_change:g} angle change '
        f'+ {weights.bend_growth:g} bend growth + {weights.stiffness:g} stiffness, lower is better',
        fontsize=10 if len(solutions) > 2 else 7,
    )
    return figure
