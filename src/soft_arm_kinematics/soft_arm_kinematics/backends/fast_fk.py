"""Batched forward kinematics: the poses of `Arm.at`, compiled for all cores or on a torch device.

Imported only where many poses are wanted, because loading the compiler takes longer than answering
one pose.
"""

from typing import TYPE_CHECKING

import numpy as np

from soft_arm_kinematics.backends import compiled_formulas
from soft_arm_kinematics.errors import KinematicsError

if TYPE_CHECKING:
    from soft_arm_kinematics.arm import Arm


def fk_batch(
    arm: 'Arm', q: np.ndarray, out: np.ndarray | None = None, device: str | None = None
) -> np.ndarray:
    """T_base_tip of many configurations, on all cores.

    Args:
        arm: The arm, of any kinds.
        q: (..., n), lengths [m] for bellows; `Robot.coordinates` in general. Values are not
            checked: NaN gives NaN.
        out: (m, 4, 4) float64, contiguous, m = the product of the leading shape, to write into. A
            new array of a million poses costs as much as filling it, because the system hands out
            its pages one by one.
        device: `cpu`, `cuda`, ... to work through torch in float64; the compiled loops where None.

    Returns:
        Poses (..., 4, 4).

    Raises:
        KinematicsError: If a shape is wrong, or the device cannot be had.
    """
    q = np.ascontiguousarray(q, dtype=float)
    if q.shape[-1:] != (arm.n_actuators,):
        raise KinematicsError(
            f'q of shape {q.shape}: give {arm.n_actuators} values, one for each of '
            f'{", ".join(c.name for c in arm.robot.coordinates)}'
        )
    shape, rows = q.shape[:-1], q.reshape(-1, arm.n_actuators)
    poses = np.empty((len(rows), 4, 4)) if out is None else out
    if (
        poses.shape != (len(rows), 4, 4)
        or poses.dtype != np.float64
        or not poses.flags.c_contiguous
    ):
        raise KinematicsError(
            f'out of shape {poses.shape} and type {poses.dtype}: '
            f'give a contiguous float64 array ({len(rows)}, 4, 4)'
        )
    if device is None:
        compiled_formulas.poses(arm.chain, rows, poses)
    else:
        from soft_arm_kinematics.backends.torch_batch import fk, tensor  # takes seconds

        poses[:] = fk(arm.chain, tensor(rows, device)).cpu().numpy()
    return poses.reshape(*shape, 4, 4)
