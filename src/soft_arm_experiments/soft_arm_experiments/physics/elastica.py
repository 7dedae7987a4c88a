"""Elastica and beam: what the simulated chain converges to.

The elastica is an inextensible rod of bending stiffness EI that bends in a plane by any angle. With
the angle theta(s) of its tangent from the z axis towards x, the internal force n(s) = F + w (L - s)
of a tip force F and a weight per length w, and the curvature k_0 at rest, its equilibrium is

    EI theta'' = n_z sin(theta) - n_x cos(theta),  theta(0) given,  theta'(L) = k_0.

Source: S. Antman, Nonlinear Problems of Elasticity, 2nd ed., chapter 4 (the rod of Kirchhoff in a
plane).
"""

import math

import numpy as np
from scipy.integrate import solve_bvp

CLAMPED_FREE = 1.875104068711961  # first root of cos(x) cosh(x) = -1
NODES = 101
LOAD_STEPS = 8  # the solution is followed from the rod without load
TOLERANCE = 1e-8


def elastica_points_m(
    length_m: float,
    bending_stiffness_n_m2: float,
    *,
    tip_force_n: tuple[float, float] = (0.0, 0.0),
    weight_n_m: tuple[float, float] = (0.0, 0.0),
    base_angle_rad: float = 0.0,
    rest_curvature_1_m: float = 0.0,
) -> np.ndarray:
    """Return points (x, z) of a clamped rod in equilibrium, base to tip.

    Args:
        length_m: Length [m].
        bending_stiffness_n_m2: EI [N m^2].
        tip_force_n: Force on the tip, along x and z [N].
        weight_n_m: Weight per length, along x and z [N/m].
        base_angle_rad: Angle of the clamped end's tangent from z towards x [rad].
        rest_curvature_1_m: Curvature without load [1/m].

    Returns:
        Positions in the base's place [m], shape (101, 2).

    Raises:
        RuntimeError: If the boundary-value problem has no solution that the solver finds.
    """
    stiffness = bending_stiffness_n_m2 / length_m**2  # in units of the length
    curvature = rest_curvature_1_m * length_m
    s = np.linspace(0.0, 1.0, NODES)
    guess = np.stack([base_angle_rad + curvature * s, np.full(NODES, curvature)])
    for share in np.linspace(0.0, 1.0, LOAD_STEPS + 1)[1:]:
        force = share * np.array(tip_force_n)
        weight = share * np.array(weight_n_m) * length_m

        def slopes(
            at: np.ndarray, y: np.ndarray, force: np.ndarray = force, weight: np.ndarray = weight
        ) -> np.ndarray:
            n_x, n_z = force[:, None] + weight[:, None] * (1.0 - at)
            return np.stack([y[1], (n_z * np.sin(y[0]) - n_x * np.cos(y[0])) / stiffness])

        def ends(base: np.ndarray, tip: np.ndarray) -> np.ndarray:
            return np.array([base[0] - base_angle_rad, tip[1] - curvature])

        solution = solve_bvp(slopes, ends, s, guess, tol=TOLERANCE, max_nodes=20_000)
        if not solution.success:
            raise RuntimeError(f'the elastica was not found: {solution.message}')
        guess = solution.sol(s)
    nodes, weights = np.polynomial.legendre.leggauss(4)
    mid, half = (s[1:] + s[:-1]) / 2, 0.5 / (NODES - 1)
    angles = solution.sol(mid[:, None] + half * nodes)[0]
    steps = half * np.stack([np.sin(angles) @ weights, np.cos(angles) @ weights], axis=1)
    return np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)]) * length_m


def beam_frequency_hz(length_m: float, bending_stiffness_n_m2: float, mass_kg_m: float) -> float:
    """First bending frequency of a clamped beam of mass per length [Hz] (Euler-Bernoulli)."""
    square = math.sqrt(bending_stiffness_n_m2 / (mass_kg_m * length_m**4))
    return CLAMPED_FREE**2 * square / (2.0 * math.pi)
