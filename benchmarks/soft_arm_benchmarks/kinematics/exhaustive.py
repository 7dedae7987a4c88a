"""Exhaustive search for the minimum score of a target, independent of the solver.

Random starts cover the family of solutions. From the best and distinct ones, SLSQP minimises the
score, with complex-step derivatives of the second model. The scores have kinks where a segment does
not move (u_i = current u_i) and where it is straight (u_i = 0), often at the minimum: each
combination of kinks is minimised separately, with the kinks as equality constraints.
"""

import itertools
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize

from soft_arm_benchmarks.kinematics.complex_model import STEP, bends_and_ends, complex_rows
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.ik.scores import pressure_shares, principle_scores

STARTS = 400  # random inputs per draw
SUFFICIENT = 200  # solutions that end the draws
MAX_DRAWS = 6
POLISHED = 30  # starts of the optimiser
KINKED = 4  # starts of each combination of kinks
RESIDUAL_M = 1e-6
_PROJECTIONS = 25
_SPACING = 0.1  # minimum distance between starts of the optimiser, share of a coordinate's range
_ROUNDING_RAD = 1e-3  # smoothing radius of kinks that are not constraints
_POSITION_SCALE = 10.0  # [1/m], of the position constraints

# Score, its gradient (n,), constraints (m,) and their Jacobian (m, n).
_Evaluated = tuple[float, np.ndarray, np.ndarray, np.ndarray]


def exhaustive_score(arm: Arm, target_m: np.ndarray, present: np.ndarray, seed: int = 0) -> float:
    """Return the minimum total score of all solutions of a tip position.

    Args:
        arm: The arm, with segments of any kind.
        target_m: (3,) tip position [m], reachable.
        present: (n,) current q of the arm.
        seed: Seed of the random starts.

    Returns:
        The score with the weights of the robot file; infinity if no start reaches the target.
    """
    search = _Search(arm, np.asarray(target_m, dtype=float), np.asarray(present, dtype=float))
    return search.least(np.random.default_rng(seed))


def exhaustive_scores(
    arm: Arm, targets_m: np.ndarray, presents: np.ndarray, processes: int
) -> Iterable[float]:
    """Yield `exhaustive_score` of targets (k, 3) from current configurations (k, n), in order."""
    with ProcessPoolExecutor(processes, mp_context=get_context('spawn')) as pool:
        yield from pool.map(
            exhaustive_score, itertools.repeat(arm), targets_m, presents, range(len(targets_m))
        )


class _Search:
    """Search for one target; coordinates x are shares of q's ranges."""

    def __init__(self, arm: Arm, target_m: np.ndarray, present: np.ndarray):
        self.arm = arm
        self.target_m = target_m
        self.present = present
        self.low, self.high = arm.q_limits
        self.now, _ = bends_and_ends(arm, present)
        weights, s = arm.robot.ik_weights, arm.n_segments
        self.weights = np.array([weights.angle_change, weights.bend_growth, weights.stiffness])
        self.cheaper = (s - np.arange(s)) / s
        nodes = np.linspace(0.0, 1.0, 1025)
        shares = pressure_shares(arm, self._q(nodes[:, None]))
        self.pressed = np.flatnonzero(~np.isnan(shares[0]))
        self.share = CubicSpline(nodes, shares[:, self.pressed])
        self.share_slope = self.share.derivative()

    def _q(self, x: np.ndarray) -> np.ndarray:
        return self.low + x * (self.high - self.low)

    def least(self, random: np.random.Generator) -> float:
        """Return the least score found."""
        found = np.empty((0, len(self.low)))
        for _ in range(MAX_DRAWS):
            found = np.concatenate([found, self._family(random.random((STARTS, len(self.low))))])
            if len(found) >= SUFFICIENT:
                break
        if not len(found):
            return np.inf
        found = found[np.argsort(self._exact(found))]
        lowered = [found[0], *self._lowered((x, ()) for x in self._spread(found))]
        kinds = itertools.product(('free', 'still', 'straight'), repeat=self.arm.n_segments)
        combinations = [c for c in kinds if any(k != 'free' for k in c)]
        lowered.sort(key=lambda x: float(self._exact(x[None])[0]))
        lowered += self._lowered(itertools.product(self._spread(lowered)[:KINKED], combinations))
        return float(self._exact(np.array(lowered)).min())

    def _lowered(self, tries: Iterable[tuple[np.ndarray, tuple[str, ...]]]) -> list[np.ndarray]:
        ended = (self._lower(start, kinks) for start, kinks in tries)
        return [x for x in ended if x is not None]

    def _family(self, x: np.ndarray) -> np.ndarray:
        """Project starts (k, n) to the target by Gauss-Newton steps; return the converged ones."""
        for _ in range(_PROJECTIONS):
            errors, slopes = self._tip_errors(x)
            gram = slopes @ slopes.swapaxes(1, 2) + 1e-9 * np.eye(3)
            x = np.clip(
                x - (slopes.swapaxes(1, 2) @ np.linalg.solve(gram, errors[..., None]))[..., 0],
                0.0,
                1.0,
            )
        return x[np.linalg.norm(self._tip_errors(x)[0], axis=1) <= RESIDUAL_M]

    def _tip_errors(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = len(self.low)
        rows = self._q(x)[:, None, :] + 1j * STEP * np.diag(self.high - self.low)
        tips = bends_and_ends(self.arm, rows.reshape(-1, n))[1][:, :3, 3].reshape(-1, n, 3)
        return tips[:, 0].real - self.target_m, (tips.imag / STEP).swapaxes(1, 2)

    def _spread(self, found: Iterable[np.ndarray]) -> list[np.ndarray]:
        """Keep the first solutions that differ by `_SPACING`, at most `POLISHED`."""
        kept: list[np.ndarray] = []
        for x in found:
            if all(np.abs(x - other).max() >= _SPACING for other in kept):
                kept.append(x)
                if len(kept) == POLISHED:
                    break
        return kept

    def _exact(self, x: np.ndarray) -> np.ndarray:
        return (
            principle_scores(self.arm, self._q(np.clip(x, 0.0, 1.0)), self.present) @ self.weights
        )

    def _score(self, bends: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the smoothed score of complex bends (..., s, 2) and shares (..., n)."""
        theta = np.sqrt((bends**2).sum(axis=-1) + _ROUNDING_RAD**2)
        moved = np.sqrt(((bends - self.now) ** 2).sum(axis=-1) + _ROUNDING_RAD**2)
        inner, outer = theta[..., :-1], theta[..., 1:]
        planes = (
            2.0
            * (inner * outer - (bends[..., :-1, :] * bends[..., 1:, :]).sum(axis=-1))
            / (inner**2 + outer**2)
        )
        unused = 0.0
        if len(self.pressed):
            at, each = x[..., self.pressed], np.arange(len(self.pressed))
            slopes = self.share_slope(at.real)[..., each, each]
            unused = (self.share(at.real)[..., each, each] + 1j * slopes * at.imag).mean(axis=-1)
        return self.weights @ [
            moved @ self.cheaper,
            theta.sum(axis=-1),
            planes.sum(axis=-1) + unused,
        ]

    def _lower(self, start: np.ndarray, kinks: tuple[str, ...]) -> np.ndarray | None:
        """Minimise the score from a start with segments held at kinks; return None on failure."""
        held = [
            (i, self.now[i] if kind == 'still' else np.zeros(2))
            for i, kind in enumerate(kinks)
            if kind != 'free'
        ]
        if 3 + 2 * len(held) > len(start):
            return None
        last: list[tuple[np.ndarray, _Evaluated]] = []  # each point is evaluated twice

        def evaluated(x: np.ndarray) -> _Evaluated:
            if not last or not np.array_equal(last[0][0], x):
                bends, poses = bends_and_ends(self.arm, complex_rows(self.arm, self._q(x)))
                score = self._score(bends, x + 1j * STEP * np.eye(len(x)))
                conditions = np.concatenate(
                    [
                        _POSITION_SCALE * (poses[:, :3, 3] - self.target_m),
                        *(bends[:, i] - value for i, value in held),
                    ],
                    axis=1,
                )
                values = (float(score[0].real), conditions[0].real)
                slopes = (score.imag / STEP, conditions.imag.T / STEP)
                last[:] = [(x.copy(), (values[0], slopes[0], values[1], slopes[1]))]
            return last[0][1]

        ended = minimize(
            lambda x: evaluated(x)[0],
            start,
            jac=lambda x: evaluated(x)[1],
            bounds=[(0.0, 1.0)] * len(start),
            constraints={
                'type': 'eq',
                'fun': lambda x: evaluated(x)[2],
                'jac': lambda x: evaluated(x)[3],
            },
            method='SLSQP',
            options={'maxiter': 80, 'ftol': 1e-9},
        )
        x = np.clip(ended.x, 0.0, 1.0)
        return x if np.linalg.norm(evaluated(x)[2][:3]) <= RESIDUAL_M * _POSITION_SCALE else None
