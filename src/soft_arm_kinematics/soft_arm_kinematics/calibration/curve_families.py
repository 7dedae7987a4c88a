"""Families of rising pressure curves, compared by held-out error, with confidence and hysteresis.

    exponential      y_0 + s (exp(k p) - 1) / k: three parameters, analytic in both directions
    cubic            sum_i c_i (p / u)^i, as in the gripper paper; refused if it falls in the range
    monotone_spline  monotone piecewise cubic (PCHIP) through the isotonic regression of the means

y is a length [m] or an angle [rad], p gauge pressure [Pa]. Every fold leaves out one pressure
(every tenth of more than ten), but never an end of the range, since predicting it would be
extrapolation. The jackknife of the confidence leaves out the ends too.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Literal, TypeVar

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval, polyvander
from pydantic import Field, ValidationError, model_validator
from scipy.interpolate import PchipInterpolator
from scipy.optimize import isotonic_regression, least_squares

from soft_arm_description.segments import Strict
from soft_arm_description.yaml_file import Number, validation_message
from soft_arm_kinematics.errors import CurveError

LARGEST_RATIO = 1e3  # of the slopes at the two ends of the data: beyond it the inverse is noise
CONFIDENCE_POINTS = 9
LARGEST_FOLDS = 10
BISECTIONS = 60
NEARLY_BEST = 1.02  # a later family is taken only if its held-out error is smaller by this factor


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
        scale, bound = np.ptp(p), np.log(LARGEST_RATIO)

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
                f'{np.exp(abs(growth)):.3g} between its ends (limit {LARGEST_RATIO:g}); check the '
                'units (Pa, m) and the sign of the pressures'
            )
        return _made(
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
        curve = _made(cls, coefficients=tuple(coefficients.tolist()), pressure_unit_pa=unit_pa)
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
        return _made(
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


_AnyCurve = Annotated[Family, Field(discriminator='family')]
_Error = Annotated[Number, Field(ge=0)]
_Pressure = Annotated[Number, Field(ge=-1e6, le=1e6)]


class CurveFit(Strict):
    """One actuator's curve and what is known about its errors; y is [m] or [rad].

    Attributes:
        curve: Fit to all data.
        pressure_range_pa: Lowest and highest pressure of the data.
        residual_rms, residual_max: Of all data about the curve.
        held_out_rms: Error of each family at pressures left out of its fit; None if a fit fails.
            Empty with fewer than four pressures.
        confidence_pressures_pa, confidence_95: Half width of the 95 % confidence of the curve at
            some pressures; empty as above.
        up, down: The family fitted to the rising and to the falling branch alone; None if a branch
            has too few pressures.
        hysteresis_max: Largest distance between the branches where both were measured; None without
            two branches.
    """

    curve: _AnyCurve
    pressure_range_pa: tuple[_Pressure, _Pressure]
    residual_rms: _Error
    residual_max: _Error
    held_out_rms: dict[str, _Error | None] = {}
    confidence_pressures_pa: tuple[Number, ...] = ()
    confidence_95: tuple[_Error, ...] = ()
    up: _AnyCurve | None = None
    down: _AnyCurve | None = None
    hysteresis_max: _Error | None = None

    @model_validator(mode='after')
    def _check(self) -> 'CurveFit':
        low_pa, high_pa = self.pressure_range_pa
        if not low_pa < high_pa:
            raise ValueError(
                f'pressure_range_pa [{low_pa:g}, {high_pa:g}]: the first must be smaller'
            )
        if not (np.diff(self.curve.values(np.linspace(low_pa, high_pa, 33))) > 0.0).all():
            raise ValueError(f'the curve does not rise over {low_pa:g}..{high_pa:g} Pa')
        return self

    @property
    def family(self) -> str:
        """Name of the curve's family."""
        return self.curve.family


def branches(pressures_pa: np.ndarray) -> np.ndarray:
    """Tell from the order of measurement which data were taken on the way up, (m,) bool.

    A repeated pressure belongs to the branch before it, the first data to the first move.
    """
    steps = np.sign(np.diff(np.asarray(pressures_pa, dtype=float)))
    moving = np.flatnonzero(steps)
    if not moving.size:
        return np.ones(len(pressures_pa), dtype=bool)
    last = np.maximum.accumulate(np.where(steps != 0.0, np.arange(len(steps)), moving[0]))
    return np.concatenate([[steps[moving[0]] > 0], steps[last] > 0])


def fit_best(
    pressures_pa: np.ndarray,
    values: np.ndarray,
    family: str = 'auto',
    rising: np.ndarray | None = None,
) -> CurveFit:
    """Fit one actuator's curve.

    Args:
        pressures_pa: (m,) gauge pressures [Pa], in the order of measurement.
        values: (m,) lengths [m] or angles [rad].
        family: A name in FAMILIES, or `auto`: the one with the smallest held-out error, or the
            exponential if there is none.
        rising: (m,) bool, which data were taken on the way up; from the order when left out.

    Raises:
        CurveError: If the data are not finite or too few, or the family does not fit them.
    """
    p, y = np.asarray(pressures_pa, dtype=float), np.asarray(values, dtype=float)
    if p.shape != y.shape or p.ndim != 1 or len(np.unique(p)) < 3:
        raise CurveError(f'{len(np.unique(p))} different pressures: a curve needs at least 3')
    if not (np.isfinite(p).all() and np.isfinite(y).all()):
        raise CurveError('pressure or value is not finite: remove that row')
    if family != 'auto' and family not in FAMILIES:
        raise CurveError(
            f'family {family!r} is not known: use auto or one of {", ".join(FAMILIES)}'
        )
    enough = len(np.unique(p)) >= 4
    held_out = (
        {name: _held_out_rms(kind, p, y) for name, kind in FAMILIES.items()} if enough else {}
    )
    if family == 'auto':
        family = _best_family(held_out)
    kind = FAMILIES[family]
    curve = kind.fit(p, y)
    error = curve.values(p) - y
    at, half_width = _jackknife(kind, p, y) if enough else (np.empty(0), np.empty(0))
    rising = branches(p) if rising is None else np.asarray(rising, dtype=bool)
    up, down = (_fit_branch(kind, p[chosen], y[chosen]) for chosen in (rising, ~rising))
    return _made(
        CurveFit,
        curve=curve,
        pressure_range_pa=(float(p.min()), float(p.max())),
        residual_rms=float(np.sqrt(np.mean(error**2))),
        residual_max=float(np.abs(error).max()),
        held_out_rms=held_out,
        confidence_pressures_pa=tuple(at.tolist()),
        confidence_95=tuple(half_width.tolist()),
        up=up,
        down=down,
        hysteresis_max=_hysteresis(up, down, p[rising], p[~rising]),
    )


_Model = TypeVar('_Model', bound=Strict)


def _made(model: type[_Model], **values: object) -> _Model:
    """Make a curve or a fit. Raises CurveError where a value is outside its limits."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise CurveError(f'no curve fits the data: {validation_message(error)}') from error


def _best_family(held_out: dict[str, float | None]) -> str:
    usable = {name: error for name, error in held_out.items() if error is not None}
    if not usable:
        return 'exponential'
    enough = NEARLY_BEST * min(usable.values())
    return next(name for name, error in usable.items() if error <= enough)


def _held_out_rms(kind: Kind, p: np.ndarray, y: np.ndarray) -> float | None:
    errors = []
    for left_out in _folds(p, np.unique(p)[1:-1]):
        try:
            fold = kind.fit(p[~left_out], y[~left_out])
        except CurveError:
            return None  # a family that fails on part of the data is no candidate
        errors.append(fold.values(p[left_out]) - y[left_out])
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2)))


def _jackknife(kind: Kind, p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pressures, and half widths of the 95 % confidence there."""
    at, curves = np.linspace(p.min(), p.max(), CONFIDENCE_POINTS), []
    for left_out in _folds(p, np.unique(p)):
        try:
            curves.append(kind.fit(p[~left_out], y[~left_out]).values(at))
        except CurveError:
            return np.empty(0), np.empty(0)
    spread = np.array(curves) - np.mean(curves, axis=0)
    return at, 1.96 * np.sqrt((len(curves) - 1) / len(curves) * np.square(spread).sum(axis=0))


def _folds(p: np.ndarray, pressures: np.ndarray) -> list[np.ndarray]:
    """Return masks (m,) of the data to leave out, each pressure in one of them."""
    count = min(len(pressures), LARGEST_FOLDS)
    return [np.isin(p, pressures[k::count]) for k in range(count)]


def _fit_branch(kind: Kind, p: np.ndarray, y: np.ndarray) -> Family | None:
    try:
        return kind.fit(p, y)
    except (CurveError, ValueError):  # too few pressures
        return None


def _hysteresis(
    up: Family | None, down: Family | None, up_pa: np.ndarray, down_pa: np.ndarray
) -> float | None:
    if up is None or down is None:
        return None
    low, high = max(up_pa.min(), down_pa.min()), min(up_pa.max(), down_pa.max())
    at = np.linspace(low, high, 101)
    return float(np.abs(up.values(at) - down.values(at)).max()) if low < high else None


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
