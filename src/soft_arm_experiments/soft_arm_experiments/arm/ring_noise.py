"""Calibration `ring_noise`: errors of the tip position that camera and detector measure.

The error of an image is affine in the position, due to errors of the camera's pose and depth scale,
plus noise with a small correlation between successive images.
"""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from soft_arm_description.calibration import Values
from soft_arm_io.fields import Number

Vector = tuple[Number, Number, Number]
Matrix = tuple[Vector, Vector, Vector]


class RingNoise(Values):
    """Errors of the measured ring centre in the base frame.

    `error = offset_m + slope (place - middle_m) + noise`, with the covariance of the noise and its
    correlation between successive images. `stated_covariance_m2` is the mean covariance that the
    detector reports.
    """

    kind: ClassVar[str] = 'ring_noise'
    middle_m: Vector
    offset_m: Vector
    slope: Matrix
    covariance_m2: Matrix
    correlation: Annotated[Number, Field(gt=-1, lt=1)]
    stated_covariance_m2: Matrix

    def errors(self, random: np.random.Generator) -> 'RingErrors':
        """Return a random sequence of errors."""
        return RingErrors(self, random)


class RingErrors:
    """Errors of successive images.

    Attributes:
        covariance_m2: Covariance that the detector reports [m^2], (3, 3).
    """

    def __init__(self, noise: RingNoise, random: np.random.Generator):
        self.covariance_m2 = np.array(noise.stated_covariance_m2)
        self._middle_m, self._offset_m = np.array(noise.middle_m), np.array(noise.offset_m)
        self._slope, self._kept = np.array(noise.slope), noise.correlation
        self._factor = np.linalg.cholesky(np.array(noise.covariance_m2))
        self._random = random
        self._noise = random.standard_normal(3)

    def at(self, place_m: np.ndarray) -> np.ndarray:
        """Return the error [m], (3,), of the next image at a true position [m], (3,)."""
        fresh = np.sqrt(1.0 - self._kept**2) * self._random.standard_normal(3)
        self._noise = self._kept * self._noise + fresh
        affine_m = self._offset_m + self._slope @ (place_m - self._middle_m)
        return affine_m + self._factor @ self._noise


def fitted(
    places_m: np.ndarray, errors_m: np.ndarray, stated_m2: np.ndarray
) -> tuple[RingNoise, dict[str, float]]:
    """Fit the model to measured errors by least squares.

    Args:
        places_m, errors_m: True centres and errors of successive images [m], (k, 3).
        stated_m2: Covariances that the detector reported [m^2], (k, 3, 3).

    Returns:
        The model, and the standard deviation of its noise on each axis of the base frame.
    """
    middle_m = places_m.mean(axis=0)
    columns = np.hstack((np.ones((len(places_m), 1)), places_m - middle_m))
    affine = np.linalg.lstsq(columns, errors_m, rcond=None)[0]
    noise_m = errors_m - columns @ affine
    covariance_m2 = noise_m.T @ noise_m / (len(noise_m) - len(affine))
    correlation = float(np.sum(noise_m[1:] * noise_m[:-1]) / np.sum(noise_m**2))
    values = RingNoise(
        middle_m=_vector(middle_m),
        offset_m=_vector(affine[0]),
        slope=_matrix(affine[1:].T),
        covariance_m2=_matrix(covariance_m2),
        correlation=_rounded(correlation),
        stated_covariance_m2=_matrix(stated_m2.mean(axis=0)),
    )
    deviations_m = np.sqrt(np.diag(covariance_m2))
    return values, {f'sigma_{a}_m': _rounded(s) for a, s in zip('xyz', deviations_m, strict=True)}


def _rounded(value: float) -> float:
    return float(f'{value:.4g}')


def _vector(values: np.ndarray) -> Vector:
    x, y, z = map(_rounded, values)
    return x, y, z


def _matrix(values: np.ndarray) -> Matrix:
    x, y, z = map(_vector, values)
    return x, y, z
