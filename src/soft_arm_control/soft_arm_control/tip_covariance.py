"""Covariance of a measured tip position, as estimates of the tip use it."""

import numpy as np

from soft_arm_control.errors import MessageError

MIN_VARIANCE_M2 = (1.0e-4) ** 2  # 0.1 mm: no depth camera measures better


def position_covariance(covariance: np.ndarray) -> np.ndarray:
    """Return the covariance of the position [m^2], (3, 3), with a floor, from a pose's (6, 6).

    Raises:
        MessageError: If it is not finite, or not positive semidefinite.
    """
    if not np.isfinite(covariance).all():
        raise MessageError('its covariance is not finite')
    covariance_m2 = 0.5 * (covariance[:3, :3] + covariance[:3, :3].T)
    if np.linalg.eigvalsh(covariance_m2)[0] < -MIN_VARIANCE_M2:
        raise MessageError('its covariance of the position is not positive semidefinite')
    return covariance_m2 + MIN_VARIANCE_M2 * np.eye(3)
