"""Table of reachable tip positions, drawn inside the limits and searched by a KD-tree.

Each coordinate is drawn uniformly from its range, and with some probability from its two limits,
because the boundary of the workspace (and a module held at full vacuum) lies there.
"""

import numpy as np
from scipy.spatial import cKDTree

from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.backends.fast_fk import fk_batch
from soft_arm_kinematics.errors import KinematicsError

POINTS = 1_000_000
LIMIT_SHARE = 0.13  # overshoot of the range on each side; clipped samples lie on the limit


class WorkspaceTable:
    """Sampled workspace of an arm.

    Attributes:
        q: (m, n) float32; lengths [m] for bellows.
        tips_m: (m, 3) float32 tip positions [m] in the base frame.
    """

    def __init__(self, q: np.ndarray, tips_m: np.ndarray):
        self.q, self.tips_m = q, tips_m
        self._tree = cKDTree(tips_m, balanced_tree=False, compact_nodes=False)

    def near(self, points_m: np.ndarray, count: int) -> np.ndarray:
        """Return the rows (..., count) with the tips nearest to points (..., 3) [m].

        Raises:
            KinematicsError: If a point is not finite.
        """
        try:
            return self._tree.query(points_m, min(count, len(self.tips_m)))[1]
        except ValueError as error:
            raise KinematicsError('points of the table: give finite numbers [m]') from error


def build_table(arm: Arm, points: int = POINTS) -> WorkspaceTable:
    """Sample the workspace of an arm at the given number of points, on all cores."""
    low, high = arm.q_limits
    share = np.random.Generator(np.random.SFC64(1)).random(
        (points, arm.n_actuators), dtype=np.float32
    )
    share *= 1.0 + 2.0 * LIMIT_SHARE
    share -= LIMIT_SHARE
    np.clip(share, 0.0, 1.0, out=share)
    share *= (high - low).astype(np.float32)
    share += low.astype(np.float32)
    return WorkspaceTable(share, fk_batch(arm, share)[:, :3, 3].astype(np.float32))
