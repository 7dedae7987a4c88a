"""Fit the modal matrix A to pictures of a bellows; errors at held-out pressures choose the orders.

With the same arc lengths at every pressure the paper's Phi = Omega A Gamma reads vec(Phi) =
(Gamma^T kron Omega) vec(A) (its equation 22 prints Phi^T for Gamma^T). `design_matrix` has those
rows, one for each point, so that pictures need not share their arc lengths. The fit works in
Legendre polynomials of s/L on 0..1 and of p on its range, whose design matrix is well conditioned,
and converts to monomials at the end. With a clamped base every mode is a multiple of s, so that
theta(0, p) = 0.

The chords' directions give a first, linear fit; Gauss-Newton then fits the positions themselves,
since differentiating measured positions twice would amplify their noise.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.polynomial import Legendre, Polynomial
from numpy.polynomial.polynomial import polyvander
from scipy.optimize import least_squares

from soft_arm_io.csv_file import csv_rows
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments.modal import UNIT_NODES, UNIT_WEIGHTS, ModalModel

PSI_PA, PAPER_PIXEL_M = 6894.757293168361, 0.2959e-3  # units of the paper's pictures
MIN_ORDER, MAX_ORDERS = 2, (6, 5)  # the clamped base takes the first power of arc length
NEARLY_BEST = 1.1  # the smallest orders whose held-out error is within this factor of the least win


@dataclass(frozen=True, eq=False)
class ModalFit:
    """A fitted model and how good it is.

    Attributes:
        model: The model.
        orders: (v, w), powers of arc length and pressure, counted with the zeroth.
        pressures_pa: (z,) pressures of the pictures, rising.
        worst_m: (z,) largest distance of a point from the model at each of these pressures [m].
        rms_m: Root mean square of all distances [m].
        held_out_rms_m: The same at inner pressures that are left out of the fit, one at a time [m].
        condition: Condition number of the design matrix in the bases of the fit.
        condition_si: The same in plain powers of metres and pascals.
    """

    model: ModalModel
    orders: tuple[int, int]
    pressures_pa: np.ndarray
    worst_m: np.ndarray
    rms_m: float
    held_out_rms_m: float
    condition: float
    condition_si: float


def fit_modal(
    shapes_m: Mapping[float, np.ndarray],
    orders: tuple[int, int] | None = None,
    length_m: float | None = None,
) -> ModalFit:
    """Fit A to pictures of the backbone.

    Args:
        shapes_m: For at least two pressures [Pa], the points (g, 2) = (x, z) [m] on the backbone
            in the base from base to tip, the last one at the tip. The lowest and highest pressure
            are the model's limits.
        orders: (v, w); chosen by leave-one-pressure-out error when left out.
        length_m: Length of the backbone [m]; the mean of the pictures when left out.

    Raises:
        KinematicsError: If the pictures are too few, a value is not finite, or the orders have more
            coefficients than data.
    """
    data = _Pictures(shapes_m, length_m)
    count = len(data.pressures_pa)
    orders = orders or _select(data)
    v, w = orders
    if not (MIN_ORDER <= v <= data.points_per_picture and 1 <= w <= count):
        raise KinematicsError(
            f'orders {orders}: give v in {MIN_ORDER}..{data.points_per_picture}, w in 1..{count}, '
            'the number of points in a picture and of pressures'
        )
    every = range(count)
    model = data.fit(orders, every)
    errors = [data.errors_m(model, i) for i in every]
    held_out = [
        data.errors_m(data.fit(orders, [j for j in every if j != i]), i)
        for i in (every[1:-1] if w < count else ())  # no extrapolation, and no loss of the order w
    ]
    raw = np.concatenate(
        [
            design_matrix(polyvander(s, v - 1)[:, 1:], polyvander([p], w - 1))
            for p, s in zip(data.pressures_pa, data.chord_sites_m, strict=True)
        ]
    )
    return ModalFit(
        model=model,
        orders=orders,
        pressures_pa=data.pressures_pa,
        worst_m=np.array([e.max() for e in errors]),
        rms_m=_rms(errors),
        held_out_rms_m=_rms(held_out) if held_out else float('nan'),
        condition=float(np.linalg.cond(data.design(*data.bases(orders), every))),
        condition_si=float(np.linalg.cond(raw)),
    )


def design_matrix(psi: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return rows eta_k kron psi_k: angles = design_matrix @ vec(A), vec stacking A's columns.

    Args:
        psi: (n, v) basis of arc length, one row for each angle.
        eta: (n, w) or (1, w) basis of pressure.

    Returns:
        (n, v w).
    """
    return (np.asarray(eta)[:, :, None] * np.asarray(psi)[:, None, :]).reshape(len(psi), -1)


def arc_lengths(positions_m: np.ndarray) -> np.ndarray:
    """Return arc lengths (g,) [m] of points (g, 2) on a smooth curve that starts at the origin.

    The curve starts along z; every piece of it is taken as an arc.
    """
    points = np.asarray(positions_m, dtype=float)
    steps = np.diff(np.concatenate([np.zeros((1, 2)), points]), axis=0)
    chords = np.linalg.norm(steps, axis=1)
    moved = chords > 0.0
    chord_angles = np.unwrap(np.arctan2(steps[moved, 0], steps[moved, 1]))
    half_turns = (
        np.abs(np.gradient(chord_angles)) / 2.0 if len(chord_angles) > 1 else np.abs(chord_angles)
    )
    chords[moved] /= np.sinc(half_turns / np.pi)
    return np.cumsum(chords)


def read_shapes(path: Path) -> dict[float, np.ndarray]:
    """Read annotated points, one row each from base to tip, as `fit_modal` takes them.

    Args:
        path: CSV file with the columns pressure_pa and x_m, z_m in the base.

    Raises:
        KinematicsError: If the file cannot be read, a column is missing or a value is not a number.
    """
    points: dict[float, list] = {}
    with csv_rows(path, KinematicsError, 'pressure_pa', 'x_m', 'z_m') as (_, rows):
        for row in rows:
            point = row.number('x_m'), row.number('z_m')
            points.setdefault(row.number('pressure_pa'), []).append(point)
    return {pressure_pa: np.array(values) for pressure_pa, values in points.items()}


class _Pictures:
    """Points on the backbone at rising pressures, their arc lengths and the chords' directions.

    Attributes:
        pressures_pa: (z,).
        length_m, unit_pa: Scales of arc length and pressure.
        points_m: (g, 2) of each pressure.
        sites_m: (g,) arc lengths of the points.
        chord_sites_m, chord_angles: Arc length [m] half-way along each chord, and its direction
            [rad]; points that coincide have no chord.
    """

    def __init__(self, shapes_m: Mapping[float, np.ndarray], length_m: float | None):
        self.pressures_pa = np.array(sorted(shapes_m))
        if len(shapes_m) < 2 or not np.isfinite(self.pressures_pa).all():
            raise KinematicsError(
                f'pressures {self.pressures_pa.tolist()} Pa: give at least two, all finite'
            )
        self.points_m = [np.asarray(shapes_m[p], dtype=float) for p in self.pressures_pa]
        if any(
            xz.ndim != 2 or xz.shape[1] != 2 or len(xz) < 3 or not np.isfinite(xz).all()
            for xz in self.points_m
        ):
            raise KinematicsError('give three or more finite points (x, z) [m] for every pressure')
        sites = [arc_lengths(xz) for xz in self.points_m]
        mean_m = float(np.mean([s[-1] for s in sites]))
        self.length_m = length_m or mean_m
        self.unit_pa = float(np.abs(self.pressures_pa).max())
        if not (mean_m > 0.0 and self.unit_pa > 0.0 and all(s[-1] > 0.0 for s in sites)):
            raise KinematicsError('every picture needs a length, and one pressure must not be 0 Pa')
        # the backbone does not stretch: all pictures show the same length
        self.sites_m = [s * mean_m / s[-1] for s in sites]
        self.chord_sites_m, self.chord_angles = [], []
        for points, s in zip(self.points_m, self.sites_m, strict=True):
            chords, ends = np.diff(points, axis=0, prepend=0.0), np.append(0.0, s)
            moved = np.diff(ends) > 0.0
            self.chord_sites_m.append((0.5 * (ends[1:] + ends[:-1]))[moved])
            self.chord_angles.append(np.unwrap(np.arctan2(*chords[moved].T)))

    @property
    def points_per_picture(self) -> int:
        return min(len(a) for a in self.chord_angles)

    def bases(self, orders: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Return modes as rows of monomial coefficients: (v - 1, v) in s/L and (w, w) in p/u."""
        v, w = orders
        of_pressure = _legendre(w, *(self.pressures_pa[[0, -1]] / self.unit_pa))
        return np.pad(_legendre(v - 1, 0.0, 1.0), ((0, 0), (1, 0))), of_pressure

    def _modes(self, c: np.ndarray, d: np.ndarray, i: int, sites_m: np.ndarray) -> np.ndarray:
        """Return the design matrix of picture i at arc lengths [m]."""
        return design_matrix(
            polyvander(sites_m / self.length_m, c.shape[1] - 1) @ c.T,
            polyvander([self.pressures_pa[i] / self.unit_pa], d.shape[1] - 1) @ d.T,
        )

    def design(self, c: np.ndarray, d: np.ndarray, chosen: Iterable[int]) -> np.ndarray:
        """Return the design matrix of the chosen pictures' chords in the bases c and d."""
        return np.concatenate([self._modes(c, d, i, self.chord_sites_m[i]) for i in chosen])

    def fit(
        self, orders: tuple[int, int], chosen: Sequence[int], linear: bool = False
    ) -> ModalModel:
        """Fit the model to the chosen pictures; `linear`: to the chords' directions only."""
        c, d = self.bases(orders)
        angles = np.concatenate([self.chord_angles[i] for i in chosen])
        solution, *_ = np.linalg.lstsq(self.design(c, d, chosen), angles, rcond=None)
        if not linear:
            solution = self._fit_positions(c, d, chosen, solution)
        return ModalModel(
            coefficients_rad=c.T @ solution.reshape(d.shape[0], c.shape[0]).T @ d,
            length_m=self.length_m,
            length_unit_m=self.length_m,
            pressure_unit_pa=self.unit_pa,
            pressure_limits_pa=(float(self.pressures_pa[0]), float(self.pressures_pa[-1])),
        )

    def _fit_positions(
        self, c: np.ndarray, d: np.ndarray, chosen: Sequence[int], start: np.ndarray
    ) -> np.ndarray:
        sites_m = np.concatenate([self.sites_m[i] for i in chosen])[:, None]
        weights = sites_m * UNIT_WEIGHTS
        measured_m = np.concatenate([self.points_m[i] for i in chosen])
        modes = np.concatenate(
            [self._modes(c, d, i, np.outer(self.sites_m[i], UNIT_NODES).ravel()) for i in chosen]
        ).reshape(-1, len(UNIT_NODES), len(start))

        def residuals(x: np.ndarray) -> np.ndarray:
            theta = modes @ x
            model_m = np.stack([np.sin(theta) * weights, np.cos(theta) * weights]).sum(axis=-1)
            return (model_m - measured_m.T).ravel()

        def jacobian(x: np.ndarray) -> np.ndarray:
            theta = modes @ x
            slopes = np.stack([np.cos(theta) * weights, -np.sin(theta) * weights])
            return np.einsum('ank,nkm->anm', slopes, modes).reshape(-1, len(x))

        return least_squares(residuals, start, jac=jacobian, method='lm').x

    def errors_m(self, model: ModalModel, i: int) -> np.ndarray:
        """Return distances [m] of the points of picture i from a model, at the same arc lengths."""
        sites_m = np.minimum(self.sites_m[i], self.length_m)
        model_m, _ = model.shape(self.pressures_pa[i], sites_m)
        return np.linalg.norm(model_m - self.points_m[i], axis=1)


def _legendre(order: int, low: float, high: float) -> np.ndarray:
    """Return Legendre polynomials on low..high as rows of monomial coefficients, (order, order)."""
    rows = [
        Legendre.basis(k, domain=[low, high])
        .convert(kind=Polynomial, domain=[-1, 1], window=[-1, 1])
        .coef
        for k in range(order)
    ]
    return np.array([np.pad(row, (0, order - len(row))) for row in rows])


def _select(data: _Pictures) -> tuple[int, int]:
    """Return the smallest orders whose held-out error is nearly the least."""
    n = len(data.pressures_pa)
    if n < 4:
        raise KinematicsError(
            f'{n} pressures: choosing the orders needs at least 4; give more pictures or the orders'
        )
    table = {}
    for v in range(MIN_ORDER, min(MAX_ORDERS[0], data.points_per_picture - 1) + 1):
        for w in range(2, min(MAX_ORDERS[1], n - 1) + 1):
            folds = [
                (data.fit((v, w), [j for j in range(n) if j != i], linear=True), i)
                for i in range(1, n - 1)
            ]
            table[v, w] = _rms([data.errors_m(model, i) for model, i in folds])
    enough = NEARLY_BEST * min(table.values())
    candidates = [orders for orders in table if table[orders] <= enough]
    return min(candidates, key=lambda o: (o[0] * o[1], table[o]))


def _rms(errors: Sequence[np.ndarray]) -> float:
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2)))
