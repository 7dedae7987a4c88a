"""Approximate direction of the ring's axis when only its centre is known."""

import numpy as np


def expected_axis(centre_m: np.ndarray, T_base_camera: np.ndarray) -> np.ndarray:
    """Return the tangent at the end of the arc that leaves the base along z and ends at the ring.

    The two ends of a ring have the same appearance. The tip of an arm, which is not a single arc,
    stays within 90 deg of this direction up to 120 deg of bend, which is enough to select the end.
    It is the base's z axis for a ring straight below the base.

    Args:
        centre_m: Centre of the ring in the camera's optical frame [m], shape (3,).
        T_base_camera: Pose of the optical frame in the base frame, shape (4, 4).

    Returns:
        Unit vector in the optical frame, shape (3,).
    """
    chord = T_base_camera[:3, :3] @ centre_m + T_base_camera[:3, 3]
    z = np.array([0.0, 0.0, 1.0])
    length = np.linalg.norm(chord)
    tangent = 2 * (chord @ z) / length**2 * chord - z if length > 0 else z
    return T_base_camera[:3, :3].T @ tangent
