r"""Piecewise constant curvature: bellows lengths, arcs and poses of one segment.

An arc is the array (u_x, u_y, ell): the bending vector u = theta (cos phi, sin phi) [rad] and the
centre-line length ell [m]. Its pose, defined in `formulas`, is the arm paper's
Rz(phi) Ry(theta/2) Tz(2 ell/theta sin(theta/2)) Ry(theta/2) Rz(-phi), smooth through theta = 0.

All functions broadcast over leading shapes and raise KinematicsError where the last axis is wrong.
NaN gives NaN; `Arm` refuses it.

Sources: soft arm with 3-D vision, section 2 (lengths to arc, module transform); gripper digital
twin, equations (4)-(8) (no closing twist).
"""

from types import SimpleNamespace

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments import formulas
from soft_arm_kinematics.segments.formulas import STRAIGHT_RAD

_ARCS = {  # one segment of `formulas` whose coordinates are the arc itself
    closing_twist: SimpleNamespace(
        kinds=(formulas.BELLOWS,),
        firsts=(0,),
        counts=(3,),
        twists=(closing_twist,),
        rigid_m=(0.0,),
        arc_matrices=(np.eye(3),),
    )
    for closing_twist in (True, False)
}


def polar_from_arcs(arcs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return theta >= 0, phi in (-pi, pi] (0 where straight) [rad] and ell [m] of arcs (..., 3)."""
    arcs = _checked(arcs)
    theta = np.hypot(arcs[..., 0], arcs[..., 1])
    return (
        theta,
        np.where(theta < STRAIGHT_RAD, 0.0, np.arctan2(arcs[..., 1], arcs[..., 0])),
        arcs[..., 2],
    )


def arcs_from_polar(theta_rad: ArrayLike, phi_rad: ArrayLike, ell_m: ArrayLike) -> np.ndarray:
    """Return arcs (..., 3) of bend theta, direction phi [rad] and length ell [m], broadcast."""
    theta, phi, ell = np.broadcast_arrays(np.asarray(theta_rad, dtype=float), phi_rad, ell_m)
    return np.stack([theta * np.cos(phi), theta * np.sin(phi), ell], axis=-1)


def _checked(arcs: ArrayLike) -> np.ndarray:
    arcs = np.asarray(arcs, dtype=float)
    if arcs.shape[-1:] != (3,):
        raise KinematicsError(
            f'arcs of shape {arcs.shape}: give u_x [rad], u_y [rad] and ell [m] along the last axis'
        )
    return arcs


def lengths_matrix(angles_rad: np.ndarray, centre_radius_m: float) -> np.ndarray:
    """Return M (n, 3) with lengths = M @ arc: L_j = ell - theta h cos(phi - beta_j).

    Bellows j stands at angle beta_j [rad] and radius h [m].
    """
    beta = np.asarray(angles_rad, dtype=float)
    return np.stack(
        [-centre_radius_m * np.cos(beta), -centre_radius_m * np.sin(beta), np.ones_like(beta)],
        axis=-1,
    )


def arcs_matrix(angles_rad: np.ndarray, centre_radius_m: float) -> np.ndarray:
    """Return P (3, n) with arc = P @ lengths, least squares for more bellows than three.

    For bellows at 90, 210, 330 deg this is the paper's ell = mean(L), theta = 2 S / (3 h), phi =
    atan2(L2 + L3 - 2 L1, sqrt(3) (L2 - L3)).
    """
    return np.linalg.pinv(lengths_matrix(angles_rad, centre_radius_m))


def arc_transforms(arcs: np.ndarray, closing_twist: bool = True) -> np.ndarray:
    """Pose of the arc's end in its start frame.

    Args:
        arcs: (..., 3) as described above [rad, rad, m].
        closing_twist: True: the bend adds no rotation about z (arm paper). False: Rz(phi) follows
            (gripper paper).

    Returns:
        T_start_end, shape (..., 4, 4).
    """
    x = np.moveaxis(_checked(arcs), -1, 0)
    return transforms(formulas.advance(_ARCS[closing_twist], 0, x, formulas.IDENTITY), x.shape[1:])


def transforms(frame: tuple, shape: tuple[int, ...]) -> np.ndarray:
    """Transforms (*shape, 4, 4) of the 12 numbers of a frame of `formulas`."""
    found = np.zeros((*shape, 4, 4))
    found[..., 3, 3] = 1.0
    for k, value in enumerate(frame):
        found[..., k % 3, k // 3] = value
    return found


def wrap(angle_rad: ArrayLike) -> np.ndarray:
    """The same angle in [-pi, pi) [rad]."""
    return (np.asarray(angle_rad) + np.pi) % (2.0 * np.pi) - np.pi


def q_xyzw(transforms: np.ndarray) -> np.ndarray:
    """Return quaternions (..., 4) x y z w, w >= 0, of transforms or rotations (..., 3+, 3+)."""
    transforms = np.asarray(transforms, dtype=float)
    rotations = transforms[..., :3, :3].reshape(-1, 3, 3)
    return (
        Rotation.from_matrix(rotations)
        .as_quat(canonical=True)
        .reshape(transforms.shape[:-2] + (4,))
    )
