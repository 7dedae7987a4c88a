"""Bending stiffness from a loaded cantilever, actuation torque from blocked force.

Planar, without gravity: deflections are counted from the unloaded shape.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import least_squares
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc
from scipy.stats import t as student_t

from soft_arm_description.segments import TorqueSegment
from soft_arm_io.csv_file import csv_rows
from soft_arm_physics.errors import PhysicsError

MIN_POINTS = 3
MAX_SLOPE_RAD = 1.5  # of the tip: with more the load pulls along the beam and says little
BLOCKED_SHARE = {'straight': 1.0, 'tip': 2.0 / 3.0}
"""M / (F L): of a finger that is held straight, and of one whose tip alone is held.

Held at the tip alone, M L^2 / (2 EI) = F L^3 / (3 EI).
"""


@dataclass(frozen=True)
class Line:
    """A fitted number.

    Attributes:
        value: What was sought.
        standard_error: Of the value.
        confidence_95: Half width of its 95 % interval, by Student's t.
        offset: What is measured at zero: of the ruler [m], or a moment [N m].
        offset_confidence_95: Half width of its 95 % interval.
        residuals: Measured less fitted, shape (points,), in the unit of what was measured.
    """

    value: float
    standard_error: float
    confidence_95: float
    offset: float
    offset_confidence_95: float
    residuals: np.ndarray

    @property
    def rms(self) -> float:
        """Root mean square of the residuals."""
        return float(np.sqrt(np.mean(self.residuals**2)))


def read_pairs(path: str | Path, *columns: str) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of a CSV as arrays of shape (points,).

    Raises:
        PhysicsError: If it cannot be read, a column is missing or not a number, or points are too
            few or equal.
    """
    with csv_rows(path, PhysicsError, *columns) as (_, rows):
        first, second = (np.array([row.number(c) for row in rows]) for c in columns)
    if len(first) < MIN_POINTS or np.ptp(first) == 0.0:
        raise PhysicsError(
            f'{path}: {len(first)} points with {columns[0]} {np.unique(first)[:1]}: give at least '
            f'{MIN_POINTS}, with different {columns[0]}'
        )
    return first, second


def cantilever_deflection(load_n: np.ndarray, length_m: float, bending_n_m2: float) -> np.ndarray:
    """Deflection of the tip across an elastic cantilever, also where it is large [m].

    The elastica in elliptic integrals (K. E. Bisshopp and D. C. Drucker, Large deflection of
    cantilever beams, 1945). The load keeps its direction. For small loads F L^3 / (3 EI).

    Args:
        load_n: Force across the straight beam at its tip, shape (n,).
        length_m: Length of the beam.
        bending_n_m2: EI.

    Raises:
        PhysicsError: If a load would bend the tip by more than `MAX_SLOPE_RAD`.
    """
    share, largest = _elastica()
    alpha = np.asarray(load_n) * length_m**2 / bending_n_m2
    if np.abs(alpha).max() > largest:
        raise PhysicsError(
            f'load {np.abs(load_n).max():g} N bends a beam of {length_m:g} m and EI '
            f'{bending_n_m2:.3g} N m^2 by more than {np.degrees(MAX_SLOPE_RAD):.0f} deg: leave '
            'such loads out'
        )
    return np.sign(alpha) * length_m * share(np.abs(alpha))


@cache
def _elastica() -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """Deflection / length as a function of F L^2 / EI, and the largest F L^2 / EI."""
    slope = np.linspace(0.01, MAX_SLOPE_RAD, 400)
    m = (1.0 + np.sin(slope)) / 2.0
    start = np.arcsin(1.0 / np.sqrt(2.0 * m))
    root = ellipk(m) - ellipkinc(start, m)
    share = 1.0 - 2.0 / root * (ellipe(m) - ellipeinc(start, m))
    alpha = np.concatenate([[0.0], root**2])
    return CubicSpline(alpha, np.concatenate([[0.0], share])), float(alpha[-1])


def fit_cantilever(load_n: np.ndarray, deflection_m: np.ndarray, length_m: float) -> Line:
    """Bending stiffness EI [N m^2] of a cantilever from tip loads and deflections, shape (n,).

    Raises:
        PhysicsError: If the deflections do not grow with the load, or reach the beam's length.
    """
    slope, _ = np.polyfit(load_n, deflection_m, 1)
    reach_m = np.ptp(deflection_m)
    if not slope > 0.0:
        raise PhysicsError(
            f'the deflection changes by {slope:.3g} m/N: it must grow with the load; count both in '
            'the same direction'
        )
    if not reach_m < 2.0 * length_m:
        raise PhysicsError(
            f'deflections of {reach_m:g} m of a beam of {length_m:g} m: correct length or unit'
        )
    largest = _elastica()[1]
    least = np.abs(load_n).max() * length_m**2 / largest * (1.0 + 1e-9)
    begin = max(length_m**3 / (3.0 * slope), 1.1 * least)

    def residuals(parameters: np.ndarray) -> np.ndarray:
        return (
            deflection_m
            - parameters[1]
            - cantilever_deflection(load_n, length_m, float(np.exp(parameters[0])))
        )

    found = least_squares(
        residuals,
        [np.log(begin), 0.0],
        bounds=([np.log(least), -length_m], [np.inf, length_m]),
        x_scale=[1.0, length_m],
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
    )
    errors = _standard_errors(found.jac, found.fun)
    stiffness = float(np.exp(found.x[0]))
    return _line(stiffness, stiffness * errors[0], found.x[1], errors[1], found.fun)


def hinge_stiffness_n_m_rad(segment: TorqueSegment, name: str, bending_n_m2: float) -> float:
    """Stiffness of hinges of one name with which a load at the tip bends the segment like a beam.

    Each hinge at s gives the tip F (L - s)^2 / k, in all F L^3 / (3 EI). Where the hinges are in
    the middles of n equal parts of length l, that is k = EI / l (1 - 1 / (4 n^2)).

    Args:
        segment: The segment; other hinges are taken for rigid.
        name: Name of the hinges.
        bending_n_m2: EI of the beam.
    """
    names = np.array([hinge.name for hinge in segment.section_hinges])
    to_tip = 1.0 - (np.flatnonzero(names == name) + 0.5) / segment.sections
    return float(3.0 * bending_n_m2 / segment.length_m * np.sum(to_tip**2))


def fit_blocked_force(drive: np.ndarray, force_n: np.ndarray, length_m: float, held: str) -> Line:
    """Actuation moment for each unit of drive (N m/Pa of a pressure), shape (n,) each.

    Args:
        drive: Pressure [Pa] or commanded torque [N m].
        force_n: Force across the finger at its tip.
        length_m: From the clamp to the tip.
        held: How the finger was held; see `BLOCKED_SHARE`.
    """
    moment = BLOCKED_SHARE[held] * length_m * force_n
    model = np.column_stack([drive, np.ones_like(drive)])
    (slope, offset), *_ = np.linalg.lstsq(model, moment)
    residuals = moment - model @ [slope, offset]
    errors = _standard_errors(model, residuals)
    return _line(float(slope), errors[0], float(offset), errors[1], residuals)


def _standard_errors(jacobian: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    """Of the two parameters, from the linear covariance."""
    variance = residuals @ residuals / (len(residuals) - 2)
    return np.sqrt(variance * np.diag(np.linalg.inv(jacobian.T @ jacobian)))


def _line(
    value: float, error: float, offset: float, offset_error: float, residuals: np.ndarray
) -> Line:
    width = float(student_t.ppf(0.975, len(residuals) - 2))
    return Line(
        value, float(error), width * float(error), offset, width * float(offset_error), residuals
    )
