r"""Modal kinematics of a planar bending bellows: one pressure in, a curve out (modal paper, 8-29).

    theta(s, p) = psi(s)^T A eta(p),
    psi = [1, s/l, .., (s/l)^(v-1)],   eta = [1, p/u, .., (p/u)^(w-1)],
    dP/ds = (sin theta, 0, cos theta).

theta is the tangent's angle from the base's z axis towards x, so that R = Ry(theta) and this model
agrees with `pcc` where the curve is an arc with phi = 0. The paper draws the straight bellows along
its x axis: its x is our z and its z our x, and its monomials of pixels and psi are ours with l = 1
px, u = 1 psi. Arc length s and pressure p are scaled by the bellows' own l and u because monomials
of metres and pascals have a design matrix with a condition number of 1e20.

Integrals over s are Gauss-Legendre sums of `NODES` nodes, exact to rounding for bends of up to two
turns.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.polynomial import polyder
from numpy.typing import ArrayLike

from soft_arm_description.segments import ModalSegment
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments import formulas

NODES = 32
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(NODES)
UNIT_NODES, UNIT_WEIGHTS = 0.5 + 0.5 * _NODES, 0.5 * _WEIGHTS  # on 0..1
RELATIVE_TOLERANCE = 1e-6  # of the pressure range: round-off at a limit is not extrapolation


def node_coefficients(
    coefficients_rad: np.ndarray, sites: np.ndarray, pressure_unit_pa: float
) -> np.ndarray:
    """Return the angle's polynomial in the pressure (..., w) [rad/Pa^j] at sites (...) = s / l."""
    v, w = coefficients_rad.shape
    return sites[..., None] ** np.arange(v) @ coefficients_rad / pressure_unit_pa ** np.arange(w)


@dataclass(frozen=True, eq=False)
class ModalModel:
    """A bellows whose tangent angle is a polynomial of arc length and pressure; methods broadcast.

    Attributes:
        coefficients_rad: A, (v, w): row i multiplies (s / length_unit_m)^i, column j multiplies
            (p / pressure_unit_pa)^j.
        length_m: Length of the backbone [m]; it does not stretch.
        length_unit_m, pressure_unit_pa: Scales l [m] and u [Pa] of the bases.
        pressure_limits_pa: Lowest and highest gauge pressure [Pa] that the model holds for.
    """

    coefficients_rad: np.ndarray
    length_m: float
    length_unit_m: float
    pressure_unit_pa: float
    pressure_limits_pa: tuple[float, float]

    @classmethod
    def of_segment(cls, segment: ModalSegment) -> 'ModalModel':
        """Return the model of a robot file's segment; its bending plane is left to the caller."""
        return cls(
            np.array(segment.coefficients_rad),
            segment.length_m,
            segment.length_unit_m,
            segment.pressure_unit_pa,
            segment.pressure_limits_pa,
        )

    def angles(self, arc_lengths_m: ArrayLike, pressures_pa: ArrayLike) -> np.ndarray:
        """Return the tangent angle [rad] at arc lengths [m] and pressures [Pa], broadcast (8)."""
        return self._tangent(self.coefficients_rad, arc_lengths_m, pressures_pa)[0]

    def angle_slopes(self, arc_lengths_m: ArrayLike, pressures_pa: ArrayLike) -> np.ndarray:
        """Derivative of `angles` by the pressure [rad/Pa]; arguments as in `angles`."""
        return self._tangent(self.coefficients_rad, arc_lengths_m, pressures_pa)[1]

    def curvatures(self, arc_lengths_m: ArrayLike, pressures_pa: ArrayLike) -> np.ndarray:
        """Derivative of `angles` by the arc length [rad/m]; arguments as in `angles`."""
        by_site = polyder(self.coefficients_rad, axis=0)
        return self._tangent(by_site, arc_lengths_m, pressures_pa)[0] / self.length_unit_m

    def shape(
        self, pressures_pa: ArrayLike, arc_lengths_m: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Points of the backbone and tangent angles there.

        Args:
            pressures_pa: Gauge pressures [Pa], any shape (...).
            arc_lengths_m: Arc lengths from the base [m], (m,), inside 0..length_m.

        Returns:
            Positions (..., m, 2) = (x, z) in the base [m], and angles (..., m) [rad].

        Raises:
            KinematicsError: If a pressure or an arc length is not finite or outside its limits.
        """
        p, s = self.checked_pressures(pressures_pa), self._checked_sites(arc_lengths_m)
        sideways, along, _, _ = self._ends(s, p[..., None])
        positions = np.stack([sideways, along], axis=-1)
        return positions, self.angles(s, p[..., None])

    def tip(self, pressures_pa: ArrayLike) -> np.ndarray:
        """Return the tip's planar pose (..., 3) = x, z [m], theta [rad]. Raises as `shape`."""
        positions, angles = self.shape(pressures_pa, np.array([self.length_m]))
        return np.concatenate([positions[..., 0, :], angles], axis=-1)

    def fk_pressures(self, pressures_pa: ArrayLike) -> np.ndarray:
        """T_base_tip (..., 4, 4) at pressures (...) [Pa]. Raises as `shape`."""
        return transforms(self.tip(pressures_pa))

    def tip_slopes(self, pressures_pa: ArrayLike) -> np.ndarray:
        """Return the derivative of `tip` by the pressure, (..., 3) [m/Pa, m/Pa, rad/Pa] (27-29)."""
        p = self.checked_pressures(pressures_pa)
        _, _, sideways, along = self._ends(np.array(self.length_m), p)
        return np.stack([sideways, along, self.angle_slopes(self.length_m, p)], axis=-1)

    def _ends(self, sites_m: np.ndarray, pressures_pa: np.ndarray) -> tuple[np.ndarray, ...]:
        sites = np.multiply.outer(UNIT_NODES, sites_m / self.length_unit_m)
        of_nodes = node_coefficients(self.coefficients_rad, sites, self.pressure_unit_pa)
        weights_m = np.multiply.outer(UNIT_WEIGHTS, sites_m)
        return formulas.modal_end(np.moveaxis(of_nodes, -1, 1), weights_m, pressures_pa)

    def twist_jacobian_pressures(self, pressures_pa: ArrayLike) -> np.ndarray:
        """Return the tip's twist per pressure (..., 6): velocity [m/Pa], rotation [rad/Pa] (26)."""
        slopes = self.tip_slopes(pressures_pa)
        jacobian = np.zeros(slopes.shape[:-1] + (6,))
        jacobian[..., 0] = slopes[..., 0]
        jacobian[..., 2] = slopes[..., 1]
        jacobian[..., 4] = slopes[..., 2]
        return jacobian

    def checked_pressures(self, pressures_pa: ArrayLike) -> np.ndarray:
        """The pressures as an array; KinematicsError if one is not finite or outside the limits."""
        p, (low, high) = np.asarray(pressures_pa, dtype=float), self.pressure_limits_pa
        slack = RELATIVE_TOLERANCE * (high - low)
        bad = ~((p >= low - slack) & (p <= high + slack))
        if bad.any():
            raise KinematicsError(
                f'pressure {p[bad][0]:.7g} Pa is outside the {low:.7g}..{high:.7g} Pa '
                'of the modal model: '
                'give a pressure inside, or fit a model over a wider range'
            )
        return p

    def _checked_sites(self, arc_lengths_m: ArrayLike) -> np.ndarray:
        s = np.asarray(arc_lengths_m, dtype=float)
        if (
            s.ndim != 1
            or not ((s >= 0.0) & (s <= self.length_m * (1.0 + RELATIVE_TOLERANCE))).all()
        ):
            raise KinematicsError(f'arc lengths {s} m: give a list inside 0..{self.length_m:.6g} m')
        return s

    def _tangent(
        self, coefficients_rad: np.ndarray, arc_lengths_m: ArrayLike, pressures_pa: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the angle and its derivative by the pressure, both broadcast."""
        sites = np.asarray(arc_lengths_m, dtype=float) / self.length_unit_m
        of_sites = node_coefficients(coefficients_rad, sites, self.pressure_unit_pa)
        pressures_pa = np.asarray(pressures_pa, dtype=float)
        return formulas.polynomial(np.moveaxis(of_sites, -1, 0), pressures_pa)


def transforms(planar: np.ndarray) -> np.ndarray:
    """T (..., 4, 4) of planar poses (..., 3) = x [m], z [m], theta [rad] in the x-z plane."""
    planar = np.asarray(planar, dtype=float)
    cos, sin = np.cos(planar[..., 2]), np.sin(planar[..., 2])
    T = np.zeros(planar.shape[:-1] + (4, 4))
    T[..., 0, 0], T[..., 0, 2], T[..., 2, 0], T[..., 2, 2] = cos, sin, -sin, cos
    T[..., 1, 1] = T[..., 3, 3] = 1.0
    T[..., 0, 3], T[..., 2, 3] = planar[..., 0], planar[..., 1]
    return T
