"""Table of reachable tip positions under the length limits, searched by a KD-tree and cached on disk.

The lengths are drawn inside the limits of every actuator, with some of them exactly on a limit, because the edge of the workspace (and
a module held at full vacuum) lies there.
"""

import logging
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.fast_fk import fk_batch

TABLE_VERSION = 1  # raise when the sampling below changes: older cache files are then rebuilt
LIMIT_SHARE = 0.13  # share of the samples of one actuator that lie on its lower limit, and on its upper one
_UNREADABLE = OSError, ValueError, KeyError, EOFError, NotImplementedError, RuntimeError, struct.error, zipfile.BadZipFile
_CHECKED_ROWS = 256  # rows recomputed when a cache file is loaded

_log = logging.getLogger(__name__)


class WorkspaceTable:
    """Sampled workspace of an arm.

    Attributes:
        lengths_m: (m, n) actuator lengths [m].
        tips_m: (m, 3) tip positions [m] in the base frame.
    """

    def __init__(self, lengths_m: np.ndarray, tips_m: np.ndarray):
        self.lengths_m = lengths_m
        self.tips_m = tips_m
        self._tree = cKDTree(tips_m, balanced_tree=False, compact_nodes=False)

    def candidates(self, target_m: np.ndarray, radius_m: float, at_least: int, at_most: int) -> np.ndarray:
        """Lengths (k, n) of table poses near a target.

        Args:
            target_m: (3,) [m].
            radius_m: Poses within this distance [m] are taken, thinned evenly beyond `at_most`.
            at_least: So many nearest ones are taken where fewer lie within the radius.
            at_most: Largest number.
        """
        rows = np.asarray(self._tree.query_ball_point(target_m, radius_m), dtype=int)
        if len(rows) < at_least:
            rows = self._tree.query(target_m, k=min(at_least, len(self.tips_m)))[1]
        elif len(rows) > at_most:
            rows = rows[np.linspace(0, len(rows) - 1, at_most).astype(int)]
        return self.lengths_m[rows]


def build_table(arm: Arm, points: int) -> WorkspaceTable:
    """Sample the workspace of an arm at so many points."""
    low, high = arm.length_limits_m
    share = np.random.default_rng(1).uniform(-LIMIT_SHARE, 1.0 + LIMIT_SHARE, (points, arm.n_actuators))
    lengths_m = low + (high - low) * np.clip(share, 0.0, 1.0)
    return WorkspaceTable(lengths_m, np.ascontiguousarray(fk_batch(arm, lengths_m)[:, :3, 3]))


def load_table(arm: Arm, points: int, folder: Path | None = None) -> WorkspaceTable:
    """Table of an arm from the cache, built and stored there when it is missing, stale or corrupt.

    Args:
        arm: The arm.
        points: Number of samples.
        folder: Cache folder; `$XDG_CACHE_HOME/soft_arm` or `~/.cache/soft_arm` when left out.
    """
    folder = folder or Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'soft_arm'
    path = folder / f'workspace_{arm.fingerprint}_{points}_v{TABLE_VERSION}.npz'
    try:
        return _read(arm, points, path)
    except FileNotFoundError:
        pass
    except _UNREADABLE as error:
        _log.warning('%s: %s; building the table again', path, error)
    table = build_table(arm, points)
    part = path.with_name(f'{path.stem}.{os.getpid()}.part.npz')
    try:
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(part, lengths_m=table.lengths_m, tips_m=table.tips_m)
        part.replace(path)
    except OSError as error:
        _log.warning('%s: %s; the table is not kept', path, error.strerror)
    return table


def _read(arm: Arm, points: int, path: Path) -> WorkspaceTable:
    with np.load(path, allow_pickle=False) as file:  # the archive's checksums are compared as it is read
        lengths_m, tips_m = file['lengths_m'], file['tips_m']
    if lengths_m.shape != (points, arm.n_actuators) or tips_m.shape != (points, 3):
        raise ValueError(f'holds arrays of shape {lengths_m.shape} and {tips_m.shape}')
    if not (np.all(lengths_m >= arm.length_limits_m[0]) and np.all(lengths_m <= arm.length_limits_m[1])):
        raise ValueError('holds lengths outside the limits')
    rows = np.linspace(0, points - 1, _CHECKED_ROWS).astype(int)
    worst_m = float(np.abs(arm.tip_from_lengths(lengths_m[rows]) - tips_m[rows]).max())
    if not worst_m < 1e-9:
        raise ValueError(f'tips are up to {worst_m:.3g} m from the model')
    return WorkspaceTable(lengths_m, tips_m)
