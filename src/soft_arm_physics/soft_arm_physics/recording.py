"""Run a simulation along a plan of its inputs, and keep what happens: table, plot, video."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_physics.actuation.plan import (
    ActuationPlan,
    Place,
    column_name,
    coordinate_label,
)
from soft_arm_physics.simulation import Simulation

RATE_HZ = 100.0
DRAWN_SHAPES = 12


@dataclass(frozen=True)
class Recording:
    """States at n times [s], 1 / RATE_HZ apart.

    Attributes:
        time_s: Times [s], (n,).
        u: Inputs of each robot, (n, coordinates).
        T_world_tip: Of each robot, (n, 4, 4).
        T_world_object: Of each object of the world that can move, (n, 4, 4).
        backbone_m: Of each robot [m], (n, points, 3).
        bellows_m: Lengths of the bellows of each robot [m], (n, bellows).
        contact_count: How many points touch, (n,).
    """

    time_s: np.ndarray
    u: dict[str, np.ndarray]
    T_world_tip: dict[str, np.ndarray]
    T_world_object: dict[str, np.ndarray]
    backbone_m: dict[str, np.ndarray]
    bellows_m: dict[str, np.ndarray]
    contact_count: np.ndarray


def record(
    simulation: Simulation,
    plan: ActuationPlan,
    duration_s: float,
    each: Callable[[], None] = lambda: None,
) -> Recording:
    """Run for a duration [s]; `each` is called at every time, after what is kept of it.

    Raises:
        PhysicsError: If a value of the plan is outside its limits, before anything moves, or if the
            simulation diverges.
    """
    time_s = np.arange(round(duration_s * RATE_HZ) + 1) / RATE_HZ
    u = plan.values(time_s)
    robots = simulation.robots
    objects = [item.name for item in simulation.world.objects if not item.fixed]
    tips: dict[str, list[np.ndarray]] = {name: [] for name in robots}
    shapes: dict[str, list[np.ndarray]] = {name: [] for name in robots}
    bellows: dict[str, list[np.ndarray]] = {name: [] for name in robots}
    poses: dict[str, list[np.ndarray]] = {name: [] for name in objects}
    contacts = []
    for i in range(len(time_s)):
        if i > 0:
            simulation.step(1.0 / RATE_HZ)
        for name, robot in robots.items():
            robot.actuate(u[name][i])
            tips[name].append(robot.T_world_tip())
            shapes[name].append(robot.backbone_m())
            bellows[name].append(robot.bellows_lengths_m())
        for name in objects:
            poses[name].append(simulation.pose(name))
        contacts.append(simulation.data.ncon)
        each()
    return Recording(
        time_s,
        u,
        {name: np.array(T) for name, T in tips.items()},
        {name: np.array(T) for name, T in poses.items()},
        {name: np.array(points) for name, points in shapes.items()},
        {name: np.array(lengths) for name, lengths in bellows.items()},
        np.array(contacts),
    )


def write_csv(recording: Recording, simulation: Simulation, path: Path) -> None:
    """Write times, inputs, and poses of tips and objects (quaternions x, y, z, w)."""
    columns: dict[str, np.ndarray] = {'time_s': recording.time_s}
    robots = simulation.robots
    for name, robot in robots.items():
        for i, coordinate in enumerate(robot.coordinates):
            label = coordinate_label(Place(name, i, coordinate), len(robots))
            columns[column_name(label, coordinate)] = recording.u[name][:, i]
    for name, T in recording.T_world_tip.items():
        columns |= _pose_columns('tip' if len(robots) == 1 else f'{name}.tip', T)
    for name, T in recording.T_world_object.items():
        columns |= _pose_columns(name, T)
    columns['contact_count'] = recording.contact_count
    with path.open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([f'{value:.7g}' for value in row])


def _pose_columns(label: str, T: np.ndarray) -> dict[str, np.ndarray]:  # noqa: N803
    q_xyzw = Rotation.from_matrix(T[:, :3, :3]).as_quat(canonical=True)
    positions = {f'{label}_{axis}_m': T[:, k, 3] for k, axis in enumerate('xyz')}
    return positions | {f'{label}_q{axis}': q_xyzw[:, k] for k, axis in enumerate('xyzw')}


def draw_recording(recording: Recording, simulation: Simulation, path: Path) -> None:
    """Draw inputs, tips and shapes over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 7.0), layout='constrained')
    grid = figure.add_gridspec(2, 2, width_ratios=[1.2, 1.0])
    driven, tips = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])
    shapes = figure.add_subplot(grid[:, 1], projection='3d')
    time_s, robots = recording.time_s, simulation.robots
    for name, robot in robots.items():
        for i, coordinate in enumerate(robot.coordinates):
            values = recording.u[name][:, i]
            if np.ptp(values) > 0.0 or len(robot.coordinates) <= 6:
                label = coordinate_label(Place(name, i, coordinate), len(robots))
                driven.plot(time_s, values, label=f'{label} [{coordinate.unit}]')
    for name, T in recording.T_world_tip.items():
        who = 'tip' if len(robots) == 1 else f'{name} tip'
        for k, axis in enumerate('xyz'):
            tips.plot(time_s, T[:, k, 3], label=f'{who} {axis}')
        for i in np.linspace(0, len(time_s) - 1, DRAWN_SHAPES).astype(int):
            x, y, z = recording.backbone_m[name][i].T
            shapes.plot(x, y, z, color=str(0.8 - 0.8 * i / len(time_s)))
    for name, T in recording.T_world_object.items():
        shapes.plot(*T[:, :3, 3].T, '--', label=name)
    driven.set(xlabel='time [s]', ylabel='input u')
    tips.set(xlabel='time [s]', ylabel='position [m]')
    shapes.set(xlabel='x [m]', ylabel='y [m]', zlabel='z [m]', title='light to dark: over time')
    shapes.set_aspect('equal')
    for axes in (driven, tips):
        axes.grid(alpha=0.3)
        axes.legend(fontsize='small', ncols=2)
    figure.savefig(path)
