"""Maps of one segment of each kind: its coordinates to its pose and twist, plain NumPy, any leading shape.

Bellows, single bends and tendons make arcs of constant curvature (`pcc`); a modal segment is
integrated along its length. Coordinates x (..., k) are floats of the segment's own units [m, Pa,
rad], not checked here: `Arm.checked` has done it.
"""

import numpy as np

from soft_arm_description.segments import (
    BellowsSegment,
    ModalSegment,
    Segment,
    SingleBendSegment,
    TendonSegment,
)
from soft_arm_kinematics.segments import pcc

QUADRATURE_POINTS = (
    32  # Gauss-Legendre nodes along a modal segment: round-off for polynomials up to a few turns
)


class ArcMap:
    """A segment that is an arc: `arcs` and `arc_jacobians` of its own coordinates x (..., k).

    Without the closing twist, bellows turn their end by the phi of their arc. The other kinds know
    their phi, whatever the bend's sign, so that nothing jumps where the bend passes through zero.
    """

    def __init__(self, segment: Segment):
        self.closing_twist = segment.closing_twist

    def transforms(self, x: np.ndarray) -> np.ndarray:
        """T_start_end (..., 4, 4)."""
        transforms = pcc.arc_transforms(self.arcs(x))
        return transforms if self.closing_twist else turned(transforms, self.phi_rad(x))

    def jacobians(self, x: np.ndarray) -> np.ndarray:
        """Twist of the end in the start frame per unit rate of the coordinates, (..., 6, k)."""
        return pcc.arc_jacobians(self.arcs(x)) @ self.arc_jacobians(x)


class BellowsMap(ArcMap):
    """Lengths of three or four bellows [m]."""

    def __init__(self, segment: BellowsSegment):
        super().__init__(segment)
        layout = segment.actuators.angles_rad, segment.actuators.centre_radius_m
        self.arcs_matrix, self.lengths_matrix = (
            pcc.arcs_matrix(*layout),
            pcc.lengths_matrix(*layout),
        )

    def arcs(self, x):
        """Arcs (..., 3) [rad, rad, m]: linear in the lengths x (..., k) [m] (`pcc.arcs_matrix`)."""
        return x @ self.arcs_matrix.T

    def transforms(self, x):
        """T_start_end (..., 4, 4)."""
        return pcc.arc_transforms(self.arcs(x), self.closing_twist)

    def jacobians(self, x):
        """Twist of the end in the start frame per metre of each length, (..., 6, k) [1, rad/m]."""
        return pcc.arc_jacobians(self.arcs(x), self.closing_twist) @ self.arcs_matrix

    def arc_jacobians(self, x):
        """Derivative of the arc by the lengths, (..., 3, k) [rad/m, rad/m, 1], constant."""
        return np.broadcast_to(self.arcs_matrix, x.shape[:-1] + self.arcs_matrix.shape)


class SingleBendMap(ArcMap):
    """One pressure [Pa]; the bend is a cubic of it (gripper paper, section 3)."""

    def __init__(self, segment: SingleBendSegment):
        super().__init__(segment)
        self.phi, self.direction = (
            segment.phi_rad,
            np.array([np.cos(segment.phi_rad), np.sin(segment.phi_rad)]),
        )
        self.length_m = segment.length_m
        powers = np.arange(4)
        self.theta_coefficients = (
            np.array(segment.theta_coefficients_rad) / segment.pressure_unit_pa**powers
        )  # [rad/Pa^i]
        self.slope_coefficients = self.theta_coefficients[1:] * powers[1:]

    def arcs(self, x):
        """Arcs (..., 3) [rad, rad, m] of fixed length and direction at x (..., 1) [Pa]; a negative bend turns the other way."""
        theta = np.polynomial.polynomial.polyval(x, self.theta_coefficients)
        return np.concatenate([theta * self.direction, np.full_like(x, self.length_m)], axis=-1)

    def phi_rad(self, x):
        """Direction of the bending plane [rad], fixed."""
        return np.full(x.shape[:-1], self.phi)

    def arc_jacobians(self, x):
        """Derivative of the arc by the pressure, (..., 3, 1) [rad/Pa, rad/Pa, m/Pa]."""
        slope = np.polynomial.polynomial.polyval(x, self.slope_coefficients)
        return np.concatenate([slope * self.direction, np.zeros_like(x)], axis=-1)[..., None]


class TendonMap(ArcMap):
    """Bend [rad] of either sign, direction [rad] and length [m] themselves (squid paper)."""

    def __init__(self, segment: TendonSegment):
        super().__init__(segment)

    def arcs(self, x):
        """Arcs (..., 3) [rad, rad, m] of x (..., 3) = theta [rad], phi [rad], ell [m]."""
        return pcc.arcs_from_polar(x[..., 0], x[..., 1], x[..., 2])

    def phi_rad(self, x):
        """Direction of the bending plane [rad]."""
        return x[..., 1]

    def jacobians(self, x):
        """Twist of the end per unit of theta, phi and ell, (..., 6, 3); the open convention's last turn is about the end's own axis."""
        jacobians = super().jacobians(x)
        if not self.closing_twist:
            jacobians[..., 3:, 1] += pcc.arc_transforms(self.arcs(x))[..., :3, 2]
        return jacobians

    def arc_jacobians(self, x):
        """Derivative of the arc by theta, phi and ell, (..., 3, 3)."""
        theta, cos, sin, zero = (
            x[..., 0],
            np.cos(x[..., 1]),
            np.sin(x[..., 1]),
            np.zeros_like(x[..., 0]),
        )
        return np.stack(
            [
                np.stack([cos, -theta * sin, zero], axis=-1),
                np.stack([sin, theta * cos, zero], axis=-1),
                np.stack([zero, zero, zero + 1.0], axis=-1),
            ],
            axis=-2,
        )


class ModalMap:
    """One pressure [Pa]; the tangent's angle is a polynomial of arc length and pressure (modal paper, equations (1)-(9)).

    Attributes:
        node_coefficients: (nodes + 1, w) [rad/Pa^j]: theta at node i = sum_j node_coefficients[i, j] p^j; the last row is the end's.
        weights_m: (nodes,) quadrature weights [m].
        direction: (2,) of the bending plane.
    """

    def __init__(self, segment: ModalSegment):
        nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE_POINTS)
        s_m = np.append((nodes + 1.0) / 2.0, 1.0) * segment.length_m
        coefficients = np.array(segment.coefficients_rad)
        powers = s_m[:, None] / segment.length_unit_m
        self.node_coefficients = (
            (powers ** np.arange(len(coefficients)))
            @ coefficients
            / (segment.pressure_unit_pa ** np.arange(coefficients.shape[1]))
        )
        self.weights_m = weights / 2.0 * segment.length_m
        self.phi, self.direction = (
            segment.phi_rad,
            np.array([np.cos(segment.phi_rad), np.sin(segment.phi_rad)]),
        )
        self.closing_twist = segment.closing_twist

    def _angles(self, x):
        powers = x ** np.arange(self.node_coefficients.shape[1])
        slopes = np.arange(1, powers.shape[-1]) * powers[..., :-1]
        return powers @ self.node_coefficients.T, slopes @ self.node_coefficients[:, 1:].T

    def arcs(self, x):
        """Arcs (..., 3) [rad, rad, m] with the same bend of the end and the same length at x (..., 1) [Pa]; only for comparing shapes."""
        theta = self._angles(x)[0][..., -1]
        return pcc.arcs_from_polar(theta, self.phi, self.weights_m.sum())

    def transforms(self, x):
        """T_start_end (..., 4, 4) at x (..., 1) [Pa]: dx/ds = (sin theta, cos theta) integrated (modal paper, equations 7-9)."""
        theta, _ = self._angles(x)
        transforms = pcc.arc_transforms(pcc.arcs_from_polar(theta[..., -1], self.phi, 0.0))
        if not self.closing_twist:
            transforms = turned(transforms, np.full(x.shape[:-1], self.phi))
        transforms[..., :2, 3] = (np.sin(theta[..., :-1]) @ self.weights_m)[
            ..., None
        ] * self.direction
        transforms[..., 2, 3] = np.cos(theta[..., :-1]) @ self.weights_m
        return transforms

    def jacobians(self, x):
        """Twist of the end in the start frame per pascal, (..., 6, 1), differentiated under the integral (modal paper, equations 26-29)."""
        theta, slope = self._angles(x)
        sideways = (np.cos(theta) * slope)[..., :-1] @ self.weights_m
        along = -(np.sin(theta) * slope)[..., :-1] @ self.weights_m
        cos, sin = self.direction
        rows = [
            sideways * cos,
            sideways * sin,
            along,
            -sin * slope[..., -1],
            cos * slope[..., -1],
            np.zeros_like(along),
        ]
        return np.stack(rows, axis=-1)[..., None]


def turned(transforms: np.ndarray, angles_rad: np.ndarray) -> np.ndarray:
    """Transforms (..., 4, 4) followed by a turn about their z axes by angles (...) [rad]."""
    result = transforms.copy()
    cos, sin = np.cos(angles_rad)[..., None], np.sin(angles_rad)[..., None]
    x, y = transforms[..., :3, 0], transforms[..., :3, 1]
    result[..., :3, 0], result[..., :3, 1] = cos * x + sin * y, cos * y - sin * x
    return result


_MAPS = {
    'bellows': BellowsMap,
    'single_bend': SingleBendMap,
    'modal': ModalMap,
    'tendon': TendonMap,
}


def segment_map(segment: Segment) -> ArcMap | ModalMap:
    """The map of a segment of any kind."""
    return _MAPS[segment.kind](segment)
