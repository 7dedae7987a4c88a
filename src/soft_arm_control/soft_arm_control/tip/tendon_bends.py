"""Configurations of an arm of tendon segments as bends towards x and y and lengths.

Unlike theta and phi, these coordinates have no singular point where a segment is straight. Each is
given as a share of its range, 0 to 1, so that bends and lengths have equal weights.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.segments.pcc import arcs_from_polar, polar_from_arcs

DIFFERENCE_STEP = 1e-5  # of a share, for the numerical derivative
LIMIT_TOLERANCE = 1e-3  # share of the range


class TendonBends:
    """The tip of an arm as a function of the shares, as `differential_ik` takes it.

    Args:
        arm: An arm of tendon segments only.
    """

    def __init__(self, arm: Arm):
        self._arm, self._columns = arm, np.array(arm.columns)  # (k, 3)
        low, high = arm.q_limits[:, self._columns]  # (k, 3) each
        self._max_rad = np.minimum(np.abs(low[:, 0]), np.abs(high[:, 0]))
        bends = self._max_rad[:, None] * np.ones(2)
        self._low = np.concatenate([-bends, low[:, 2:]], axis=1)
        self._range = np.concatenate([bends, high[:, 2:]], axis=1) - self._low

    @property
    def limits(self) -> np.ndarray:
        """Lowest and highest shares, (2, 3 k)."""
        n = self._low.size
        return np.stack([np.zeros(n), np.ones(n)])

    def shares(self, q: np.ndarray) -> np.ndarray:
        """Return the shares (3 k,) of q (3 k,) in the order of the robot file."""
        bends = arcs_from_polar(*q[self._columns].T)
        return ((bends - self._low) / self._range).ravel()

    def q(self, shares: np.ndarray) -> np.ndarray:
        """Return q (3 k,) of shares (3 k,); bends are >= 0."""
        found = np.empty(self._columns.size)
        found[self._columns] = np.array(polar_from_arcs(self.bends(shares))).T
        return found

    def bends(self, shares: np.ndarray) -> np.ndarray:
        """Return bends towards x and y [rad] and lengths [m] of the segments, (k, 3)."""
        return self._low + shares.reshape(-1, 3) * self._range

    def limited(self, shares: np.ndarray) -> np.ndarray:
        """Return the shares with every segment's bend clipped to its limit."""
        bends = self.bends(shares)
        theta = np.hypot(bends[:, 0], bends[:, 1])
        bends[:, :2] *= np.minimum(1.0, self._max_rad / np.maximum(theta, 1e-9))[:, None]
        return ((bends - self._low) / self._range).ravel()

    def at_limits(self, shares: np.ndarray) -> list[str]:
        """Return the names of the segments' bends and lengths that are at a limit."""
        bends, found = self.bends(shares), []
        theta = np.hypot(bends[:, 0], bends[:, 1]) / self._max_rad
        lengths = shares.reshape(-1, 3)[:, 2]
        for name, bend, length in zip(self._arm.robot.segment_names, theta, lengths, strict=True):
            found += [f'{name}_theta'] * bool(bend > 1.0 - LIMIT_TOLERANCE)
            found += [f'{name}_ell'] * bool(not LIMIT_TOLERANCE < length < 1.0 - LIMIT_TOLERANCE)
        return found

    def at(self, shares: np.ndarray) -> 'BendsTip':
        """Return the model's tip at shares (3 k,)."""
        return BendsTip(self._arm, self.q, shares)


@dataclass(frozen=True, eq=False)
class BendsTip:
    """Tip of an arm at shares (3 k,), of which `q` gives the configuration vector."""

    arm: Arm
    q: Callable[[np.ndarray], np.ndarray]
    shares: np.ndarray

    @property
    def tip_m(self) -> np.ndarray:
        """Tip in the base frame [m], (3,)."""
        return self._tip_m(self.shares)

    @property
    def tip_jacobian(self) -> np.ndarray:
        """Derivative of the tip by the shares [m], (3, 3 k)."""
        steps = DIFFERENCE_STEP * np.eye(self.shares.size)
        ahead, behind = (
            np.array([self._tip_m(self.shares + sign * step) for step in steps])
            for sign in (1.0, -1.0)
        )
        return (ahead - behind).T / (2.0 * DIFFERENCE_STEP)

    def _tip_m(self, shares: np.ndarray) -> np.ndarray:
        return self.arm.at(self.q(shares)).tip_m
