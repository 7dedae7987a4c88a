"""Pictures: the reachable set, and solutions of one target side by side."""

from pathlib import Path

import matplotlib

matplotlib.use('Agg')
import numpy as np  # noqa: E402
from matplotlib import pyplot  # noqa: E402

from soft_arm_kinematics import pcc  # noqa: E402
from soft_arm_kinematics.arm import Arm  # noqa: E402
from soft_arm_kinematics.inverse import IkResult  # noqa: E402
from soft_arm_kinematics.reachable import ReachableSet  # noqa: E402

POINTS = 30  # of each segment's centre line


def draw_workspace(arm: Arm, reachable: ReachableSet, path: Path) -> None:
    """Write a plot (PNG): the boundary in space, and cuts of the set by the planes y = 0 and x = 0 [mm]."""
    figure = pyplot.figure(figsize=(12.0, 4.6), layout='constrained')
    points_mm = reachable.boundary_m * 1e3
    space = figure.add_subplot(1, 3, 1, projection='3d')
    space.scatter(*points_mm[::3].T, s=1, c=points_mm[::3, 2], cmap='viridis')
    space.set(xlabel='x [mm]', ylabel='y [mm]', zlabel='z [mm]', title=f'boundary, volume {reachable.volume_m3 * 1e3:.2f} l')
    space.invert_zaxis()  # the arm hangs
    for place, across, along, name in ((2, 1, 0, 'x'), (3, 0, 1, 'y')):
        axes = figure.add_subplot(1, 3, place)
        middle = int(np.clip(np.rint(-reachable.origin_m[across] / reachable.cell_m), 0, reachable.inside.shape[across] - 1))
        cut = np.take(reachable.inside, middle, axis=across)
        low_mm = (reachable.origin_m - reachable.cell_m / 2) * 1e3
        high_mm = low_mm + np.array(reachable.inside.shape) * reachable.cell_m * 1e3
        axes.imshow(cut.T, extent=(low_mm[along], high_mm[along], high_mm[2], low_mm[2]), cmap='Blues', vmax=2)
        near = np.abs(reachable.boundary_m[:, across]) < reachable.cell_m
        axes.plot(points_mm[near, along], points_mm[near, 2], '.', markersize=2, color='C3')
        axes.set(xlabel=f'{name} [mm]', ylabel='z [mm]', title=f'cut through the base axis, {name}-z plane', aspect='equal')
    figure.suptitle(arm.robot.name)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def draw_solutions(arm: Arm, result: IkResult, path: Path, shown: int) -> None:
    """Write a plot (PNG): the best solution and its rivals side by side, each with its scores and sentence."""
    solutions = result.solutions[:shown]
    figure = pyplot.figure(figsize=(3.6 * len(solutions), 5.6), layout='constrained')
    for number, s in enumerate(solutions, start=1):
        axes = figure.add_subplot(1, len(solutions), number, projection='3d')
        line_mm = centre_line(arm, s.actuation) * 1e3
        for i, name in enumerate(arm.robot.segment_names):
            part = line_mm[i * POINTS : (i + 1) * POINTS + 1]
            axes.plot(*part.T, linewidth=5, solid_capstyle='round', label=name)
        axes.scatter(*(result.target_m * 1e3), color='black', marker='x', s=50, label='target')
        centre, half = line_mm.mean(axis=0), max(np.ptp(line_mm, axis=0).max() / 2.0, 1.0)
        axes.set(
            xlim=(centre[0] - half, centre[0] + half),
            ylim=(centre[1] - half, centre[1] + half),
            zlim=(centre[2] + half, centre[2] - half),
            xlabel='x [mm]',
            ylabel='y [mm]',
            zlabel='z [mm]',
        )
        margin = '' if s.pressure_margin_pa is None else f'\nmargin to the pressure limits {s.pressure_margin_pa / 1e3:.1f} kPa'
        axes.set_title(
            f'{"best" if number == 1 else f"rival {number - 1}"}: score {s.score:.3f}\nangle change {s.score_angle_change:.3f}\n'
            f'bend growth {s.score_bend_growth:.3f}\nstiffness {s.score_stiffness:.3f}{margin}',
            fontsize=9,
        )
        if number == 1:
            axes.legend(fontsize=7, loc='lower left')
    weights = arm.robot.ik_weights
    figure.suptitle(
        f'{arm.robot.name}: target {np.round(result.target_m * 1e3, 2).tolist()} mm; score = {weights.angle_change:g} angle change '
        f'+ {weights.bend_growth:g} bend growth + {weights.stiffness:g} stiffness, lower is better',
        fontsize=10,
    )
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def centre_line(arm: Arm, actuation: np.ndarray) -> np.ndarray:
    """Centre line (1 + s POINTS, 3) [m] of one actuation (n,): arcs of constant curvature between the ends of the segments."""
    starts = np.concatenate([np.eye(4)[None], arm.segment_poses(actuation)[:-1]])
    parts = arm.segment_arcs(actuation)[:, None, :] * (np.arange(1, POINTS + 1) / POINTS)[:, None]
    ends = (starts[:, None] @ pcc.arc_transforms(parts))[..., :3, 3]
    return np.concatenate([np.zeros((1, 3)), ends.reshape(-1, 3)])
