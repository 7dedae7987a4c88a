"""The set of positions that the tip can reach: volume, boundary and distance to it.

Space is cut into cells. A cell belongs to the set where its centre is reached: cells with many table poses around them are, the others are
asked for by inverse kinematics. Between a centre inside and a neighbour outside, the boundary is found by halving.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_dilation, binary_erosion
from scipy.spatial import cKDTree

from soft_arm_kinematics import compiled_solver
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.compiled_model import compiled_arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.workspace import WorkspaceTable

CELLS = 48  # along the longest side
_STARTS = 6  # table poses from which a doubtful cell's centre is asked for
_HALVINGS = 10


@dataclass(frozen=True, eq=False)
class ReachableSet:
    """Positions that the tip can reach, in the base frame.

    Attributes:
        cell_m: Side of a cell [m]; distances to the boundary are good to about half of it, their signs beyond one.
        origin_m: (3,) centre of cell (0, 0, 0) [m].
        inside: (i, j, k) whether the centre of each cell is reached.
        boundary_m: (b, 3) points on the boundary [m], each good to cell_m / 1000.
        volume_m3: Number of cells inside times their volume [m^3].
    """

    cell_m: float
    origin_m: np.ndarray
    inside: np.ndarray
    boundary_m: np.ndarray

    @property
    def volume_m3(self) -> float:
        """Volume [m^3]."""
        return float(self.inside.sum() * self.cell_m**3)

    @property
    def limits_m(self) -> np.ndarray:
        """(2, 3) least and greatest coordinates [m] of the boundary."""
        return np.stack([self.boundary_m.min(axis=0), self.boundary_m.max(axis=0)])

    def distance_m(self, points_m: np.ndarray) -> np.ndarray:
        """Signed distance [m] of points (..., 3) to the boundary, (...): positive inside.

        Raises:
            KinematicsError: If the last axis is not 3 or a value is not finite.
        """
        points_m = np.asarray(points_m, dtype=float)
        if points_m.shape[-1:] != (3,) or not np.isfinite(points_m).all():
            raise KinematicsError(f'points of shape {points_m.shape}: give finite positions (..., 3) [m]')
        distance_m, row = cKDTree(self.boundary_m).query(points_m)
        cells = np.rint((points_m - self.origin_m) / self.cell_m).astype(int)
        within = ((cells >= 0) & (cells < self.inside.shape)).all(axis=-1)
        cells = np.clip(cells, 0, np.array(self.inside.shape) - 1)
        return np.where(within & self.inside[cells[..., 0], cells[..., 1], cells[..., 2]], distance_m, -distance_m)


def reachable_set(arm: Arm, table: WorkspaceTable, cells: int = CELLS) -> ReachableSet:
    """Find the reachable set of an arm that moves in space.

    Args:
        arm: The arm.
        table: Its table, at least 100,000 poses.
        cells: Cells along the longest side.

    Raises:
        KinematicsError: If the tip moves on a line or surface only, which has no volume.
    """
    if arm.n_actuators < 3:
        raise KinematicsError(
            f'the tip of {arm.robot.name} moves with {arm.n_actuators} coordinate(s), on a line or surface: its reachable set has no volume'
        )
    low, high = table.tips_m.min(axis=0).astype(float), table.tips_m.max(axis=0).astype(float)
    cell_m = float((high - low).max() / cells)
    shape = tuple(np.ceil((high - low) / cell_m).astype(int) + 5)
    origin_m = (low + high) / 2.0 - (np.array(shape) - 1) / 2.0 * cell_m
    counts = np.zeros(shape, dtype=int)
    np.add.at(counts, tuple(np.rint((table.tips_m - origin_m) / cell_m).astype(int).T), 1)
    occupied = counts > 0
    inside = binary_erosion(occupied, iterations=2)
    doubtful = np.argwhere(binary_dilation(occupied, iterations=1) & ~inside)
    found, reached = _ask(arm, table, origin_m + doubtful * cell_m)
    inside[tuple(doubtful.T)] = reached
    _ask_from_neighbours(arm, origin_m + doubtful * cell_m, doubtful, found, reached)
    inside[tuple(doubtful.T)] = reached
    actuation = dict(zip(map(tuple, doubtful.tolist()), found, strict=True))
    starts, inner_m, outer_m = [], [], []
    for cell in doubtful[reached].tolist():  # a cell on the edge is doubtful, so its actuation is known
        for axis in range(3):
            for side in (-1, 1):
                neighbour = cell.copy()
                neighbour[axis] += side
                if not inside[tuple(neighbour)]:
                    starts.append(actuation[tuple(cell)])
                    inner_m.append(origin_m + np.array(cell) * cell_m)
                    outer_m.append(origin_m + np.array(neighbour) * cell_m)
    boundary_m = _halve(arm, np.array(starts), np.array(inner_m), np.array(outer_m))
    return ReachableSet(cell_m, origin_m, inside, boundary_m)


def _ask(arm, table, centres_m):
    """Whether each centre (m, 3) is reached from one of the table poses nearest to it, and the actuation found (m, n)."""
    found, reached = np.empty((len(centres_m), arm.n_actuators)), np.zeros(len(centres_m), dtype=bool)
    _, rows = cKDTree(table.tips_m, balanced_tree=False, compact_nodes=False).query(centres_m, k=_STARTS)
    for start in range(_STARTS):
        open_ = np.flatnonzero(~reached)
        trial = table.actuation[rows[open_, start]].astype(float)
        residuals_m = np.empty(len(open_))
        compiled_solver.refine_each(compiled_arm(arm), trial, centres_m[open_], 30, residuals_m)
        good = residuals_m < 1e-6
        found[open_[good]], reached[open_[good]] = trial[good], True
    return found, reached


def _ask_from_neighbours(arm, centres_m, cells, found, reached):
    """Ask again for the cells not reached, from what was found for their neighbours, until that adds none; in place."""
    rows = {tuple(cell): row for row, cell in enumerate(cells.tolist())}
    added = True
    while added:
        asked = [
            (row, rows[near])
            for row in np.flatnonzero(~reached).tolist()
            for near in _neighbours(cells[row].tolist())
            if near in rows and reached[rows[near]]
        ]
        trial, residuals_m = found[[near for _, near in asked]].copy(), np.empty(len(asked))
        to = np.array([row for row, _ in asked], dtype=int)
        compiled_solver.refine_each(compiled_arm(arm), trial, centres_m[to], 30, residuals_m)
        good = residuals_m < 1e-6
        found[to[good]], reached[to[good]] = trial[good], True
        added = bool(good.any())


def _neighbours(cell):
    for axis in range(3):
        for side in (-1, 1):
            yield tuple(c + side * (k == axis) for k, c in enumerate(cell))


def _halve(arm, starts, inner_m, outer_m):
    """Boundary points (b, 3) between reached inner and unreached outer points."""
    for _ in range(_HALVINGS):
        middle_m = (inner_m + outer_m) / 2.0
        trial, residuals_m = starts.copy(), np.empty(len(starts))
        compiled_solver.refine_each(compiled_arm(arm), trial, middle_m, 30, residuals_m)
        good = (residuals_m < 1e-6)[:, None]
        starts, inner_m, outer_m = np.where(good, trial, starts), np.where(good, middle_m, inner_m), np.where(good, outer_m, middle_m)
    return inner_m
