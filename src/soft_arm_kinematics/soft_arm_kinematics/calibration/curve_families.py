"""Families of rising pressure curves: fit, values, slopes and inverse.

    exponential      y_0 + s (exp(k p) - 1) / k: three parameters, analytic in both directions
    cubic            sum_i c_i (p / u)^i, as in the gripper paper; refused if it falls in the range
    monotone_spline  monotone piecewise cubic (PCHIP) through the isotonic regression of the means

y is a length [m] or an angle [rad], p gauge pressure [Pa].
"""

from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Literal, TypeVar

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval, polyvander
from pydantic import Field, ValidationError, model_validator
from scipy.interpolate import PchipInterpolator
from scipy.optimize import isotonic_regression, least_squares

from soft_arm_io.fields import Number, Strict
from soft_arm_io.yaml_file import validation_message
from soft_arm_kinematics.errors import CurveError

MAX_RATIO = 1e3  # of the slopes at the two ends of the data: beyond it the inverse is noise
BISECTIONS = 60


class Exponential(Strict):
    """Value y_0 [m or rad] and slope [per Pa] at ambient pressure, growth k [1/Pa].

    `PressureLengthCurve` constructs one with arrays (n,), for n curves at once.
    """

    family: Literal['exponential'] = 'exponential'
    value_0: Number
    slope_0: Number
    growth_per_pa: Annotated[Number, Field(ge=-5e-4, le=5e-4)]

    @classmethod
    def fit(cls, pressures_pa: np.ndarray, values: np.ndarray) -> 'Exponential':
        """Fit by least squares; exact through three points.

        Raises:
            CurveError: If there are fewer than three pressures or no rising exponential fits.
        """
        p, y = np.asarray(pressures_pa, dtype=float), np.asarray(values, dtype=float)
        if len(np.unique(p)) < 3:
            raise CurveError(f'{len(np.unique(p))} different pressures: a curve needs at least 3')
        scale, bound = np.ptp(p), np.log(MAX_RATIO)

        def linear_fit(growth: float) -> tuple[np.ndarray, np.ndarray]:
            """Return the other two parameters, which are linear, and the residuals."""
            design = np.stack([np.ones_like(p), _stretched(growth, p / scale)], axis=1)
            solution, *_ = np.linalg.lstsq(design, y, rcond=None)
            return solution, design @ solution - y

        grid = np.linspace(-bound, bound, 29)
        start = grid[np.argmin([np.square(linear_fit(g)[1]).sum() for g in grid])]
        found = least_squares(
            lambda x: linear_fit(x[0])[1] / (np.ptp(y) or 1.0),
            [start],
            bounds=(-bound, bound),
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        )
        growth = float(found.x[0])
        (value_0, slope), _ = linear_fit(growth)
        if not slope > 0.0 or abs(growth) > 0.999 * bound:
            raise CurveError(
                f'no rising curve fits: slope {slope / scale:.3g} per Pa with a ratio '
                f'{np.exp(abs(growth)):.3g} between its ends (limit {MAX_RATIO:g}); check the '
                'units (Pa, m) and the sign of the pressures'
            )
        return made(
            cls,
            value_0=float(value_0),
            slope_0=float(slope / scale),
            growth_per_pa=growth / float(scale),
        )

    def values(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Values y at pressures p, any shape."""
        return self.value_0 + self.slope_0 * _stretched(self.growth_per_pa, pressures_pa)

    def slopes(self, pressures_pa: np.ndarray) -> np.ndarray:
        """dy/dp at p, any shape."""
        return self.slope_0 * np.exp(self.growth_per_pa * np.asarray(pressures_pa))

    def pressures(self, values: np.ndarray, limits_pa: np.ndarray) -> np.ndarray:
        """Pressures inside limits_pa (low, high) [Pa] at values y, any shape; analytic."""
        strain, k = (np.asarray(values) - self.value_0) / self.slope_0, self.growth_per_pa
        bent = np.log1p(k * strain) / np.where(k == 0.0, 1.0, k)
        return np.clip(np.where(k == 0.0, strain, bent), *limits_pa)


class Cubic(Strict):
    """Coefficients (c_0 .. c_3) [m or rad] of powers of p / pressure_unit_pa."""

    family: Literal['cubic'] = 'cubic'
    coefficients: tuple[Number, Number, Number, Number]
    pressure_unit_pa: Annotated[Number, Field(gt=0)]

    @classmethod
    def fit(cls, pressures_pa: np.ndarray, values: np.ndarray) -> 'Cubic':
        """Fit by least squares.

        Raises:
            CurveError: If there are fewer than four pressures or the fit falls between them.
        """
        p = np.asarray(pressures_pa, dtype=float)
        if len(np.unique(p)) < 4:
            raise CurveError(f'{len(np.unique(p))} different pressures: a cubic needs at least 4')
        unit_pa = float(np.abs(p).max())
        design = polyvander(p / unit_pa, 3)
        coefficients, *_ = np.linalg.lstsq(design, np.asarray(values, dtype=float), rcond=None)
        curve = made(cls, coefficients=tuple(coefficients.tolist()), pressure_unit_pa=unit_pa)
        slope = polyder(coefficients)
        turning = -slope[1] / (2.0 * slope[2]) * unit_pa if slope[2] else p.min()
        if not (curve.slopes(np.clip([p.min(), turning, p.max()], p.min(), p.max())) > 0.0).all():
            raise CurveError(
                f'the cubic does not rise everywhere in {p.min():.6g}..{p.max():.6g} Pa: '
                'it has no inverse there; use another family'
            )
        return curve

    def values(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Values y at pressures p, any shape."""
        return polyval(np.asarray(pressures_pa) / self.pressure_unit_pa, self.coefficients)

    def slopes(self, pressures_pa: np.ndarray) -> np.ndarray:
        """dy/dp at p, any shape."""
        powers = np.asarray(pressures_pa) / self.pressure_unit_pa
        return polyval(powers, polyder(np.array(self.coefficients))) / self.pressure_unit_pa

    def pressures(self, values: np.ndarray, limits_pa: np.ndarray) -> np.ndarray:
        """Pressures inside limits_pa (low, high) [Pa] at values y, any shape."""
        return _bisect(self.values, values, limits_pa)


class MonotoneSpline(Strict):
    """Knots, rising in both; straight beyond the ends."""

    family: Literal['monotone_spline'] = 'monotone_spline'
    knot_pressures_pa: Annotated[tuple[Number, ...], Field(min_length=3, max_length=1000)]
    knot_values: Annotated[tuple[Number, ...], Field(min_length=3, max_length=1000)]

    @model_validator(mode='after')
    def _check(self) -> 'MonotoneSpline':
        if len(self.knot_pressures_pa) != len(self.knot_values):
            raise ValueError('knot_pressures_pa and knot_values: give as many of each')
        for knots in (self.knot_pressures_pa, self.knot_values):
            if not (np.diff(knots) > 0.0).all():
                raise ValueError('knot_pressures_pa and knot_values must rise from knot to knot')
        return self

    @classmethod
    def fit(cls, pressures_pa: np.ndarray, values: np.ndarray) -> 'MonotoneSpline':
        """Fit by isotonic regression.

        Raises:
            CurveError: If there are fewer than three pressures, or the data do not rise from end to
                end.
        """
        p, which, counts = np.unique(pressures_pa, return_inverse=True, return_counts=True)
        if len(p) < 3:
            raise CurveError(f'{len(p)} different pressures: a spline needs at least 3')
        means = isotonic_regression(np.bincount(which, values) / counts, weights=counts).x
        # pressures with one mean become one knot, or the inverse would not exist
        kept = np.concatenate([[True], np.diff(means) > 0.0])
        kept[-1] = True
        if kept.sum() < 3 or not means[-1] > means[-2]:
            raise CurveError(
                'the data do not rise with pressure up to the end of their range: no inverse there'
            )
        return made(
            cls, knot_pressures_pa=tuple(p[kept].tolist()), knot_values=tuple(means[kept].tolist())
        )

    @cached_property
    def _spline(self) -> PchipInterpolator:
        return PchipInterpolator(self.knot_pressures_pa, self.knot_values)

    def _clip(self, pressures_pa: np.ndarray) -> np.ndarray:
        return np.clip(pressures_pa, self.knot_pressures_pa[0], self.knot_pressures_pa[-1])

    def values(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Values y at pressures p, any shape."""
        inside = self._clip(pressures_pa)
        return self._spline(inside) + (pressures_pa - inside) * self._spline(inside, 1)

    def slopes(self, pressures_pa: np.ndarray) -> np.ndarray:
        """dy/dp at p, any shape."""
        return self._spline(self._clip(pressures_pa), 1)

    def pressures(self, values: np.ndarray, limits_pa: np.ndarray) -> np.ndarray:
        """Pressures inside limits_pa (low, high) [Pa] at values y, any shape."""
        return _bisect(self.values, values, limits_pa)


Family = Exponential | Cubic | MonotoneSpline
Kind = type[Exponential] | type[Cubic] | type[MonotoneSpline]
FAMILIES: dict[str, Kind] = {
    'exponential': Exponential,
    'cubic': Cubic,
    'monotone_spline': MonotoneSpline,
}


_Model = TypeVar('_Model', bound=Strict)


def made(model: type[_Model], **values: object) -> _Model:
    """Make a curve or a fit. Raises CurveError where a value is outside its limits."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise CurveError(f'no curve fits the data: {validation_message(error)}') from error


def _stretched(growth: float | np.ndarray, pressures: np.ndarray) -> np.ndarray:
    """(exp(k p) - 1) / k, which is p where k is 0."""
    p = np.asarray(pressures, dtype=float)
    return np.where(growth == 0.0, p, np.expm1(growth * p) / np.where(growth == 0.0, 1.0, growth))


def _bisect(
    values_at: Callable[[np.ndarray], np.ndarray], values: np.ndarray, limits_pa: np.ndarray
) -> np.ndarray:
    low, high = (np.full(np.shape(values), limit, dtype=float) for limit in limits_pa)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        above = values_at(middle) > values
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return 0.5 * (low + high)
