"""Table of reachable tip positions under the limits, searched by a KD-tree and cached on disk.

The actuation is drawn inside the limits of every coordinate, with some of them exactly on a limit,
because the edge of the workspace (and a module held at full vacuum) lies there. Rows are stored in
tree order, so that a table read from disk can be searched at once.
"""

import logging
import os
import struct
import zipfile
from pathlib import Path

import numpy as np

from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.backends import kd_tree
from soft_arm_kinematics.backends.fast_fk import fk_batch
from soft_arm_kinematics.errors import KinematicsError

TABLE_VERSION = (
    2  # raise when the sampling or the tree below changes: older cache files are then rebuilt
)
POINTS = 1_000_000
LIMIT_SHARE = (
    0.13  # share of the samples of one coordinate that lie on its lower limit, and on its upper one
)
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    struct.error,
    zipfile.BadZipFile,
)
_CHECKED_ROWS = 256  # rows recomputed when a cache file is loaded
_ROUNDING = 1e-6  # values are kept in single precision: starts for refinement need no more
_MOST_FOUND = 4096

_log = logging.getLogger(__name__)


class WorkspaceTable:
    """Sampled workspace of an arm.

    Attributes:
        actuation: (m, n) float32, in tree order; lengths [m] for bellows.
        tips_m: (m, 3) float32 tip positions [m] in the base frame.
        axes, values: Split axes and values of the KD-tree, see `kd_tree`.
    """

    def __init__(
        self, actuation: np.ndarray, tips_m: np.ndarray, axes: np.ndarray, values: np.ndarray
    ):
        self.actuation, self.tips_m, self.axes, self.values = actuation, tips_m, axes, values
        self._found = np.empty(min(_MOST_FOUND, len(tips_m)), dtype=np.int64)

    def near(self, target_m: np.ndarray, radius_m: float, at_least: int) -> np.ndarray:
        """Rows of the table poses near a target, in tree order.

        Args:
            target_m: (3,) [m].
            radius_m: Poses within this distance [m] are taken (the first 4096 of more).
            at_least: The radius grows until so many are found, or all.

        Raises:
            KinematicsError: If the target or the radius is not finite, or the radius is not greater
                than 0.
        """
        if not (np.isfinite(target_m).all() and 0.0 < radius_m < np.inf):
            raise KinematicsError(
                f'target {np.asarray(target_m).tolist()} m, radius {radius_m} m: give finite '
                'numbers, and a radius > 0'
            )
        count, _ = kd_tree.near(
            self.tips_m, self.axes, self.values, target_m, radius_m, at_least, self._found
        )
        return self._found[:count].copy()


def build_table(arm: Arm, points: int) -> WorkspaceTable:
    """Sample the workspace of an arm at so many points, on all cores."""
    low, high = arm.actuation_limits
    share = np.random.Generator(np.random.SFC64(1)).random(
        (points, arm.n_actuators), dtype=np.float32
    )
    share *= 1.0 + 2.0 * LIMIT_SHARE
    share -= LIMIT_SHARE
    np.clip(share, 0.0, 1.0, out=share)
    share *= (high - low).astype(np.float32)
    share += low.astype(np.float32)
    tips_m = fk_batch(arm, share)[:, :3, 3].astype(np.float32)
    order, axes, values = kd_tree.build(tips_m)
    return WorkspaceTable(share[order], tips_m[order], axes, values)


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/soft_arm` or `~/.cache/soft_arm`."""
    return Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'soft_arm'


def load_table(arm: Arm, points: int = POINTS, folder: Path | None = None) -> WorkspaceTable:
    """Table of an arm from the cache, built and stored there when it is missing, stale or corrupt.

    Args:
        arm: The arm.
        points: Number of samples.
        folder: Cache folder; `cache_folder()` when left out.
    """
    folder = folder or cache_folder()
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
        np.savez(
            part,
            actuation=table.actuation,
            tips_m=table.tips_m,
            axes=table.axes,
            values=table.values,
        )
        part.replace(path)
    except OSError as error:
        _log.warning('%s: %s; the table is not kept', path, error.strerror)
    return table


def _read(arm: Arm, points: int, path: Path) -> WorkspaceTable:
    with np.load(
        path, allow_pickle=False
    ) as file:  # the archive's checksums are compared as it is read
        actuation = file['actuation']
        tips_m = file['tips_m']
        axes = file['axes']
        values = file['values']
    nodes = (1 << kd_tree.levels_of(points)) - 1
    if (
        actuation.shape != (points, arm.n_actuators)
        or tips_m.shape != (points, 3)
        or axes.shape != (nodes,)
        or values.shape != (nodes,)
    ):
        raise ValueError(
            f'holds arrays of shape {actuation.shape}, {tips_m.shape}, {axes.shape} and '
            f'{values.shape}'
        )
    low, high = arm.actuation_limits
    slack = _ROUNDING * (high - low)
    if not (
        np.all(actuation.min(axis=0) >= low - slack)
        and np.all(actuation.max(axis=0) <= high + slack)
    ):
        raise ValueError('holds values outside the limits')
    rows = np.linspace(0, points - 1, _CHECKED_ROWS).astype(int)
    worst_m = float(np.abs(arm.fk(actuation[rows])[:, :3, 3] - tips_m[rows]).max())
    if not worst_m < _ROUNDING:
        raise ValueError(f'tips are up to {worst_m:.3g} m from the model')
    return WorkspaceTable(actuation, tips_m, axes, values)
