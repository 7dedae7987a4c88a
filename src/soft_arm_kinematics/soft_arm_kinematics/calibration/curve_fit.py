"""Fit of one actuator's curve: family with the smallest held-out error, confidence and hysteresis.

Every fold leaves out one pressure (every tenth of more than ten), but never an end of the range,
since predicting it would be extrapolation. The jackknife of the confidence leaves out the ends too.
"""

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from soft_arm_io.fields import NonNegative, Number, Strict
from soft_arm_kinematics.calibration.curve_families import FAMILIES, Family, Kind, made
from soft_arm_kinematics.errors import CurveError

CONFIDENCE_POINTS = 9
MAX_FOLDS = 10
NEARLY_BEST = 1.02  # a later family is taken only if its held-out error is smaller by this factor

_AnyCurve = Annotated[Family, Field(discriminator='family')]
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
    residual_rms: NonNegative
    residual_max: NonNegative
    held_out_rms: dict[str, NonNegative | None] = {}
    confidence_pressures_pa: tuple[Number, ...] = ()
    confidence_95: tuple[NonNegative, ...] = ()
    up: _AnyCurve | None = None
    down: _AnyCurve | None = None
    hysteresis_max: NonNegative | None = None

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
    return made(
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
            return None  # the family fails on part of the data
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
    count = min(len(pressures), MAX_FOLDS)
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
