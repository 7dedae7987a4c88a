"""Work arrays of the compiled solver, for `WIDTH` starts at once."""

from typing import NamedTuple

import numpy as np

from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_kinematics.backends.vectors import INNER, WIDTH, as_vectors


class Batch(NamedTuple):
    """Work arrays of vectors for s segments and n coordinates.

    `numbers` and `values` are views of the memory of x and value as single numbers.
    """

    numbers: np.ndarray  # (n, WIDTH)
    values: np.ndarray  # (6, WIDTH)
    x: np.ndarray  # q, (n,)
    value: np.ndarray  # (6,) results of single numbers
    current: np.ndarray  # q (n,) that error and jacobian belong to
    error: np.ndarray  # (6,)
    jacobian: np.ndarray  # (n, 6) by shares of the ranges
    trial_error: np.ndarray  # (6,) at x
    trial_jacobian: np.ndarray  # (n, 6) at x
    white: np.ndarray  # (n, 6) Jacobian in coordinates in which the steps' weight is 1
    gradient: np.ndarray  # (n, 1) gradient in the same coordinates
    gram: np.ndarray  # (6, 6)
    multiplier: np.ndarray  # (6, 1)
    step: np.ndarray  # (n, 1) as shares of the ranges
    free: np.ndarray  # (n,) 1, or 0 where a limit holds the coordinate
    share: np.ndarray  # (n,) x as shares of the ranges
    below: np.ndarray  # (n,) multipliers of the lower limits
    above: np.ndarray  # (n,) of the upper limits
    hessian: np.ndarray  # (n, n) of the score, lower half
    bends: np.ndarray  # (s, 2) bending vectors


@njit(**INNER)
def make_batch(chain):
    """Work arrays for an arm."""
    s, n = chain.kinds.size, chain.low.size
    numbers, values = np.zeros((n, WIDTH)), np.zeros((6, WIDTH))
    return Batch(
        numbers=numbers,
        values=values,
        x=as_vectors(numbers),
        value=as_vectors(values),
        current=as_vectors(np.zeros((n, WIDTH))),
        error=as_vectors(np.zeros((6, WIDTH))),
        jacobian=as_vectors(np.zeros((n, 6, WIDTH))),
        trial_error=as_vectors(np.zeros((6, WIDTH))),
        trial_jacobian=as_vectors(np.zeros((n, 6, WIDTH))),
        white=as_vectors(np.zeros((n, 6, WIDTH))),
        gradient=as_vectors(np.zeros((n, 1, WIDTH))),
        gram=as_vectors(np.zeros((6, 6, WIDTH))),
        multiplier=as_vectors(np.zeros((6, 1, WIDTH))),
        step=as_vectors(np.zeros((n, 1, WIDTH))),
        free=as_vectors(np.zeros((n, WIDTH))),
        share=as_vectors(np.zeros((n, WIDTH))),
        below=as_vectors(np.zeros((n, WIDTH))),
        above=as_vectors(np.zeros((n, WIDTH))),
        hessian=as_vectors(np.zeros((n, n, WIDTH))),
        bends=as_vectors(np.zeros((s, 2, WIDTH))),
    )
