"""Positions of the tip over time, from whatever measures or models it, and their distances."""

from dataclasses import dataclass
from typing import Self

import numpy as np

GAP_NS = 100_000_000  # between two samples further apart nothing is interpolated


@dataclass(frozen=True, eq=False)
class Track:
    """Positions of the tip in the arm's base frame.

    Attributes:
        stamps_ns: Times [ns], shape (n,), rising.
        points_m: Positions [m], shape (n, 3).
    """

    stamps_ns: np.ndarray
    points_m: np.ndarray

    @classmethod
    def of(cls, stamps_ns: np.ndarray, points_m: np.ndarray) -> Self:
        """Make a track of samples in any order; of samples with one stamp the first counts."""
        stamps_ns, chosen = np.unique(np.asarray(stamps_ns, np.int64), return_index=True)
        return cls(stamps_ns, np.asarray(points_m, float).reshape(-1, 3)[chosen])

    def at(self, stamps_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interpolate linearly between samples at most `GAP_NS` apart.

        Args:
            stamps_ns: Times [ns], shape (m,).

        Returns:
            Whether there is a position at each time, shape (m,); and the positions [m], shape
            (m, 3), NaN where there is none.
        """
        stamps_ns = np.asarray(stamps_ns, np.int64)
        points_m = np.full((len(stamps_ns), 3), np.nan)
        if not len(self.stamps_ns):
            return np.zeros(len(stamps_ns), bool), points_m
        after = np.searchsorted(self.stamps_ns, stamps_ns)  # the first sample not before
        last = len(self.stamps_ns) - 1
        inside = after <= last
        after = np.minimum(after, last)
        exact = self.stamps_ns[after] == stamps_ns
        before = np.where(exact, after, after - 1)
        inside &= before >= 0
        before = np.maximum(before, 0)
        gap_ns = self.stamps_ns[after] - self.stamps_ns[before]
        inside &= gap_ns <= GAP_NS
        share = (stamps_ns - self.stamps_ns[before]) / np.maximum(gap_ns, 1)
        mixed_m = self.points_m[before] + share[:, None] * (
            self.points_m[after] - self.points_m[before]
        )
        points_m[inside] = mixed_m[inside]
        return inside, points_m


def distances_m(one: Track, other: Track) -> tuple[np.ndarray, np.ndarray]:
    """Return times [ns] (n,) and distances [m] (n,) of two tracks.

    They are taken at the stamps of the track with fewer samples, where the other has a position.
    """
    sparse, dense = (one, other) if len(one.stamps_ns) <= len(other.stamps_ns) else (other, one)
    inside, points_m = dense.at(sparse.stamps_ns)
    apart_m = np.linalg.norm(sparse.points_m[inside] - points_m[inside], axis=1)
    return sparse.stamps_ns[inside], apart_m
