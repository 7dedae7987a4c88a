"""Masses of a bellows arm, and how gravity acts on its arcs.

The masses are at the ends of the arm's sections and rotate with them. Rotary inertia: with the
transverse radius of gyration k, the rotational kinetic energy of a body is m k^2 |d(e_z)/dt|^2 / 2,
as of a point mass m at k e_z. Gravity acts along -z of the base's parent frame.
Derivatives by the arcs a = (u_x, u_y, ell) of all segments are finite differences.
"""

import numpy as np

from soft_arm_description.segments import BellowsSegment
from soft_arm_kinematics.arm import BellowsArm

GRAVITY_M_S2 = 9.81
STEP_RAD, STEP_M = 1e-3, 1e-4  # of finite differences


class ArmWeight:
    """Masses of an arm and the potential of gravity, by arcs (..., c).

    Args:
        arm: The arm.
        payload_kg: Mass at the tip, in addition to the masses in the robot file.
        modes: Shape functions (3 n_segments, c): the arcs are modes @ coordinates, and all methods
            take the c coordinates instead of arcs. Columns in threes (u_x, u_y, ell).

    Attributes:
        matrix: B (n, c): lengths [m] of the actuators = B @ arcs.
        masses_kg: At the section poses of the arm and at its tip, and again those that turn with
            them, (2 masses,).
        heavy_kg: The same, without those that only turn, (2 masses,).
        gravity_m_s2: In the base frame, (3,).
    """

    def __init__(self, arm: BellowsArm, payload_kg: float = 0.0, modes: np.ndarray | None = None):
        self._arm = arm
        units = np.eye(3 * arm.n_segments).reshape(-1, arm.n_segments, 3)
        self.matrix = arm.lengths_from_arcs(units).T
        if modes is not None:
            self.matrix = self.matrix @ modes
        masses_kg, moments_kg_m2 = _masses(arm)
        masses_kg[-1] += payload_kg
        self._gyration_m = np.sqrt(moments_kg_m2 / np.maximum(masses_kg, 1e-12))
        self.masses_kg = np.tile(masses_kg, 2)
        self.heavy_kg = np.concatenate([masses_kg, np.zeros_like(masses_kg)])
        self.gravity_m_s2 = arm.base_pose[:3, :3].T @ [0.0, 0.0, -GRAVITY_M_S2]
        self._steps = np.tile([STEP_RAD, STEP_RAD, STEP_M], self.matrix.shape[1] // 3)
        changes = np.diag(self._steps)
        self._pairs = np.tril_indices(len(changes), -1)
        self._changes = np.concatenate(
            [
                np.zeros((1, len(changes))),
                changes,
                -changes,
                changes[self._pairs[0]] + changes[self._pairs[1]],
            ]
        )

    def places(self, arcs: np.ndarray, mixed: bool = True) -> np.ndarray:
        """Return the places of the masses [m], (..., changes, 2 masses, 3), at and about arcs.

        Args:
            arcs: Arcs, (..., c).
            mixed: With changes of two arcs at once, which only the Hessian needs.
        """
        changes = self._changes if mixed else self._changes[: 1 + 2 * len(self._steps)]
        shapes = self._arm.at((arcs[..., None, :] + changes) @ self.matrix.T)
        poses = np.concatenate([shapes.section_poses, shapes.tip_pose[..., None, :, :]], axis=-3)
        turning_m = self._gyration_m[:, None] * poses[..., :3, 2]
        return np.concatenate([poses[..., :3, 3], turning_m], axis=-2)

    @property
    def tip(self) -> int:
        """Index of the tip among the places."""
        return len(self.masses_kg) // 2 - 1

    def gravity(self, places_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient (..., c) and Hessian (..., c, c) of the potential by the arcs."""
        energies_j = -(places_m @ self.gravity_m_s2) @ self.heavy_kg
        n, h, (i, j) = len(self._steps), self._steps, self._pairs
        changes_j = energies_j[..., 1:] - energies_j[..., :1]
        up, down, both = np.split(changes_j, [n, 2 * n], axis=-1)
        hessian = np.zeros((*up.shape, n))
        hessian[..., range(n), range(n)] = (up + down) / h**2
        mixed = (both - up[..., i] - up[..., j]) / (h[i] * h[j])
        hessian[..., i, j] = hessian[..., j, i] = mixed
        return (up - down) / (2.0 * h), hessian

    def jacobians(self, places_m: np.ndarray) -> np.ndarray:
        """Return the derivatives of the places by the arcs, (..., c, 2 masses, 3)."""
        n = len(self._steps)
        moved_m = places_m[..., 1 : n + 1, :, :] - places_m[..., n + 1 : 2 * n + 1, :, :]
        return moved_m / (2.0 * self._steps[:, None, None])

    def mass_matrix(self, jacobians: np.ndarray) -> np.ndarray:
        """Return the mass matrices (..., c, c) of derivatives of the places."""
        weighted = jacobians * np.sqrt(self.masses_kg)[:, None]
        flat = weighted.reshape(*weighted.shape[:-2], -1)
        return flat @ np.swapaxes(flat, -1, -2)


def _masses(arm: BellowsArm) -> tuple[np.ndarray, np.ndarray]:
    """Return masses [kg] and their moments of inertia across z [kg m^2], at the same places.

    The places are the section poses of the arm and its tip. Each body is a solid cylinder; what
    dividing its mass between two places contributes is subtracted.
    """
    found = [np.zeros(2)]
    for segment in arm.robot.segments:
        if not isinstance(segment, BellowsSegment):  # never: the arm has checked it
            continue
        section_m = segment.natural_length_m / segment.sections
        section_kg = segment.mass_kg / segment.sections
        section = _cylinder(section_kg, segment.actuators.centre_radius_m, section_m)
        section[1] -= section_kg * section_m**2 / 4.0
        found[-1] = found[-1] + section / 2.0
        found += [section] * (segment.sections - 1) + [section / 2.0]
        end, disc = len(found) - 1, segment.disc
        if segment.rigid_length_m > 0.0:
            found.append(np.zeros(2))
        # The middle of the disc lies between the last two places of the section.
        back = min(disc.thickness_m / 2.0 / section_m, 1.0)
        whole = _cylinder(disc.mass_kg, disc.radius_m, disc.thickness_m)
        whole[1] -= disc.mass_kg * back * (1.0 - back) * section_m**2
        found[end] = found[end] + (1.0 - back) * whole
        found[end - 1] = found[end - 1] + back * whole
    ring, tip = arm.robot.ring, arm.robot.tip
    at_tip = np.zeros(2)
    if ring is not None:
        at_tip += _cylinder(ring.mass_kg, ring.radius_m, ring.height_m)
    if tip is not None:
        at_tip[0] += tip.mass_kg
    masses_kg, moments_kg_m2 = np.array([*found, at_tip]).T
    return masses_kg, np.maximum(moments_kg_m2, 0.0)


def _cylinder(mass_kg: float, radius_m: float, height_m: float) -> np.ndarray:
    return mass_kg * np.array([1.0, (3.0 * radius_m**2 + height_m**2) / 12.0])
