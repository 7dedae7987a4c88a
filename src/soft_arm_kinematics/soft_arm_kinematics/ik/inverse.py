"""Inverse kinematics: all solutions of one target, ranked by the penalties of the arm paper.

A position leaves a three-dimensional family of solutions (six lengths, three conditions). The table
gives starts spread over that family. Levenberg-Marquardt steps bring each start to the target, the
best are improved along the null space of the task, and solutions closer than `MERGE_SPACING` are
merged. One compiled call (`compiled_solver.solve`) does all of this.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from soft_arm_kinematics.arm import Arm, BellowsArm
from soft_arm_kinematics.backends import compiled_solver
from soft_arm_kinematics.backends.compiled_scores import SHARE_PIECES, Scoring
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.nearest import nearest
from soft_arm_kinematics.ik.refine import refine
from soft_arm_kinematics.ik.scores import explanations, pressure_shares, principle_scores
from soft_arm_kinematics.workspace.table import WorkspaceTable, build_table

TABLE_POINTS = 250_000
STARTS, STEPS = 31, 3  # with the current configuration two batches of the compiled solver
# Where none of these starts arrives.
MANY_STARTS, MANY_STEPS = 400, 60
RESIDUAL_M = 1e-6  # largest distance of a solution's tip from the target
AXIS_TOLERANCE_RAD = 1e-5
_POSITION, _POSITION_AND_AXIS = 3, 6  # rows of the task
_TOLERANCES = np.array([0.5 * RESIDUAL_M, AXIS_TOLERANCE_RAD])
# Share of the coordinates' ranges below which solutions are merged: 1 mm of 70..195 mm.
MERGE_SPACING = 0.008
MAX_TARGET_M = 100.0  # a greater one is probably in mm


@dataclass(frozen=True, eq=False)
class IkSolution:
    """One solution; arrays in robot-file order, scores as in `scores.principle_scores`.

    `q` is what `Arm.at` takes: `lengths_m` where all segments have bellows. `pressures_pa`
    are the chambers'. `theta_rad`, `phi_rad` and `ell_m` have the convention of `Configuration`.
    """

    q: np.ndarray
    pressures_pa: np.ndarray
    theta_rad: np.ndarray
    phi_rad: np.ndarray
    ell_m: np.ndarray
    residual_m: float
    score: float
    score_angle_change: float
    score_bend_growth: float
    score_stiffness: float
    pressure_margin_pa: float | None
    explanation: str

    @property
    def lengths_m(self) -> np.ndarray:
        """Lengths of the bellows [m], of an arm that has nothing else."""
        return self.q


class IkSolutions(Sequence):
    """Solutions best first; pressures, angles and sentences are computed when one is looked at.

    Attributes:
        q: (k, n).
        residuals_m: (k,).
        scores: (k, 4): total, angle change, bend growth, stiffness.
    """

    def __init__(
        self,
        arm: Arm,
        q: np.ndarray,
        residuals_m: np.ndarray,
        scores: np.ndarray,
        present: np.ndarray,
    ):
        self.q, self.residuals_m, self.scores = q, residuals_m, scores
        self._arm, self._present = arm, present

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]  # an int or a slice
        return self._all[index]

    @cached_property
    def _all(self) -> tuple[IkSolution, ...]:
        arm = self._arm
        shares = pressure_shares(arm, self.q)
        columns = [
            [c.name for c in arm.robot.coordinates].index(name) for name in arm.robot.chambers
        ]
        low, high = arm.pressure_limits_pa
        pressures_pa = (
            arm.pressures(self.q)
            if isinstance(arm, BellowsArm)
            else low + shares[:, columns] * (high - low)
        )
        margins_pa = np.minimum(pressures_pa - low, high - pressures_pa).min(axis=1, initial=np.inf)
        bent = arm.at(self.q)
        sentences = explanations(arm, self.q, self._present)
        return tuple(
            IkSolution(
                q=self.q[i],
                pressures_pa=pressures_pa[i],
                theta_rad=bent.theta_rad[i],
                phi_rad=bent.phi_rad[i],
                ell_m=bent.ell_m[i],
                residual_m=float(self.residuals_m[i]),
                score=float(self.scores[i, 0]),
                score_angle_change=float(self.scores[i, 1]),
                score_bend_growth=float(self.scores[i, 2]),
                score_stiffness=float(self.scores[i, 3]),
                pressure_margin_pa=float(margins_pa[i]) if len(columns) else None,
                explanation=sentences[i],
            )
            for i in range(len(self))
        )


@dataclass(frozen=True, eq=False)
class IkResult:
    """Answer to one target.

    Attributes:
        target_m: (3,) the target [m].
        reachable: Whether the tip reaches the position, whatever the axis.
        solutions: Best first; empty where there is none.
        nearest_m: (3,) nearest point that the model reaches [m]; the target itself where reachable.
        distance_m: From the target to `nearest_m` [m].
        message: Reason in one line if no solution was found, else empty.
    """

    target_m: np.ndarray
    reachable: bool
    solutions: Sequence[IkSolution]
    nearest_m: np.ndarray
    distance_m: float
    message: str


class InverseKinematics:
    """Solver of one arm; it holds the arm's workspace table."""

    def __init__(self, arm: Arm, table: WorkspaceTable | None = None):
        """Load (or build) the table of the arm."""
        self.arm = arm
        self.table = table or build_table(arm, TABLE_POINTS)
        self._scoring, self._rest = _scoring(arm, arm.q_limits), arm.rest_q

    def prepare(self) -> None:
        """Compile, or load, everything that `solve` calls, so that no later call waits for it."""
        pose = self.arm.at(self.arm.q_limits.mean(axis=0)).tip_pose
        self.solve(pose[:3, 3])
        self.solve(pose[:3, 3], pose[:3, 2])
        self.solve([0.0, 0.0, MAX_TARGET_M])  # outside: the nearest reachable point is sought

    def solve(
        self,
        target_m: ArrayLike,
        axis: ArrayLike | None = None,
        present_lengths_m: ArrayLike | None = None,
        max_solutions: int | None = None,
        held_segments: Sequence[str] = (),
    ) -> IkResult:
        """Find the solutions of one target.

        Args:
            target_m: (3,) tip position in the base frame [m].
            axis: (3,) wanted direction of the tip's z axis, of any length, or None for any.
            present_lengths_m: (n,) where the arm is now, for the scores: lengths [m], or q
                of an arm without bellows; at rest where None.
            max_solutions: Largest number of solutions; all where None.
            held_segments: Names of segments that keep their current coordinates. The solutions
                are scored, but not improved along the remaining null space.

        Raises:
            KinematicsError: If a value is not finite or has the wrong shape, the target is more
                than `MAX_TARGET_M` from an axis
                of the base, `max_solutions` is less than 1, a held segment is not known or none is
                left free.
        """
        target_m, axis, present = self._checked(target_m, axis, present_lengths_m)
        if max_solutions is not None and max_solutions < 1:
            raise KinematicsError(
                f'max_solutions {max_solutions}: give at least 1, or None for all'
            )
        arm, scoring, held = self.arm, self._scoring, ''
        limits, chain = arm.q_limits, arm.chain
        if held_segments:
            held = f' with segments {", ".join(held_segments)} held'
            columns, limits = self._columns_of(held_segments), limits.copy()
            limits[:, columns] = present[columns]
            chain, scoring = chain._replace(low=limits[0], high=limits[1]), _scoring(arm, limits)
        rows = _POSITION if axis is None else _POSITION_AND_AXIS
        direction = np.zeros(3) if axis is None else axis
        table = self.table.q
        attempts = ((STARTS, STEPS), (MANY_STARTS, MANY_STEPS))
        for count, steps in attempts[1:] if held else attempts:
            near = (
                np.arange(0, len(table), max(1, len(table) // count))
                if held
                else self.table.near(target_m, count)
            )
            reached, reached_residuals_m, every_score = compiled_solver.solve(
                chain,
                rows,
                scoring,
                present,
                table,
                near,
                target_m,
                direction,
                steps,
                _TOLERANCES,
                MERGE_SPACING,
            )
            if len(reached):
                return self._reached(
                    target_m,
                    reached,
                    reached_residuals_m,
                    every_score,
                    present,
                    max_solutions,
                )
        starts = np.concatenate([table[near], present[None]]).astype(float)
        found, residuals_m, _ = refine(arm, starts, target_m, limits=limits)
        if not (residuals_m <= RESIDUAL_M).any():
            best, nearest_m, distance_m = nearest(arm, target_m, found, residuals_m, limits)
            if distance_m > RESIDUAL_M:
                what = f'out of reach{held}' if held else 'outside the workspace'
                message = (
                    f'target {_mm(target_m)} mm is {distance_m * 1e3:.3f} mm {what}: '
                    f'{self._remedy(nearest_m)}{", or hold fewer segments" if held else ""}'
                )
                return IkResult(target_m, False, (), nearest_m, distance_m, message)
            found, residuals_m = best[None], np.array([distance_m])
        if axis is None:  # on the boundary of the workspace
            reached = residuals_m <= RESIDUAL_M
            found, residuals_m = found[reached], residuals_m[reached]
            scores = principle_scores(arm, found, present)
            scores = np.column_stack([scores @ scoring.weights, scores])
            order = compiled_solver.deduplicate(chain, found, scores[:, 0], MERGE_SPACING)
            return self._reached(
                target_m, found[order], residuals_m[order], scores[order], present, max_solutions
            )
        message = (
            f'target {_mm(target_m)} mm can be reached{held}, but not with the tip axis along '
            f'{np.round(axis, 3).tolist()} inside the limits: choose another axis, or none'
        )
        return IkResult(target_m, True, (), target_m, 0.0, message)

    def _reached(
        self,
        target_m: np.ndarray,
        q: np.ndarray,
        residuals_m: np.ndarray,
        scores: np.ndarray,
        present: np.ndarray,
        max_solutions: int | None,
    ) -> IkResult:
        cut = slice(max_solutions)
        found = IkSolutions(self.arm, q[cut], residuals_m[cut], scores[cut], present)
        return IkResult(target_m, True, found, target_m, 0.0, '')

    def _remedy(self, nearest_m: np.ndarray) -> str:
        """Return the remedy; rounded to um, the point would lie outside the workspace again."""
        point = '({:.4f}, {:.4f}, {:.4f})'.format(*(nearest_m * 1e3))
        return (
            f'move the target to the nearest point that the model reaches, {point} mm in '
            f'{self.arm.robot.base.frame}'
        )

    def _columns_of(self, held_segments: Sequence[str]) -> np.ndarray:
        """Return the places of the held segments' coordinates in a configuration vector."""
        names = self.arm.robot.segment_names
        for name in held_segments:
            if name not in names:
                raise KinematicsError(
                    f'held segment {name[:60]!r} is not known: use some of {list(names)}'
                )
        if set(held_segments) >= set(names):
            raise KinematicsError(
                f'all segments are held: leave at least one of {list(names)} free'
            )
        parts = zip(names, self.arm.columns, strict=True)
        return np.concatenate([columns for name, columns in parts if name in held_segments])

    def _checked(
        self, target_m: ArrayLike, axis: ArrayLike | None, present: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        target = _vector('target', target_m, 3, 'm')
        if np.abs(target).max() > MAX_TARGET_M:
            raise KinematicsError(
                f'target {np.abs(target).max():.6g} m from the base is more than '
                f'{MAX_TARGET_M:g} m: give metres, not millimetres'
            )
        direction = None
        if axis is not None:
            direction = _vector('axis', axis, 3, '')
            largest = np.abs(direction).max()
            if not largest > 1e-9:
                raise KinematicsError(
                    f'axis {direction.tolist()} has no direction: '
                    'give a vector that is not zero, or no axis'
                )
            direction /= largest  # its square may be too large for a float
            direction /= np.linalg.norm(direction)
        if present is None:
            return target, direction, self._rest
        what, unit = f'present {self.arm.q_name}', self.arm.q_unit
        start = _vector(what, present, self.arm.n_actuators, unit)
        return target, direction, np.clip(start, *self.arm.q_limits)


def _scoring(arm: Arm, limits: np.ndarray) -> Scoring:
    """Return the weights and pressure shares for the compiled scores, inside limits (2, n)."""
    low, high = limits
    steps = np.linspace(0.0, 1.0, SHARE_PIECES + 1)[:, None]
    shares = pressure_shares(arm, low + steps * (high - low)).T
    pressed = ~np.isnan(shares[:, 0])
    share = np.nan_to_num(shares)
    slope = np.gradient(share, axis=1, edge_order=2)
    rise, start, end = np.diff(share, axis=1), slope[:, :-1], slope[:, 1:]
    pieces = np.stack(
        [share[:, :-1], start, 3.0 * rise - 2.0 * start - end, start + end - 2.0 * rise], axis=-1
    )
    weights = arm.robot.ik_weights
    return Scoring(
        np.array([weights.angle_change, weights.bend_growth, weights.stiffness]),
        pressed,
        pieces,
    )


def _vector(what: str, values: ArrayLike, size: int, unit: str) -> np.ndarray:
    vector = np.array(values, dtype=float)
    if vector.shape != (size,):
        raise KinematicsError(f'{what}: {vector.size} numbers, give {size} [{unit or "1"}]')
    if not all(map(math.isfinite, vector.tolist())):
        raise KinematicsError(f'{what} {vector.tolist()} {unit}: give finite numbers')
    return vector


def _mm(point_m: ArrayLike) -> str:
    return '({:.2f}, {:.2f}, {:.2f})'.format(*(np.asarray(point_m) * 1e3))
