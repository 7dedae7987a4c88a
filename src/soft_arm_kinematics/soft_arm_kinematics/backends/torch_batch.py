"""`segments.formulas` on torch tensors: batched poses and Jacobians in float64, on any device.

Imported only where a device is given, because torch takes seconds to import and need not be there.
"""

import numpy as np

from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments import formulas
from soft_arm_kinematics.segments.chain import Chain

try:
    import torch
except ImportError as error:
    raise KinematicsError(
        f'a device needs torch ({error}): '
        'install it with `pip install -r requirements/train.in`, or give no device'
    ) from error

_formulas = formulas.derived(torch)


def tensor(values: np.ndarray, device: str) -> torch.Tensor:
    """Return a float64 tensor on a device.

    Raises:
        KinematicsError: If torch does not know the device, cannot use it here, or it has no
            float64.
    """
    try:
        return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.float64, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise KinematicsError(
            f'device {device!r}: torch cannot use it for float64 here ({reason}); '
            'give cpu, cuda or no device'
        ) from error


def fk(chain: Chain, q: torch.Tensor) -> torch.Tensor:
    """Return T_base_tip (m, 4, 4) at q (m, n)."""
    frame = formulas.IDENTITY
    for i in range(chain.kinds.size):
        frame = _formulas.advance(chain, i, q.T, frame)
    poses = torch.zeros(len(q), 4, 4, dtype=q.dtype, device=q.device)
    poses[:, 3, 3] = 1.0
    for k, value in enumerate(frame):
        poses[:, k % 3, k // 3] = value
    return poses


def twist_jacobian(chain: Chain, q: torch.Tensor) -> torch.Tensor:
    """Return the twist of the tip per unit of each coordinate, (m, 6, n), at q (m, n)."""
    m, n = q.shape
    frame = formulas.IDENTITY
    jacobian = torch.zeros(n, 6, m, dtype=q.dtype, device=q.device)
    for i in range(chain.kinds.size):
        frame = _formulas.advance(chain, i, q.T, frame, jacobian)
    _formulas.move_to_tip(jacobian, n, frame)
    return jacobian.permute(2, 1, 0)
