"""The set of positions that the tip can reach: volume with its error, boundary and distance to it.

Space is cut into cells. A cell belongs to the set if its centre is reached: inverse kinematics
starts from the table poses nearest to it, then from reached cells around it, until no cell is
added. Bisection between a centre inside and a neighbour outside finds the boundary. The volume
counts the cells whose whole neighbourhood is inside, and estimates the band about the boundary by
points drawn in each of its cells (stratified Monte Carlo): cell size causes no bias, and the error
is known.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_dilation, binary_erosion
from scipy.spatial import cKDTree

from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.refine import refine
from soft_arm_kinematics.workspace.table import WorkspaceTable, build_table

CELLS = 48  # along the longest side
_STARTS = 3  # nearest table poses to start from; up to 200 of them, or random ones, reach no more
_DRAWN = 2  # points in each cell of the band
_ERROR_SIGMAS = 2.0
_STEPS = 30  # of refinement
_RESIDUAL_M = 1e-6
_HALVINGS = 10


@dataclass(frozen=True, eq=False)
class ReachableSet:
    """Positions that the tip can reach, in the base frame.

    Attributes:
        cell_m: Side of a cell [m]; a distance to the boundary is good to about half of it, and its
            sign where it is more than one.
        origin_m: (3,) centre of cell (0, 0, 0) [m].
        inside: (i, j, k) whether the centre of each cell is reached.
        boundary_m: (b, 3) points on the boundary [m], each good to cell_m / 1000.
        volume_m3: Volume [m^3].
        volume_error_m3: Two standard errors of the volume [m^3].
    """

    cell_m: float
    origin_m: np.ndarray
    inside: np.ndarray
    boundary_m: np.ndarray
    volume_m3: float
    volume_error_m3: float

    @property
    def limits_m(self) -> np.ndarray:
        """(2, 3) least and greatest coordinates [m] of the boundary."""
        return np.stack([self.boundary_m.min(axis=0), self.boundary_m.max(axis=0)])

    @property
    def volume_text(self) -> str:
        """The volume with its error in litres, for people."""
        return f'{self.volume_m3 * 1e3:.2f} +- {self.volume_error_m3 * 1e3:.2f} l'

    def distance_m(self, points_m: np.ndarray) -> np.ndarray:
        """Signed distance [m] of points (..., 3) to the boundary, (...): positive inside.

        Raises:
            KinematicsError: If the last axis is not 3 or a value is not finite.
        """
        points_m = np.asarray(points_m, dtype=float)
        if points_m.shape[-1:] != (3,) or not np.isfinite(points_m).all():
            raise KinematicsError(
                f'points of shape {points_m.shape}: give finite positions (..., 3) [m]'
            )
        distance_m, row = cKDTree(self.boundary_m).query(points_m)
        places = np.rint((points_m - self.origin_m) / self.cell_m)
        within = ((places >= 0) & (places < self.inside.shape)).all(axis=-1)
        cells = np.clip(places, 0, np.array(self.inside.shape) - 1).astype(int)
        return np.where(
            within & self.inside[cells[..., 0], cells[..., 1], cells[..., 2]],
            distance_m,
            -distance_m,
        )


def reachable_set(
    arm: Arm, table: WorkspaceTable | None = None, cells: int = CELLS, seed: int = 0
) -> ReachableSet:
    """Find the reachable set of an arm that moves in space.

    Args:
        arm: The arm.
        table: Its table, at least 100,000 poses; `build_table(arm)` when left out.
        cells: Cells along the longest side.
        seed: Of the points drawn for the volume.

    Raises:
        KinematicsError: If the tip moves on a line or surface only, which has no volume.
    """
    check_moves_in_space(arm)
    table = table or build_table(arm)
    low, high = table.tips_m.min(axis=0).astype(float), table.tips_m.max(axis=0).astype(float)
    cell_m = float((high - low).max() / cells)
    shape = tuple(np.ceil((high - low) / cell_m).astype(int) + 7)
    origin_m = (low + high) / 2.0 - (np.array(shape) - 1) / 2.0 * cell_m
    reach = _Reach(arm, table)
    inside, found = _cells_inside(reach, table, origin_m, cell_m, shape)
    volume_m3, error_m3 = _volume(reach, inside, origin_m, cell_m, np.random.default_rng(seed))
    return ReachableSet(
        cell_m,
        origin_m,
        inside,
        _boundary(reach, inside, found, origin_m, cell_m),
        volume_m3,
        error_m3,
    )


def check_moves_in_space(arm: Arm) -> None:
    """Raise KinematicsError if the tip moves on a line or surface only, which has no volume."""
    planes = {plane for s in arm.robot.segments for plane in s.bending_planes_deg}
    if arm.n_actuators >= 3 and (None in planes or len(planes) > 1):
        return
    kinds = ', '.join(sorted({s.kind for s in arm.robot.segments}))
    raise KinematicsError(
        f'the tip of {arm.robot.name} ({kinds}) moves with {arm.n_actuators} coordinate(s), on a '
        'line or surface, which has no volume: compute single points with `softarm kinematics fk`'
    )


class _Reach:
    """Tests of whether points are reached, by inverse kinematics from near starts."""

    def __init__(self, arm: Arm, table: WorkspaceTable):
        self._arm, self._table = arm, table

    def from_starts(
        self, starts: np.ndarray, points_m: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Test which points (m, 3) are reached from their starts (m, n); return q too."""
        found, residuals_m, _ = refine(self._arm, starts, points_m)
        return residuals_m < _RESIDUAL_M, found

    def from_table(self, points_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Test which points (m, 3) are reached from near table poses; return q too."""
        rows = self._table.near(points_m, _STARTS)
        reached = np.zeros(len(points_m), dtype=bool)
        found = np.empty((len(points_m), self._table.q.shape[1]))
        for start in rows.T:
            open_ = np.flatnonzero(~reached)
            good, ended = self.from_starts(self._table.q[start[open_]], points_m[open_])
            found[open_[good]], reached[open_[good]] = ended[good], True
        return reached, found


def _cells_inside(
    reach: _Reach,
    table: WorkspaceTable,
    origin_m: np.ndarray,
    cell_m: float,
    shape: tuple[int, ...],
) -> tuple[np.ndarray, np.ndarray]:
    """Test which cells' centres are reached; return q (i, j, k, n) too."""
    inside, found = np.zeros(shape, dtype=bool), np.full((*shape, table.q.shape[1]), np.nan)
    inside[tuple(np.rint((table.tips_m - origin_m) / cell_m).astype(int).T)] = True
    asked = np.argwhere(binary_dilation(inside))
    inside[tuple(asked.T)], found[tuple(asked.T)] = reach.from_table(origin_m + asked * cell_m)
    added = inside
    while added.any():  # the cells beside those that were added
        fresh = np.zeros(shape, dtype=bool)
        for cells, neighbours in _pairs(added):
            open_ = ~inside[tuple(neighbours.T)]
            cells, neighbours = cells[open_], neighbours[open_]
            good, ended = reach.from_starts(found[tuple(cells.T)], origin_m + neighbours * cell_m)
            gained = tuple(neighbours[good].T)
            inside[gained], fresh[gained], found[gained] = True, True, ended[good]
        added = fresh
    return inside, found


def _volume(
    reach: _Reach,
    inside: np.ndarray,
    origin_m: np.ndarray,
    cell_m: float,
    random: np.random.Generator,
) -> tuple[float, float]:
    """Estimate the volume and its error [m^3]."""
    block = np.ones((3, 3, 3))
    whole = binary_erosion(inside, block)
    band = np.argwhere(binary_dilation(inside, block) & ~whole)
    points_m = (
        origin_m
        + (np.repeat(band, _DRAWN, axis=0) + random.uniform(-0.5, 0.5, (len(band) * _DRAWN, 3)))
        * cell_m
    )
    share = reach.from_table(points_m)[0].reshape(-1, _DRAWN).mean(axis=1)
    variance = (share * (1.0 - share)).sum() / (_DRAWN - 1)  # unbiased, of the sum of the shares
    volume, error = whole.sum() + share.sum(), _ERROR_SIGMAS * np.sqrt(variance)
    return float(volume * cell_m**3), float(error * cell_m**3)


def _boundary(
    reach: _Reach, inside: np.ndarray, found: np.ndarray, origin_m: np.ndarray, cell_m: float
) -> np.ndarray:
    """Bisect between cells inside and neighbours outside; return boundary points (b, 3) [m]."""
    edges = [
        (cells, neighbours, ~inside[tuple(neighbours.T)]) for cells, neighbours in _pairs(inside)
    ]
    inner = np.concatenate([cells[out] for cells, _, out in edges])
    outer_m = origin_m + np.concatenate([neighbours[out] for _, neighbours, out in edges]) * cell_m
    starts, inner_m = found[tuple(inner.T)], origin_m + inner * cell_m
    for _ in range(_HALVINGS):
        middle_m = (inner_m + outer_m) / 2.0
        good, ended = reach.from_starts(starts, middle_m)
        good = good[:, None]
        starts, inner_m = np.where(good, ended, starts), np.where(good, middle_m, inner_m)
        outer_m = np.where(good, outer_m, middle_m)
    return inner_m


def _pairs(chosen: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield chosen cells and their neighbours in the grid, (m, 3) each, for each of six sides."""
    cells = np.argwhere(chosen)
    for step in np.concatenate([np.eye(3, dtype=int), -np.eye(3, dtype=int)]):
        neighbours = cells + step
        within = ((neighbours >= 0) & (neighbours < chosen.shape)).all(axis=1)
        yield cells[within], neighbours[within]
