"""The slowest modes in which an arm swings about its quasi-static shape."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import eigh

N_MODES = 2  # the tip swings in the two directions across the arm
MIN_FREQUENCY_HZ = 0.2  # also where gravity exceeds the stiffness
MAX_DAMPING_RATIO = 0.95


@dataclass(frozen=True)
class SwingModes:
    """Modes of damped oscillation, k of them, slowest first.

    A modal coordinate is the distance [m] of the tip from its quasi-static position along `tip`.
    The state of all modes is (2k,): displacements [m], then velocities of the arm [m/s]. A motion
    of the quasi-static position changes the displacements, not the velocities.

    Attributes:
        omega_rad_s: Angular frequencies without damping [rad/s], (k,).
        damping_ratio: Damping ratios, (k,).
        tip: Unit vectors of the tip's motion in the base frame, (3, k).
        lengths: Change of the actuator lengths per quasi-static modal coordinate [m/m], (n, k).
        from_lengths: The inverse: quasi-static modal coordinates per change of the actuator
            lengths [m/m], (k, n).
    """

    omega_rad_s: np.ndarray
    damping_ratio: np.ndarray
    tip: np.ndarray
    lengths: np.ndarray
    from_lengths: np.ndarray

    def moved(self, state: np.ndarray, dt_s: float) -> np.ndarray:
        """Return the state (..., 2k) after free motion over `dt_s`."""
        y, v = np.split(state, 2, axis=-1)
        w, rate = self.omega_rad_s, self.damping_ratio * self.omega_rad_s
        damped = np.sqrt(w**2 - rate**2)
        decay = np.exp(-rate * dt_s)
        cosine, sine = decay * np.cos(damped * dt_s), decay * np.sin(damped * dt_s) / damped
        return np.concatenate(
            [(cosine + rate * sine) * y + sine * v, (cosine - rate * sine) * v - w**2 * sine * y],
            axis=-1,
        )

    def transition(self, dt_s: float) -> np.ndarray:
        """Return the matrix (2k, 2k) of free motion over `dt_s`."""
        return self.moved(np.eye(2 * len(self.omega_rad_s)), dt_s).T

    def scaled(self, frequency: float, damping: float) -> Self:
        """Return the modes with frequencies and damping ratios multiplied by factors."""
        return replace(
            self,
            omega_rad_s=frequency * self.omega_rad_s,
            damping_ratio=np.minimum(damping * self.damping_ratio, MAX_DAMPING_RATIO),
        )

    def amplitude_m(self, state: np.ndarray) -> float:
        """Return the amplitude [m] of the free oscillation from a state (2k,)."""
        displacements_m, velocities_m_s = np.split(state, 2)
        return float(np.linalg.norm([displacements_m, velocities_m_s / self.omega_rad_s]))


def modes_of(
    stiffness: np.ndarray,
    damping: np.ndarray,
    mass: np.ndarray,
    tip_jacobian: np.ndarray,
    slope: np.ndarray,
) -> SwingModes:
    """Return the slow modes of mass x'' + damping x' + stiffness x = 0.

    Source: L. Meirovitch, Fundamentals of Vibrations, 2001, chapter 7.

    Args:
        stiffness, damping, mass: Symmetric matrices (c, c); mass is positive definite.
        tip_jacobian: Derivative of the tip by x, (3, c).
        slope: Derivative of the quasi-static x by the actuator lengths, (c, n).
    """
    squares, vectors = eigh(stiffness, mass, subset_by_index=(0, N_MODES - 1))
    omega_rad_s = np.sqrt(np.maximum(squares, (2.0 * np.pi * MIN_FREQUENCY_HZ) ** 2))
    ratio = np.einsum('ik,ij,jk->k', vectors, damping, vectors) / (2.0 * omega_rad_s)
    tip = tip_jacobian @ vectors
    scale_m = np.linalg.norm(tip, axis=0)
    return SwingModes(
        omega_rad_s,
        np.minimum(ratio, MAX_DAMPING_RATIO),
        tip / scale_m,
        np.linalg.pinv(slope) @ vectors / scale_m,
        scale_m[:, None] * (vectors.T @ mass @ slope),
    )
