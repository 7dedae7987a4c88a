"""Inverse kinematics: all ways found to bring the tip to a target, best first by the arm paper's three principles.

A position leaves a three-dimensional family of solutions (six lengths, three conditions). The table gives starts spread over that
family, refinement brings every start onto it, solutions closer than `MERGE_SPACING_M` become one, and scores put them in order.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.refine import merge_near, refine
from soft_arm_kinematics.scores import explanations, principle_scores
from soft_arm_kinematics.workspace import WorkspaceTable, load_table

TABLE_POINTS = 250_000
SEARCH_RADIUS_M = 0.015
AT_LEAST, AT_MOST = 32, 160  # starts
RESIDUAL_M = 1e-6  # a solution's tip is at most this far from the target
AXIS_TOLERANCE_RAD = 1e-5
MERGE_SPACING_M = 1e-3  # solutions nearer than this in every length are one
_BOUNDARY_STARTS = 3  # nearest local minima that are polished on the edge of the workspace


@dataclass(frozen=True, eq=False)
class IkSolution:
    """One solution; arrays in robot-file order. Scores as in `scores.principle_scores`, lower is better."""

    lengths_m: np.ndarray
    pressures_pa: np.ndarray
    theta_rad: np.ndarray
    phi_rad: np.ndarray
    ell_m: np.ndarray
    residual_m: float
    score: float
    score_angle_change: float
    score_bend_growth: float
    score_stiffness: float
    pressure_margin_pa: float
    explanation: str


@dataclass(frozen=True, eq=False)
class IkResult:
    """Answer to one target.

    Attributes:
        target_m: (3,) the target [m].
        reachable: Whether the tip reaches the position, whatever the axis.
        solutions: Best first; empty where there is none.
        nearest_m: (3,) nearest reachable point [m]; the target itself where reachable.
        distance_m: From the target to `nearest_m` [m].
        message: One line that says why there is no solution; empty where there is one.
    """

    target_m: np.ndarray
    reachable: bool
    solutions: tuple[IkSolution, ...]
    nearest_m: np.ndarray
    distance_m: float
    message: str


class InverseKinematics:
    """Solver of one arm; it holds the arm's workspace table."""

    def __init__(self, arm: Arm, table: WorkspaceTable | None = None):
        """Load (or build) the table of the arm."""
        self.arm = arm
        self.table = table or load_table(arm, TABLE_POINTS)

    def solve(self, target_m, axis=None, present_lengths_m=None, max_solutions: int | None = None) -> IkResult:
        """Find the solutions of one target.

        Args:
            target_m: (3,) tip position in the base frame [m].
            axis: (3,) wanted direction of the tip's z axis, of any length, or None for any direction.
            present_lengths_m: (n,) where the arm is now [m], for the scores; its rest lengths where None.
            max_solutions: Largest number of solutions; all where None.

        Raises:
            KinematicsError: If a value is not finite or has the wrong shape.
        """
        target_m, axis, present_m = self._checked(target_m, axis, present_lengths_m)
        starts_m = self.table.candidates(target_m, SEARCH_RADIUS_M, AT_LEAST, AT_MOST)
        starts_m = np.concatenate([present_m[None], starts_m])
        lengths_m, residuals_m, axis_errors_rad = refine(self.arm, starts_m, target_m, axis)
        good = (residuals_m <= RESIDUAL_M) & (axis_errors_rad <= AXIS_TOLERANCE_RAD)
        if good.any():
            solutions = self._ranked(lengths_m[good], residuals_m[good], present_m, max_solutions)
            return IkResult(target_m, True, solutions, target_m, 0.0, '')
        if axis is not None:
            lengths_m, residuals_m, _ = refine(self.arm, starts_m, target_m)
        if (residuals_m <= RESIDUAL_M).any():
            return IkResult(
                target_m,
                True,
                (),
                target_m,
                0.0,
                f'target {_mm(target_m)} mm can be reached, but not with the tip axis along '
                f'{np.round(axis, 3).tolist()} inside the length limits: choose another axis, or none',
            )
        nearest_m, distance_m = self._nearest(lengths_m[np.argsort(residuals_m)], target_m)
        return IkResult(
            target_m,
            False,
            (),
            nearest_m,
            distance_m,
            f'target {_mm(target_m)} mm is {distance_m * 1e3:.3f} mm outside the '
            f'workspace: the nearest reachable point is {_mm(nearest_m)} mm, move the target there',
        )

    def _ranked(self, lengths_m, residuals_m, present_m, max_solutions):
        weights = self.arm.robot.ik_weights
        scores = principle_scores(self.arm, lengths_m, present_m)
        total = scores @ np.array([weights.angle_change, weights.bend_growth, weights.stiffness])
        order = np.argsort(total, kind='stable')
        order = order[merge_near(lengths_m[order], MERGE_SPACING_M)][:max_solutions]
        lengths_m, residuals_m, scores, total = lengths_m[order], residuals_m[order], scores[order], total[order]
        pressures_pa = self.arm.pressures(lengths_m)
        low, high = self.arm.pressure_limits_pa
        margins_pa = np.minimum(pressures_pa - low, high - pressures_pa).min(axis=1)
        theta, phi, ell = self.arm.polar(lengths_m)
        sentences = explanations(self.arm, lengths_m, present_m)
        return tuple(
            IkSolution(
                lengths_m[i],
                pressures_pa[i],
                theta[i],
                phi[i],
                ell[i],
                float(residuals_m[i]),
                float(total[i]),
                *scores[i].tolist(),
                float(margins_pa[i]),
                sentences[i],
            )
            for i in range(len(order))
        )

    def _nearest(self, starts_m, target_m):
        """Nearest reachable point: the best local minima of the distance, polished with bounds."""
        low, high = self.arm.length_limits_m

        def squared(share):  # lengths as shares of their range, so that all have the same scale
            lengths_m = low + share * (high - low)
            error_m = self.arm.tip_from_lengths(lengths_m) - target_m
            return error_m @ error_m * 1e4, 2e4 * (error_m @ self.arm.jacobian_lengths(lengths_m)) * (high - low)

        found = [
            minimize(
                squared,
                (start_m - low) / (high - low),
                jac=True,
                method='L-BFGS-B',
                bounds=[(0.0, 1.0)] * len(low),
                options={'ftol': 1e-15, 'gtol': 1e-10, 'maxiter': 300},
            )
            for start_m in starts_m[:_BOUNDARY_STARTS]
        ]
        best = min(found, key=lambda f: f.fun)
        nearest_m = self.arm.tip_from_lengths(low + best.x * (high - low))
        return nearest_m, float(np.linalg.norm(nearest_m - target_m))

    def _checked(self, target_m, axis, present_lengths_m):
        target_m = _vector('target', target_m, 3, 'm')
        if axis is not None:
            axis = _vector('axis', axis, 3, '')
            length = np.linalg.norm(axis)
            if not length > 1e-9:
                raise KinematicsError(f'axis {axis.tolist()} has no direction: give a vector that is not zero, or no axis')
            axis = axis / length
        if present_lengths_m is None:
            return target_m, axis, np.clip(self.arm.robot.rest_lengths_m, *self.arm.length_limits_m)
        present_m = _vector('present lengths', present_lengths_m, self.arm.n_actuators, 'm')
        return target_m, axis, np.clip(present_m, *self.arm.length_limits_m)


def _vector(what, values, size, unit):
    values = np.asarray(values, dtype=float)
    if values.shape != (size,):
        raise KinematicsError(f'{what} of shape {values.shape}: give {size} numbers [{unit or "1"}]')
    if not np.isfinite(values).all():
        raise KinematicsError(f'{what} {values.tolist()} {unit}: give finite numbers')
    return values


def _mm(point_m):
    return '({:.2f}, {:.2f}, {:.2f})'.format(*(np.asarray(point_m) * 1e3))
