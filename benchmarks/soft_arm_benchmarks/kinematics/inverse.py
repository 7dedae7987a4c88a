"""Speed, success and quality of inverse kinematics, and table 5 of the arm paper."""

import os
import time
from functools import partial

import numpy as np

from soft_arm_benchmarks.kinematics.exhaustive import exhaustive_scores
from soft_arm_benchmarks.kinematics.speed import best_s, random_q
from soft_arm_kinematics.arm import BellowsArm
from soft_arm_kinematics.ik.inverse import (
    STARTS,
    TABLE_POINTS,
    IkSolutions,
    InverseKinematics,
)
from soft_arm_kinematics.workspace.table import WorkspaceTable, build_table

SEARCH_RADIUS_M = 0.012  # of a traversal
PAPER_TABLE_5 = {  # points: seconds by traversal and by KD-tree
    50_000: (41.86e-3, 1.99e-3),
    100_000: (84.82e-3, 2.98e-3),
    150_000: (124.52e-3, 3.34e-3),
    200_000: (167.03e-3, 3.55e-3),
    250_000: (209.30e-3, 3.98e-3),
    1_000_000: (None, None),
}


def random_targets(arm: BellowsArm, count: int, seed: int) -> np.ndarray:
    """Draw lengths inside the limits and return their tip positions (count, 3) [m]."""
    return arm.at(random_q(arm, count, np.random.default_rng(seed))).tip_m


def traversal(table: WorkspaceTable, target_m: np.ndarray, radius_m: float) -> np.ndarray:
    """Return the rows within the radius by a linear search in NumPy."""
    offsets = table.tips_m - target_m.astype(table.tips_m.dtype)
    return np.flatnonzero(np.einsum('ij,ij->i', offsets, offsets) <= radius_m**2)


def ik_figures(arm: BellowsArm, targets: int) -> dict[str, float]:
    """Return the time of a call, its ratio to a traversal, and the success rate over targets."""
    solver = InverseKinematics(arm, build_table(arm, TABLE_POINTS))
    low, high = arm.length_limits_m
    times_s = []
    residual_m = 0.0
    solved = 0
    targets_m = random_targets(arm, targets, 11)
    for target_m in targets_m[:50]:  # loads the compiled code and warms the caches
        solver.solve(target_m)
    for target_m in targets_m:
        start = time.perf_counter()
        result = solver.solve(target_m)
        times_s.append(time.perf_counter() - start)
        if not result.solutions:
            continue
        assert isinstance(result.solutions, IkSolutions)
        found_m = result.solutions.q
        worst_m = float(np.linalg.norm(arm.at(found_m).tip_m - target_m, axis=1).max())
        residual_m = max(residual_m, worst_m)
        solved += worst_m <= 1e-6 and bool(np.all((found_m >= low) & (found_m <= high)))
    traversal_s, search_s = query_times(solver.table, targets_m[:200])
    whole_s, beside_s = whole_times(solver, targets_m[:200])
    return {
        'ik_median_s': float(np.median(times_s)),
        'ik_p99_s': float(np.percentile(times_s, 99)),
        'ik_residual_max_m': residual_m,
        'ik_search_s': search_s,
        'traversal_s': traversal_s,
        'ik_ratio_traversal': traversal_s / search_s,
        'ik_ratio_traversal_whole': beside_s / whole_s,
        'ik_success': solved / targets,
    }


def query_times(table: WorkspaceTable, targets_m: np.ndarray) -> tuple[float, float]:
    """Return median seconds of a traversal and of a tree search, alternating by target."""
    traversals_s, searches_s = [], []
    for target_m in targets_m:
        traversals_s.append(best_s(partial(traversal, table, target_m, SEARCH_RADIUS_M), 2))
        searches_s.append(best_s(partial(table.near, target_m, STARTS), 3))
    return float(np.median(traversals_s)), float(np.median(searches_s))


def whole_times(solver: InverseKinematics, targets_m: np.ndarray) -> tuple[float, float]:
    """Return median seconds of a call and of a traversal, alternating on the same targets."""
    wholes_s, traversals_s = [], []
    for target_m in targets_m:
        wholes_s.append(best_s(partial(solver.solve, target_m), 2))
        traversals_s.append(best_s(partial(traversal, solver.table, target_m, SEARCH_RADIUS_M), 2))
    return float(np.median(wholes_s)), float(np.median(traversals_s))


def table_5(arm: BellowsArm) -> list[dict]:
    """Return query times of this machine and of the paper, for its table sizes and 1e6 points."""
    rows = []
    for points, (paper_traversal_s, paper_kd_tree_s) in PAPER_TABLE_5.items():
        traversal_s, kd_tree_s = query_times(build_table(arm, points), random_targets(arm, 40, 5))
        rows.append(
            {
                'points': points,
                'traversal_s': traversal_s,
                'kd_tree_s': kd_tree_s,
                'ratio': traversal_s / kd_tree_s,
                'paper_traversal_s': paper_traversal_s,
                'paper_kd_tree_s': paper_kd_tree_s,
            }
        )
    return rows


def exhaustive_figures(arm: BellowsArm, targets: int) -> dict[str, float]:
    """Compare best scores with an exhaustive search, from random configurations and from rest."""
    solver = InverseKinematics(arm, build_table(arm, TABLE_POINTS))
    present_m = random_q(arm, targets, np.random.default_rng(13))
    present_m[::2] = arm.rest_q
    targets_m = random_targets(arm, targets, 12)
    least = np.array(list(exhaustive_scores(arm, targets_m, present_m, os.cpu_count() or 1)))
    found = np.array(
        [
            solver.solve(t, present_lengths_m=p).solutions[0].score
            for t, p in zip(targets_m, present_m, strict=True)
        ]
    )
    excess = (found - least) / np.abs(least)
    return {
        'ik_best_within_1pct': float(np.mean(excess <= 0.01)),
        'ik_best_excess_max': float(excess.max()),
    }
