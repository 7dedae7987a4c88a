"""Pictures of the reachable set; they need Matplotlib, an optional dependency."""

from __future__ import annotations

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
    from soft_arm_kinematics.workspace.reachable import ReachableSet

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
