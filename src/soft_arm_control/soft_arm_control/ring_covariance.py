"""Covariance of the measured ring that estimates of the tip use."""

import numpy as np

from soft_arm_control.errors import MessageError

LEAST_COVARIANCE_M2 = (1.0e-4) ** 2  # added on each axis: no depth camera is better than 0.1 mm


def position_covariance(covariance: np.ndarray) -> np.ndarray:
    """Return the covariance of a ring's position [m^2], (3, 3), from that of its pose, (6, 6).

    Raises:
        MessageError: If it is not positive semidefinite.
    """
    covariance_m2 = 0.5 * (covariance[:3, :3] + covariance[:3, :3].T)
    if np.linalg.eigvalsh(covariance_m2)[0] < -LEAST_COVARIANCE_M2:
        raise MessageError('its covariance of the position is not positive semidefinite')
    return covariance_m2 + LEAST_COVARIANCE_M2 * np.eye(3)
