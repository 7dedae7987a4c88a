r"""Piecewise constant curvature: bellows lengths, arcs and poses of one segment, and their derivatives.

An arc is the array (u_x, u_y, ell): the bending vector u = theta (cos phi, sin phi) [rad] and the
centre-line length ell [m]. In these coordinates everything is smooth through theta = 0. With A =
sin(theta) / theta and B = (1 - cos(theta)) / theta^2,

    R = I + A [w] + B [w]^2,   w = (-u_y, u_x, 0),      p = ell (B u_x, B u_y, A),

which is the arm paper's Rz(phi) Ry(theta/2) Tz(2 ell/theta sin(theta/2)) Ry(theta/2) Rz(-phi).
Without the closing twist (the gripper paper's convention) R is followed by Rz(phi): its direction
about z is then undefined at theta = 0, where phi = 0 is taken.

All functions broadcast over leading shapes and raise KinematicsError where the last axis is wrong.
NaN is not looked for, it gives NaN: `Arm` looks.

Sources: soft arm with 3-D vision, section 2 (lengths to arc, module transform); gripper digital
twin, equations (4)-(8) (no closing twist); the derivatives are ours, from the exponential of the
rotation group.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_kinematics.errors import KinematicsError

SERIES_BELOW = 1.0  # theta^2 [rad^2] below which the functions of theta are summed as series; both forms are exact to a few ulp there
STRAIGHT_RAD = (
    1e-12  # bend below which the direction of bending is rounding noise and phi = 0 is taken
)


def _series(x, first: int):
    """Sum of (-x)^k / (2k + first)! for k = 0..11; exact to an ulp for x <= SERIES_BELOW."""
    term = 1.0 / np.prod(np.arange(1.0, first + 1.0))
    total = np.full_like(x, term)
    for k in range(1, 12):
        term = term * -x / ((2 * k + first) * (2 * k + first - 1))
        total = total + term
    return total


def bend_functions(theta2: np.ndarray) -> tuple[np.ndarray, ...]:
    """Functions of the bend angle that poses and Jacobians are made of.

    Args:
        theta2: theta^2 [rad^2], any shape.

    Returns:
        A = sin t / t, B = (1 - cos t) / t^2, C = (t - sin t) / t^3, dA = (dA/dt) / t, dB = (dB/dt)
        / t.
    """
    theta2 = np.asarray(theta2, dtype=float)
    near = theta2 < SERIES_BELOW
    x = np.where(near, theta2, 0.0)
    a0, b0, c0, d0 = _series(x, 1), _series(x, 2), _series(x, 3), _series(x, 4)
    y = np.where(near, 1.0, theta2)
    theta = np.sqrt(y)
    a = np.where(near, a0, np.sin(theta) / theta)
    b = np.where(near, b0, (1.0 - np.cos(theta)) / y)
    c = np.where(near, c0, (1.0 - a) / y)
    # dA = (cos t - A) / t^2 and dB = (A - 2 B) / t^2, written with C and D = (1/2 - B) / t^2 so
    # that nothing cancels
    d = np.where(near, d0, (0.5 - b) / y)
    return a, b, c, c - b, 2.0 * d - c


def polar_from_arcs(arcs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bend theta [rad] >= 0, direction phi [rad] in (-pi, pi] (0 below STRAIGHT_RAD) and ell [m] of arcs (..., 3)."""
    arcs = _checked(arcs)
    theta = np.hypot(arcs[..., 0], arcs[..., 1])
    return (
        theta,
        np.where(theta < STRAIGHT_RAD, 0.0, np.arctan2(arcs[..., 1], arcs[..., 0])),
        arcs[..., 2],
    )


def arcs_from_polar(theta_rad, phi_rad, ell_m) -> np.ndarray:
    """Arcs (..., 3) from bend angle [rad], direction of the bending plane [rad] and arc length [m], broadcast together."""
    theta, phi, ell = np.broadcast_arrays(np.asarray(theta_rad, dtype=float), phi_rad, ell_m)
    return np.stack([theta * np.cos(phi), theta * np.sin(phi), ell], axis=-1)


def _checked(arcs):
    arcs = np.asarray(arcs, dtype=float)
    if arcs.shape[-1:] != (3,):
        raise KinematicsError(
            f'arcs of shape {arcs.shape}: give u_x [rad], u_y [rad] and ell [m] along the last axis'
        )
    return arcs


def lengths_matrix(angles_rad: np.ndarray, centre_radius_m: float) -> np.ndarray:
    """Matrix M (n, 3) with lengths = M @ arc: L_j = ell - theta h cos(phi - beta_j), bellows j at angle beta_j and radius h [m]."""
    beta = np.asarray(angles_rad, dtype=float)
    return np.stack(
        [-centre_radius_m * np.cos(beta), -centre_radius_m * np.sin(beta), np.ones_like(beta)],
        axis=-1,
    )


def arcs_matrix(angles_rad: np.ndarray, centre_radius_m: float) -> np.ndarray:
    """Matrix P (3, n) with arc = P @ lengths, least squares where there are more bellows than three.

    For bellows at 90, 210, 330 deg this is the paper's ell = mean(L), theta = 2 S / (3 h), phi =
    atan2(L2 + L3 - 2 L1, sqrt(3) (L2 - L3)).
    """
    return np.linalg.pinv(lengths_matrix(angles_rad, centre_radius_m))


def arc_transforms(arcs: np.ndarray, closing_twist: bool = True) -> np.ndarray:
    """Pose of the arc's end in its start frame.

    Args:
        arcs: (..., 3) as described above [rad, rad, m].
        closing_twist: True: the bend adds no rotation about z (arm paper). False: Rz(phi) follows (gripper paper).

    Returns:
        T_start_end, shape (..., 4, 4).
    """
    arcs = _checked(arcs)
    ux, uy, ell = arcs[..., 0], arcs[..., 1], arcs[..., 2]
    theta2 = ux * ux + uy * uy
    a, b, *_ = bend_functions(theta2)
    transforms = np.zeros(arcs.shape[:-1] + (4, 4))
    transforms[..., 0, 0] = 1.0 - b * ux * ux
    transforms[..., 1, 1] = 1.0 - b * uy * uy
    transforms[..., 0, 1] = transforms[..., 1, 0] = -b * ux * uy
    transforms[..., 0, 2], transforms[..., 1, 2] = a * ux, a * uy
    transforms[..., 2, 0], transforms[..., 2, 1] = -a * ux, -a * uy
    transforms[..., 2, 2] = 1.0 - b * theta2
    transforms[..., 0, 3], transforms[..., 1, 3], transforms[..., 2, 3] = (
        ell * b * ux,
        ell * b * uy,
        ell * a,
    )
    transforms[..., 3, 3] = 1.0
    if not closing_twist:
        _, phi, _ = polar_from_arcs(arcs)
        cos, sin = np.cos(phi)[..., None], np.sin(phi)[..., None]
        x, y = transforms[..., :3, 0].copy(), transforms[..., :3, 1].copy()
        transforms[..., :3, 0], transforms[..., :3, 1] = cos * x + sin * y, cos * y - sin * x
    return transforms


def arc_jacobians(arcs: np.ndarray, closing_twist: bool = True) -> np.ndarray:
    """Twist of the arc's end, in the start frame, per unit rate of the arc's coordinates.

    Args:
        arcs: (..., 3).
        closing_twist: As in `arc_transforms`. Without it the rotation about z has no derivative at theta = 0; 0 is returned there.

    Returns:
        (..., 6, 3): rows 0..2 velocity of the end point, rows 3..5 angular velocity; columns u_x,
        u_y, ell.
    """
    arcs = _checked(arcs)
    ux, uy, ell = arcs[..., 0], arcs[..., 1], arcs[..., 2]
    theta2 = ux * ux + uy * uy
    a, b, c, da, db = bend_functions(theta2)
    jacobians = np.zeros(arcs.shape[:-1] + (6, 3))
    jacobians[..., 0, 0] = ell * (b + db * ux * ux)
    jacobians[..., 1, 1] = ell * (b + db * uy * uy)
    jacobians[..., 0, 1] = jacobians[..., 1, 0] = ell * db * ux * uy
    jacobians[..., 2, 0], jacobians[..., 2, 1] = ell * da * ux, ell * da * uy
    jacobians[..., 0, 2], jacobians[..., 1, 2], jacobians[..., 2, 2] = b * ux, b * uy, a
    # omega = (I + B [w] + C [w]^2) dw/dt: the left Jacobian of the rotation group
    jacobians[..., 3, 0], jacobians[..., 3, 1] = -c * ux * uy, -1.0 + c * ux * ux
    jacobians[..., 4, 0], jacobians[..., 4, 1] = 1.0 - c * uy * uy, c * ux * uy
    jacobians[..., 5, 0], jacobians[..., 5, 1] = -b * uy, b * ux
    if not closing_twist:
        axis = np.stack([a * ux, a * uy, 1.0 - b * theta2], axis=-1)
        safe = np.where(theta2 < STRAIGHT_RAD**2, np.inf, theta2)
        jacobians[..., 3:, 0] += axis * (-uy / safe)[..., None]
        jacobians[..., 3:, 1] += axis * (ux / safe)[..., None]
    return jacobians


def wrap(angle_rad):
    """The same angle in [-pi, pi) [rad]."""
    return (np.asarray(angle_rad) + np.pi) % (2.0 * np.pi) - np.pi


def q_xyzw(transforms: np.ndarray) -> np.ndarray:
    """Unit quaternions (..., 4), order x y z w, w >= 0, of transforms or rotations (..., 3+, 3+)."""
    transforms = np.asarray(transforms, dtype=float)
    rotations = transforms[..., :3, :3].reshape(-1, 3, 3)
    return (
        Rotation.from_matrix(rotations)
        .as_quat(canonical=True)
        .reshape(transforms.shape[:-2] + (4,))
    )
