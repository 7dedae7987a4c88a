r"""Modal kinematics of a planar bending bellows: one pressure in, a curve of varying curvature out (modal paper, its equations 8-30).

    theta(s, q) = psi(s)^T A eta(q),   psi = [1, s/l, .., (s/l)^(v-1)],   eta = [1, q/u, .., (q/u)^(w-1)],
    dP/ds = (sin theta, 0, cos theta).

theta is the tangent's angle from the base's z axis towards x, so that R = Ry(theta) and this model
agrees with `pcc` where the curve is an arc with phi = 0. The paper draws the straight bellows along
its x axis: its x is our z and its z our x, and its monomials of pixels and psi are ours with l = 1
px, u = 1 psi (`paper_coefficients`). Arc length s and pressure q are scaled by the bellows' own l
and u because monomials of metres and pascals have a design matrix with a condition number of 1e20.

Integrals over s are Gauss-Legendre sums of `NODES` nodes, exact to rounding for bends of up to two
turns.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval
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
    """Coefficients (..., w) [rad/Pa^j] of the angle as a polynomial in the pressure, at sites (...) in length units."""
    v, w = coefficients_rad.shape
    return sites[..., None] ** np.arange(v) @ coefficients_rad / pressure_unit_pa ** np.arange(w)


@dataclass(frozen=True, eq=False)
class ModalModel:
    """A bellows whose tangent angle is a polynomial of arc length and pressure; all methods broadcast over leading shapes.

    Attributes:
        coefficients_rad: A, (v, w): row i multiplies (s / length_unit_m)^i, column j multiplies (q / pressure_unit_pa)^j.
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
        """The model in a robot file, A (v, w) [rad] of scaled s and q; its bending plane `phi_deg` is left to the caller."""
        return cls(
            np.array(segment.coefficients_rad),
            segment.length_m,
            segment.length_unit_m,
            segment.pressure_unit_pa,
            segment.pressure_limits_pa,
        )

    def paper_coefficients(self, length_unit_m: float, pressure_unit_pa: float) -> np.ndarray:
        """A in other units, for instance the paper's: 0.2959e-3 m (a pixel) and 6894.757 Pa (a psi); (v, w) [rad]."""
        v, w = self.coefficients_rad.shape
        return (
            self.coefficients_rad
            * (length_unit_m / self.length_unit_m) ** np.arange(v)[:, None]
            * (pressure_unit_pa / self.pressure_unit_pa) ** np.arange(w)
        )

    def angles(self, arc_lengths_m: ArrayLike, pressures_pa: ArrayLike) -> np.ndarray:
        """Tangent angle theta [rad] at arc lengths [m] and pressures [Pa] that broadcast against each other (equation 8)."""
        return self._evaluate(self.coefficients_rad, arc_lengths_m, pressures_pa)

    def angle_slopes(self, arc_lengths_m: ArrayLike, pressures_pa: ArrayLike) -> np.ndarray:
        """Derivative of `angles` by the pressure [rad/Pa]; arguments as in `angles`."""
        return (
            self._evaluate(polyder(self.coefficients_rad, axis=1), arc_lengths_m, pressures_pa)
            / self.pressure_unit_pa
        )

    def curvatures(self, arc_lengths_m: ArrayLike, pressures_pa: ArrayLike) -> np.ndarray:
        """Derivative of `angles` by the arc length [rad/m]; arguments as in `angles`."""
        return (
            self._evaluate(polyder(self.coefficients_rad, axis=0), arc_lengths_m, pressures_pa)
            / self.length_unit_m
        )

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
        q, s = self.checked_pressures(pressures_pa), self._checked_sites(arc_lengths_m)
        sideways, along, _, _ = self._ends(s, q[..., None])
        positions = np.stack([sideways, along], axis=-1)
        return positions, self.angles(s, q[..., None])

    def tip(self, pressures_pa: ArrayLike) -> np.ndarray:
        """Planar pose (x [m], z [m], theta [rad]) of the tip at pressures (...) [Pa]: (..., 3). Raises as `shape`."""
        positions, angles = self.shape(pressures_pa, np.array([self.length_m]))
        return np.concatenate([positions[..., 0, :], angles], axis=-1)

    def fk_pressures(self, pressures_pa: ArrayLike) -> np.ndarray:
        """T_base_tip (..., 4, 4) at pressures (...) [Pa]. Raises as `shape`."""
        return transforms(self.tip(pressures_pa))

    def tip_slopes(self, pressures_pa: ArrayLike) -> np.ndarray:
        """Derivative of `tip` by the pressure, differentiated under the integral (equations 27-29): (..., 3) [m/Pa, m/Pa, rad/Pa]."""
        q = self.checked_pressures(pressures_pa)
        _, _, sideways, along = self._ends(np.array(self.length_m), q)
        return np.stack([sideways, along, self.angle_slopes(self.length_m, q)], axis=-1)

    def _ends(self, sites_m, pressures_pa):
        sites = np.multiply.outer(UNIT_NODES, sites_m / self.length_unit_m)
        of_nodes = node_coefficients(self.coefficients_rad, sites, self.pressure_unit_pa)
        weights_m = np.multiply.outer(UNIT_WEIGHTS, sites_m)
        return formulas.modal_end(np.moveaxis(of_nodes, -1, 1), weights_m, pressures_pa)

    def twist_jacobian_pressures(self, pressures_pa: ArrayLike) -> np.ndarray:
        """Twist of the tip in the base per pressure rate, (..., 6): velocity [m/Pa], then angular velocity [rad/Pa] (equation 26)."""
        slopes = self.tip_slopes(pressures_pa)
        jacobian = np.zeros(slopes.shape[:-1] + (6,))
        jacobian[..., 0], jacobian[..., 2], jacobian[..., 4] = (
            slopes[..., 0],
            slopes[..., 1],
            slopes[..., 2],
        )
        return jacobian

    def checked_pressures(self, pressures_pa: ArrayLike) -> np.ndarray:
        """The pressures as an array; KinematicsError if one is not finite or outside the limits."""
        q, (low, high) = np.asarray(pressures_pa, dtype=float), self.pressure_limits_pa
        slack = RELATIVE_TOLERANCE * (high - low)
        bad = ~((q >= low - slack) & (q <= high + slack))
        if bad.any():
            raise KinematicsError(
                f'pressure {q[bad][0]:.7g} Pa is outside the {low:.7g}..{high:.7g} Pa of the modal model: '
                'give a pressure inside, or fit a model over a wider range'
            )
        return q

    def _checked_sites(self, arc_lengths_m):
        s = np.asarray(arc_lengths_m, dtype=float)
        if (
            s.ndim != 1
            or not ((s >= 0.0) & (s <= self.length_m * (1.0 + RELATIVE_TOLERANCE))).all()
        ):
            raise KinematicsError(f'arc lengths {s} m: give a list inside 0..{self.length_m:.6g} m')
        return s

    def _evaluate(self, coefficients, arc_lengths_m, pressures_pa):
        s = np.asarray(arc_lengths_m, dtype=float) / self.length_unit_m
        q = np.asarray(pressures_pa, dtype=float) / self.pressure_unit_pa
        theta = np.zeros(np.broadcast_shapes(s.shape, q.shape))
        for row in coefficients[::-1]:
            theta = theta * s + polyval(q, row)
        return theta


@dataclass(frozen=True, eq=False)
class ResolvedRates:
    """How a resolved-rates motion went.

    Attributes:
        pressure_pa: Pressure reached [Pa].
        tip_m: Tip position there, (3,) [m].
        error_m: Distance from the target [m].
        converged: The error is within the tolerance.
        steps: Number of steps made.
        at_limit: A pressure limit holds the tip back.
        path_pa: Pressures on the way, (steps + 1,).
        message: One sentence.
    """

    pressure_pa: float
    tip_m: np.ndarray
    error_m: float
    converged: bool
    steps: int
    at_limit: bool
    path_pa: np.ndarray
    message: str


def resolved_rates(
    model: ModalModel,
    target_m: np.ndarray,
    start_pa: float,
    gain: float = 0.5,
    tolerance_m: float = 1e-9,
    step_limit_pa: float | None = None,
    max_steps: int = 200,
) -> ResolvedRates:
    """Drive the tip towards a target by q += J^+ gain (x_target - x), inside the pressure limits (equation 30).

    Args:
        model: The bellows.
        target_m: Target of the tip in the base, (3,) [m]. One pressure reaches a curve only: elsewhere the motion ends where the tip
            comes nearest.
        start_pa: First pressure [Pa].
        gain: alpha in (0, 1].
        tolerance_m: Error at which the target counts as reached [m].
        step_limit_pa: Largest change in one step [Pa]; a tenth of the range when left out.
        max_steps: Steps after which it gives up.

    Raises:
        KinematicsError: If the target is not three finite numbers, the gain is outside (0, 1], or
            the start is outside the limits.
    """
    target = np.asarray(target_m, dtype=float)
    if target.shape != (3,) or not np.isfinite(target).all():
        raise KinematicsError(f'target {target_m}: give three finite coordinates [m] in the base')
    if not 0.0 < gain <= 1.0:
        raise KinematicsError(f'gain {gain} is outside (0, 1]: a larger one overshoots')
    low, high = model.pressure_limits_pa
    step_limit_pa = step_limit_pa or 0.1 * (high - low)
    path = [float(model.checked_pressures(start_pa))]
    still_pa, outcome = 1e-12 * (high - low), 'gave up'
    for _ in range(max_steps):
        q = path[-1]
        error = target - model.fk_pressures(q)[:3, 3]
        column = model.twist_jacobian_pressures(q)[:3]
        if np.linalg.norm(error) <= tolerance_m:
            outcome = 'reached the target'
            break
        wanted = gain * (column @ error) / max(column @ column, np.finfo(float).tiny)
        following = float(np.clip(q + np.clip(wanted, -step_limit_pa, step_limit_pa), low, high))
        if abs(following - q) <= still_pa:
            outcome = (
                'held by the pressure limit'
                if abs(wanted) > still_pa
                else "nearest point of the tip's curve"
            )
            break
        path.append(following)
    tip = model.fk_pressures(path[-1])[:3, 3]
    error_m = float(np.linalg.norm(target - tip))
    return ResolvedRates(
        path[-1],
        tip,
        error_m,
        error_m <= tolerance_m,
        len(path) - 1,
        outcome.startswith('held'),
        np.array(path),
        f'{outcome} after {len(path) - 1} steps: {error_m * 1e3:.4g} mm from the target at {path[-1]:.6g} Pa',
    )


def transforms(planar: np.ndarray) -> np.ndarray:
    """T (..., 4, 4) of planar poses (..., 3) = x [m], z [m], theta [rad] in the x-z plane."""
    planar = np.asarray(planar, dtype=float)
    cos, sin = np.cos(planar[..., 2]), np.sin(planar[..., 2])
    T = np.zeros(planar.shape[:-1] + (4, 4))
    T[..., 0, 0], T[..., 0, 2], T[..., 2, 0], T[..., 2, 2] = cos, sin, -sin, cos
    T[..., 1, 1] = T[..., 3, 3] = 1.0
    T[..., 0, 3], T[..., 2, 3] = planar[..., 0], planar[..., 1]
    return T
