"""The set of positions that the tip can reach: volume with its error, boundary and distance to it.

Space is cut into cells. A cell belongs to the set if its centre is reached: inverse kinematics
starts from the table poses nearest to it. Cells far from all table poses are not tried. Bisection
between a centre inside and a neighbour outside finds the boundary. The volume counts the cells
whose whole neighbourhood is inside, and estimates the band about the boundary by points drawn in
each of its cells (stratified Monte Carlo): cell size causes no bias, and the error is known.
"""

from collections.abc import Callable
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
_TRIED = 2  # cells around a table pose that are tried
_BLOCK = np.ones((3, 3, 3))
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
    shape = tuple(np.ceil((high - low) / cell_m).astype(int) + 3 + 2 * _TRIED)
    origin_m = (low + high) / 2.0 - (np.array(shape) - 1) / 2.0 * cell_m

    def reached(places: np.ndarray) -> np.ndarray:
        """Test which places (m, 3), in cells, are reached."""
        points_m = origin_m + places * cell_m
        found = np.zeros(len(points_m), dtype=bool)
        for start in table.near(points_m, _STARTS).T:
            open_ = np.flatnonzero(~found)
            _, residuals_m, _ = refine(arm, table.q[start[open_]], points_m[open_])
            found[open_] = residuals_m < _RESIDUAL_M
        return found

    inside = np.zeros(shape, dtype=bool)
    inside[tuple(np.rint((table.tips_m - origin_m) / cell_m).astype(int).T)] = True
    tried = np.argwhere(binary_dilation(inside, _BLOCK, _TRIED))
    inside[tuple(tried.T)] = reached(tried)
    volume, error = _volume(inside, reached, np.random.default_rng(seed))
    return ReachableSet(
        cell_m,
        origin_m,
        inside,
        origin_m + _boundary(inside, reached) * cell_m,
        volume * cell_m**3,
        error * cell_m**3,
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


def _volume(
    inside: np.ndarray,
    reached: Callable[[np.ndarray], np.ndarray],
    random: np.random.Generator,
) -> tuple[float, float]:
    """Estimate the volume and its error, in cells."""
    whole = binary_erosion(inside, _BLOCK)
    band = np.argwhere(binary_dilation(inside, _BLOCK) & ~whole)
    offsets = random.uniform(-0.5, 0.5, (len(band) * _DRAWN, 3))
    share = reached(np.repeat(band, _DRAWN, axis=0) + offsets).reshape(-1, _DRAWN).mean(axis=1)
    variance = (share * (1.0 - share)).sum() / (_DRAWN - 1)  # unbiased, of the sum of the shares
    return float(whole.sum() + share.sum()), float(_ERROR_SIGMAS * np.sqrt(variance))


def _boundary(inside: np.ndarray, reached: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Bisect between cells inside and neighbours outside; return places (b, 3) in cells."""
    cells = np.argwhere(inside)  # none at the edge of the grid
    steps = np.concatenate([np.eye(3, dtype=int), -np.eye(3, dtype=int)])
    edges = [cells[~inside[tuple((cells + step).T)]] for step in steps]
    inner = np.concatenate(edges).astype(float)
    outer = inner + np.repeat(steps, [len(edge) for edge in edges], axis=0)
    for _ in range(_HALVINGS):
        middle = (inner + outer) / 2.0
        good = reached(middle)[:, None]
        inner, outer = np.where(good, middle, inner), np.where(good, outer, middle)
    return inner
