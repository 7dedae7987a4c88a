"""Quasi-static shape and slow modes of a bellows arm under gravity, from its robot file.

The arm is reduced to one arc for each segment, a = (u_x, u_y, ell), with point masses at the ends
of its sections. Pressures are given by the actuator lengths L that they set without a load. With
the matrix B from arcs to lengths of the bellows, their effective areas A, the inverse p of their
curves and the potential V of gravity, the arm rests where

    B^T A (p(B a) - p(L)) + dV/da = 0

and moves about this shape, by b = a - a(L), as

    M b'' + damping_time K b' + (K + d2V/da2) b = 0,      K = B^T A p' B,

with the mass matrix M of the point masses. Gravity acts along -z of the base's parent frame. The
simulator uses the same force law (`soft_arm_physics.actuation.bellows`).

Shape and modes are computed at postures, the latest of which are kept. Near a posture a is
linear in L.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from soft_arm_control.tip.arm_weight import ArmWeight
from soft_arm_control.tip.swing_modes import SwingModes, modes_of
from soft_arm_description.segments import BellowsSegment
from soft_arm_kinematics.arm import BellowsArm

# Newton's method: steps, largest change [rad, m], and change at which it ends [rad, m].
MAX_STEPS, MAX_CHANGE, TOLERANCE = 20, 0.3, 1e-5
POSTURE_SHARE = 0.02  # of the range of the lengths about a posture in which it is used
MAX_POSTURES = 32  # size of the cache


@dataclass(frozen=True)
class LoadedTip:
    """Tip in the base frame [m], (3,), and its derivative by the actuator lengths, (3, n)."""

    tip_m: np.ndarray
    tip_jacobian: np.ndarray


@dataclass(frozen=True)
class _Posture:
    lengths_m: np.ndarray  # L (n,)
    arcs: np.ndarray  # a (3 s,)
    slope: np.ndarray  # da/dL (3 s, n)
    tip_per_payload: np.ndarray  # displacement of the tip per mass at the tip [m/kg], (3,)
    modes: SwingModes


class LoadedArm:
    """Model of the tip of an arm under gravity, as a function of the actuator lengths L [m].

    Args:
        arm: The arm without load.
        payload_kg: Mass at the tip, in addition to the masses in the robot file.
        mode_scales: Measured over modelled frequency and damping ratio of the slow modes.
    """

    def __init__(
        self,
        arm: BellowsArm,
        payload_kg: float = 0.0,
        mode_scales: tuple[float, float] = (1.0, 1.0),
    ):
        segments = [s for s in arm.robot.segments if isinstance(s, BellowsSegment)]
        self._arm, self.payload_kg, self._mode_scales = arm, payload_kg, mode_scales
        self._weight = ArmWeight(arm, payload_kg)
        self._areas_m2 = np.repeat(
            [s.actuators.effective_area_m2 for s in segments], [len(s.chambers) for s in segments]
        )
        times_s = np.repeat([s.damping_time_s for s in segments], 3)
        self._damping_s = np.sqrt(np.outer(times_s, times_s))
        self._near_m = POSTURE_SHARE * np.ptp(arm.length_limits_m, axis=0)
        self._postures: deque[_Posture] = deque(maxlen=MAX_POSTURES)

    def at(self, lengths_m: np.ndarray) -> LoadedTip:
        """Return the tip at actuator lengths [m], (n,)."""
        posture = self._posture(lengths_m)
        arcs = posture.arcs + posture.slope @ (lengths_m - posture.lengths_m)
        shape = self._arm.at(self._weight.matrix @ arcs)
        return LoadedTip(shape.tip_m, shape.tip_jacobian @ self._weight.matrix @ posture.slope)

    def modes(self, lengths_m: np.ndarray) -> SwingModes:
        """Return the slow modes at actuator lengths [m], (n,)."""
        return self._posture(lengths_m).modes

    def tip_per_payload(self, lengths_m: np.ndarray) -> np.ndarray:
        """Return the displacement of the tip per mass at the tip [m/kg], (3,)."""
        return self._posture(lengths_m).tip_per_payload

    def _posture(self, lengths_m: np.ndarray) -> _Posture:
        """Return the nearest posture, a new one if it is not near."""
        if not self._postures:
            start = self._arm.at(lengths_m).arcs.ravel()
        else:
            away_m = np.abs(np.array([p.lengths_m for p in self._postures]) - lengths_m)
            distances = (away_m / self._near_m).max(axis=1)
            nearest = self._postures[int(np.argmin(distances))]
            if distances.min() < 1.0:
                return nearest
            start = nearest.arcs + nearest.slope @ (lengths_m - nearest.lengths_m)
        self._postures.append(self._solve(lengths_m, start))
        return self._postures[-1]

    def _solve(self, lengths_m: np.ndarray, arcs: np.ndarray) -> _Posture:
        """Return the posture at actuator lengths, by Newton's method from arcs (3 s,)."""
        set_pa, set_slopes = self._pressures(lengths_m)
        weight, areas_m2 = self._weight, self._areas_m2
        b = weight.matrix
        for _ in range(MAX_STEPS):
            places_m = weight.places(arcs)
            gradient, hessian = weight.gravity(places_m)
            pressures_pa, slopes = self._pressures(b @ arcs)
            springs = (b.T * (areas_m2 * slopes)) @ b
            force = b.T @ (areas_m2 * (set_pa - pressures_pa)) - gradient
            change = np.linalg.solve(springs + hessian, force)
            largest = float(np.abs(change).max())
            arcs = arcs + change * min(1.0, MAX_CHANGE / max(largest, TOLERANCE))
            if largest < TOLERANCE:
                break
        stiffness = springs + hessian
        slope = np.linalg.solve(stiffness, b.T * (areas_m2 * set_slopes))
        jacobians = weight.jacobians(places_m)  # (3 s, 2 masses, 3)
        mass = weight.mass_matrix(jacobians)
        tip = jacobians[:, weight.tip]
        modes = modes_of(stiffness, self._damping_s * springs, mass, tip.T, slope)
        modes = modes.scaled(*self._mode_scales)
        per_payload = tip.T @ np.linalg.solve(stiffness, tip @ weight.gravity_m_s2)
        return _Posture(lengths_m, arcs, slope, per_payload, modes)

    def _pressures(self, lengths_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p [Pa] and its slope [Pa/m]; the tangent beyond the calibrated range."""
        curve = self._arm.curve
        inside_m = np.clip(lengths_m, *curve.length_range_m)
        pressures_pa = curve.pressures(inside_m)
        slopes = 1.0 / curve.slopes(pressures_pa)
        return pressures_pa + slopes * (lengths_m - inside_m), slopes
