"""Fit of the modal model's matrix A to shapes of a bellows at several pressures, with the orders chosen by held-out error.

With the same arc lengths at every pressure the paper's Phi = Omega A Gamma reads vec(Phi) =
(Gamma^T kron Omega) vec(A) (its equation 22 prints Phi^T for Gamma^T). `design_matrix` has those
rows, one for each point, so that pictures need not share their arc lengths. The fit works in
Legendre polynomials of s/L on 0..1 and of q on its range, whose design matrix is well conditioned,
and is turned into monomials at the end. With a clamped base every mode is a multiple of s, so that
theta(0, q) = 0.

Angles enter linearly. Positions are fitted themselves, by Gauss-Newton from the linear fit to the
chords' directions: differentiating measured positions twice would amplify their noise.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.polynomial import Legendre, Polynomial
from numpy.polynomial.polynomial import polyvander
from scipy.optimize import least_squares

from soft_arm_description.csv_file import CsvFileError, need, read_csv
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments.modal import UNIT_NODES, UNIT_WEIGHTS, ModalModel

PSI_PA = 6894.757293168361
PAPER_PIXEL_M = 0.2959e-3
LARGEST_ORDERS = 6, 5
NEARLY_BEST = (
    1.1  # the smallest orders whose held-out error is within this factor of the least are taken
)


@dataclass(frozen=True, eq=False)
class Shape:
    """One picture of the backbone.

    Attributes:
        pressure_pa: Gauge pressure [Pa].
        positions_m: (g, 2) = (x, z) in the base from base to tip [m], or None.
        arc_lengths_m: (g,) [m], strictly increasing; None: found from the positions, whose last point is then the tip.
        angles_rad: (g,) tangent angles [rad]; used where there are no positions.
    """

    pressure_pa: float
    positions_m: np.ndarray | None = None
    arc_lengths_m: np.ndarray | None = None
    angles_rad: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class ModalFit:
    """A fitted model and how good it is.

    Attributes:
        model: The model.
        orders: (v, w), powers of arc length and pressure, counted with the zeroth.
        worst_m: Largest distance of a datum from the model at each pressure (z,), as `pressures_pa` [m; rad if only angles were given].
        rms_m: Root mean square of all distances [m; rad].
        held_out_rms_m: The same at pressures that were left out of the fit, each inner one in turn [m; rad].
        held_out_by_orders: For each pair of orders tried, the held-out error of its linear fit [m; rad].
        condition: Condition number of the design matrix in the bases of the fit.
        condition_si: The same in plain powers of metres and pascals.
        pressures_pa: (z,) pressures of the shapes.
    """

    model: ModalModel
    orders: tuple[int, int]
    worst_m: np.ndarray
    rms_m: float
    held_out_rms_m: float
    held_out_by_orders: dict[tuple[int, int], float]
    condition: float
    condition_si: float
    pressures_pa: np.ndarray


def fit_modal(
    shapes: list[Shape],
    orders: tuple[int, int] | None = None,
    clamped: bool = True,
    length_m: float | None = None,
) -> ModalFit:
    """Fit A to shapes.

    Args:
        shapes: At least two pressures, each once; all with positions or all with angles. The lowest and highest set the model's limits.
        orders: (v, w); chosen by leave-one-pressure-out error when left out.
        clamped: The tangent at the base is the z axis at all pressures. False: the paper's form with a free angle there.
        length_m: Length of the backbone [m]; the largest arc length when left out.

    Raises:
        KinematicsError: If the shapes are too few or inconsistent, or the orders have more
            coefficients than data.
    """
    shapes = sorted(shapes, key=lambda shape: shape.pressure_pa)
    data = _Data.of(shapes, length_m)
    least = 2 if clamped else 1
    table = {}
    if orders is None:
        orders, table = _select(data, least, clamped)
    v, w = orders
    if v < least or w < 1 or w > len(shapes) or v > data.points_per_shape:
        raise KinematicsError(
            f'orders {orders}: give v in {least}..{data.points_per_shape} and w in 1..{len(shapes)}, the number of '
            'points in a picture and of pressures'
        )
    model = data.fit(orders, clamped, range(len(shapes)))
    errors = [data.errors(model, i) for i in range(len(shapes))]
    held_out = [
        data.errors(data.fit(orders, clamped, [j for j in range(len(shapes)) if j != i]), i)
        for i in _inner(shapes, w)
    ]
    design = data.design(*_bases(v, w, clamped, data), range(len(shapes)))
    raw = np.concatenate(
        [
            design_matrix(polyvander(s, v - 1)[:, 1 if clamped else 0 :], polyvander([q], w - 1))
            for q, s in zip(data.pressures, data.angle_sites, strict=True)
        ]
    )
    return ModalFit(
        model,
        orders,
        np.array([e.max() for e in errors]),
        _rms(errors),
        _rms(held_out) if held_out else float('nan'),
        table,
        float(np.linalg.cond(design)),
        float(np.linalg.cond(raw)),
        data.pressures,
    )


def design_matrix(psi: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Rows eta_k kron psi_k, so that angles = design_matrix @ vec(A), vec stacking A's columns.

    Args:
        psi: (n, v) basis of arc length, one row for each angle.
        eta: (n, w) or (1, w) basis of pressure.

    Returns:
        (n, v w).
    """
    return (np.asarray(eta)[:, :, None] * np.asarray(psi)[:, None, :]).reshape(len(psi), -1)


def arc_lengths(positions_m: np.ndarray) -> np.ndarray:
    """Arc lengths (g,) [m] of points (g, 2) on a smooth curve that starts at the origin along z, each piece taken as an arc."""
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


def read_shapes(path: Path, pixel_m: float = PAPER_PIXEL_M) -> list[Shape]:
    """Read annotated points from a CSV file, base to tip, one row each.

    Columns `pressure_pa` or `pressure_psi`; then `x_m`, `z_m` in the base, or the paper's `x_px`
    (along the straight bellows, our z) and `z_px` (to the side it bends to, our x). Pixels and psi
    end here.

    Args:
        path: CSV file.
        pixel_m: Size of a pixel [m].

    Raises:
        KinematicsError: If the file cannot be read, a column is missing or a value is not a number.
    """
    points: dict[float, list] = {}
    try:
        columns, rows = read_csv(path)
        in_psi, in_pixels = 'pressure_psi' in columns, 'x_px' in columns
        need(
            columns,
            (
                'pressure_psi' if in_psi else 'pressure_pa',
                *(('x_px', 'z_px') if in_pixels else ('x_m', 'z_m')),
            ),
        )
        for row in rows:
            pressure_pa = (
                row.number('pressure_psi') * PSI_PA if in_psi else row.number('pressure_pa')
            )
            point = (
                (row.number('z_px') * pixel_m, row.number('x_px') * pixel_m)
                if in_pixels
                else (row.number('x_m'), row.number('z_m'))
            )
            points.setdefault(pressure_pa, []).append(point)
    except OSError as error:
        raise KinematicsError(
            f'{path}: {error.strerror}; give a CSV file with the columns pressure_pa,x_m,z_m'
        ) from error
    except CsvFileError as error:
        raise KinematicsError(f'{path}: {error}') from error
    return [Shape(pressure_pa, np.array(values)) for pressure_pa, values in points.items()]


@dataclass(frozen=True, eq=False)
class _Data:
    """Shapes in arrays, with the angles that the linear fit uses: given ones, or chord directions half-way along each chord."""

    pressures: np.ndarray
    length_m: float
    sites: list[np.ndarray]
    positions: list[np.ndarray] | None
    angle_sites: list[np.ndarray]
    angles: list[np.ndarray]

    @classmethod
    def of(cls, shapes, length_m):
        pressures = np.array([shape.pressure_pa for shape in shapes])
        if (
            len(shapes) < 2
            or not np.isfinite(pressures).all()
            or not (np.diff(pressures) > 0).all()
        ):
            raise KinematicsError(
                f'pressures {pressures.tolist()} Pa: give at least two, finite and each once'
            )
        if all(shape.positions_m is not None for shape in shapes):
            positions = [np.asarray(shape.positions_m, dtype=float) for shape in shapes]
            if any(
                p.ndim != 2 or p.shape[1] != 2 or len(p) < 3 or not np.isfinite(p).all()
                for p in positions
            ):
                raise KinematicsError(
                    'positions: give at least three finite points (x, z) [m] for every pressure'
                )
            if all(shape.arc_lengths_m is not None for shape in shapes):
                sites = [np.asarray(shape.arc_lengths_m, dtype=float) for shape in shapes]
            else:  # the backbone does not stretch: all pictures show the same length
                sites = [arc_lengths(p) for p in positions]
                mean = float(np.mean([s[-1] for s in sites]))
                sites = [s * mean / s[-1] for s in sites]
            padded = [
                (np.concatenate([[0.0], s]), np.concatenate([np.zeros((1, 2)), p]))
                for s, p in zip(sites, positions, strict=True)
            ]
            keep = [np.diff(s) > 0.0 for s, _ in padded]
            angle_sites = [
                (0.5 * (s[1:] + s[:-1]))[k] for (s, _), k in zip(padded, keep, strict=True)
            ]
            angles = [
                np.unwrap(np.arctan2(*np.diff(p, axis=0)[k].T))
                for (_, p), k in zip(padded, keep, strict=True)
            ]
        elif all(
            shape.angles_rad is not None and shape.arc_lengths_m is not None for shape in shapes
        ):
            positions = None
            sites = angle_sites = [np.asarray(shape.arc_lengths_m, dtype=float) for shape in shapes]
            angles = [np.asarray(shape.angles_rad, dtype=float) for shape in shapes]
        else:
            raise KinematicsError(
                'shapes: give positions_m for all of them, or angles_rad and arc_lengths_m for all of them'
            )
        if any(
            s.shape != (len(a),)
            or not np.isfinite(a).all()
            or not (np.diff(s) > 0).all()
            or s[0] < 0
            for s, a in zip(angle_sites, angles, strict=True)
        ):
            raise KinematicsError(
                'arc lengths: give one for each point, increasing from the base; angles: finite'
            )
        return cls(
            pressures,
            length_m or float(max(s[-1] for s in sites)),
            sites,
            positions,
            angle_sites,
            angles,
        )

    @property
    def points_per_shape(self) -> int:
        return min(len(a) for a in self.angles)

    def design(self, c, d, chosen):
        """Design matrix of the angles of the chosen shapes; c, d: modes in powers of s/L and of q/u."""
        return np.concatenate(
            [
                design_matrix(
                    polyvander(self.angle_sites[i] / self.length_m, c.shape[1] - 1) @ c.T,
                    polyvander([self.pressures[i] / self.unit_pa], d.shape[1] - 1) @ d.T,
                )
                for i in chosen
            ]
        )

    @property
    def unit_pa(self) -> float:
        return float(np.abs(self.pressures).max())

    def fit(self, orders, clamped, chosen, exact=True) -> ModalModel:
        c, d = _bases(*orders, clamped, self)
        chosen = list(chosen)
        solution, *_ = np.linalg.lstsq(
            self.design(c, d, chosen), np.concatenate([self.angles[i] for i in chosen]), rcond=None
        )
        if self.positions is not None and exact:
            solution = self._fit_positions(c, d, chosen, solution)
        coefficients = c.T @ solution.reshape(d.shape[0], c.shape[0]).T @ d
        return ModalModel(
            coefficients,
            self.length_m,
            self.length_m,
            self.unit_pa,
            (self.pressures[0], self.pressures[-1]),
        )

    def _fit_positions(self, c, d, chosen, start):
        sites = [self.sites[i] for i in chosen]
        modes = np.concatenate(
            [
                design_matrix(
                    polyvander((s[:, None] * UNIT_NODES).ravel() / self.length_m, c.shape[1] - 1)
                    @ c.T,
                    polyvander([self.pressures[i] / self.unit_pa], d.shape[1] - 1) @ d.T,
                )
                for i, s in zip(chosen, sites, strict=True)
            ]
        ).reshape(-1, len(UNIT_NODES), len(start))
        weights = np.concatenate(sites)[:, None] * UNIT_WEIGHTS
        measured = np.concatenate([self.positions[i] for i in chosen])

        def residuals(x):
            theta = modes @ x
            return np.concatenate(
                [
                    (np.sin(theta) * weights).sum(1) - measured[:, 0],
                    (np.cos(theta) * weights).sum(1) - measured[:, 1],
                ]
            )

        def jacobian(x):
            theta = modes @ x
            return np.concatenate(
                [
                    np.einsum('nk,nkm->nm', np.cos(theta) * weights, modes),
                    np.einsum('nk,nkm->nm', -np.sin(theta) * weights, modes),
                ]
            )

        return least_squares(residuals, start, jac=jacobian, method='lm', x_scale=1.0).x

    def errors(self, model, i) -> np.ndarray:
        """Distances [m] (or angles [rad]) of the data of shape i from a model, at the same arc lengths."""
        if self.positions is None:
            return np.abs(model.angles(self.sites[i], self.pressures[i]) - self.angles[i])
        model_m, _ = model.shape(self.pressures[i], np.minimum(self.sites[i], self.length_m))
        return np.linalg.norm(model_m - self.positions[i], axis=1)


def _bases(v, w, clamped, data):
    """Modes as rows of monomial coefficients: (v or v-1, v) in s/L and (w, w) in q/u."""

    def legendre(order, low, high):
        rows = [
            Legendre.basis(k, domain=[low, high])
            .convert(kind=Polynomial, domain=[-1, 1], window=[-1, 1])
            .coef
            for k in range(order)
        ]
        return np.array([np.pad(row, (0, order - len(row))) for row in rows])

    c = np.pad(legendre(v - 1, 0.0, 1.0), ((0, 0), (1, 0))) if clamped else legendre(v, 0.0, 1.0)
    return c, legendre(w, data.pressures[0] / data.unit_pa, data.pressures[-1] / data.unit_pa)


def _inner(shapes, w):
    """Pressures that can be left out without extrapolating or losing the order w."""
    return range(1, len(shapes) - 1) if w < len(shapes) else range(0)


def _select(data, least, clamped):
    n = len(data.pressures)
    if n < 4:
        raise KinematicsError(
            f'{n} pressures: choosing the orders needs at least 4; give more shapes or the orders'
        )
    table = {}
    for v in range(least, min(LARGEST_ORDERS[0], data.points_per_shape - 1) + 1):
        for w in range(2, min(LARGEST_ORDERS[1], n - 1) + 1):
            folds = [
                (data.fit((v, w), clamped, [j for j in range(n) if j != i], exact=False), i)
                for i in range(1, n - 1)
            ]
            table[v, w] = _rms([data.errors(model, i) for model, i in folds])
    enough = NEARLY_BEST * min(table.values())
    return min(
        (orders for orders in table if table[orders] <= enough),
        key=lambda o: (o[0] * o[1], table[o]),
    ), table


def _rms(errors) -> float:
    return float(np.sqrt(np.mean(np.concatenate(list(errors)) ** 2)))
