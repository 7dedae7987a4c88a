"""Kirchhoff rod in three dimensions, the limit of the simulated chain with many sections.

An inextensible rod has bending stiffnesses EI_x, EI_y and torsional stiffness GJ, and may be curved
without load. With rotation R(s) of its sections, tangent t = R e_z, the internal
force n(s) = F + w (L - s) of a tip force F and a weight per length w, and the moment m(s),

    p' = t,  m' = n x t,  R' = R [u],  u = u_0 + diag(1/EI_x, 1/EI_y, 1/GJ) R^T m,

with R(0) = 1 and m(L) = 0. R is a quaternion. Source: S. Antman, Nonlinear Problems of Elasticity,
2nd ed., chapter 8.
"""

import numpy as np
from scipy.integrate import solve_bvp
from scipy.spatial.transform import Rotation

NODES = 101
LOAD_STEPS = 8  # of the continuation from the rod without load
TOLERANCE = 1e-8


def kirchhoff_tip_m(
    length_m: float,
    stiffness_n_m2: tuple[float, float, float],
    *,
    rest_curvature_1_m: tuple[float, float, float] = (0.0, 0.0, 0.0),
    tip_force_n: tuple[float, float, float] = (0.0, 0.0, 0.0),
    weight_n_m: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> np.ndarray:
    """Return the tip [m], (3,), of a rod in equilibrium that is clamped along z.

    Args:
        length_m: Length [m].
        stiffness_n_m2: EI of bends about the section's x axis and about its y axis, and GJ [N m^2].
        rest_curvature_1_m: Bends about these axes, and twist, per length without load [1/m].
        tip_force_n: Force on the tip in the base's frame [N].
        weight_n_m: Weight per length in the base's frame [N/m].

    Raises:
        RuntimeError: If the boundary-value solver does not converge.
    """
    s = np.linspace(0.0, length_m, NODES)
    stiffness, rest = np.array(stiffness_n_m2), np.array(rest_curvature_1_m)
    force, weight = np.array(tip_force_n), np.array(weight_n_m)
    guess = np.zeros((10, NODES))  # position, quaternion x, y, z, w, moment
    guess[3:7] = Rotation.from_rotvec(s[:, None] * rest).as_quat().T
    guess[:3] = np.cumsum(_turned(guess[3:7], np.array([0.0, 0.0, 1.0])), axis=1) * length_m / NODES
    for share in np.linspace(0.0, 1.0, LOAD_STEPS + 1)[1:]:

        def slopes(at: np.ndarray, y: np.ndarray, share: float = share) -> np.ndarray:
            q, moment = y[3:7], y[7:]
            tangent = _turned(q, np.array([0.0, 0.0, 1.0]))
            n = share * (force[:, None] + weight[:, None] * (length_m - at))
            inverse = np.concatenate([-q[:3], q[3:]])
            u = rest[:, None] + _turned(inverse, moment) / stiffness[:, None]
            xyz = q[3] * u + np.cross(q[:3], u, axis=0)
            turn = 0.5 * np.concatenate([xyz, -(q[:3] * u).sum(axis=0, keepdims=True)])
            return np.concatenate([tangent, turn, np.cross(n, tangent, axis=0)])

        def ends(base: np.ndarray, tip: np.ndarray) -> np.ndarray:
            return np.concatenate([base[:7] - [0, 0, 0, 0, 0, 0, 1], tip[7:]])

        solution = solve_bvp(slopes, ends, s, guess, tol=TOLERANCE, max_nodes=20_000)
        if not solution.success:
            raise RuntimeError(f'the equilibrium was not found: {solution.message}')
        guess = solution.sol(s)
    return guess[:3, -1].copy()


def _turned(q: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return vectors (3,) or (3, n) turned by quaternions x, y, z, w (4, n), (3, n)."""
    v = np.broadcast_to(vectors if vectors.ndim == 2 else vectors[:, None], (3, q.shape[1]))
    across = 2.0 * np.cross(q[:3], v, axis=0)
    return v + q[3] * across + np.cross(q[:3], across, axis=0)
