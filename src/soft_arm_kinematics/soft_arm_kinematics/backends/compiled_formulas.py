"""`segments.formulas` compiled for `WIDTH` poses at once; batches of poses and Jacobians."""

import numpy as np
from numba import prange

from soft_arm_kinematics.backends import vectors
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_kinematics.backends.vectors import COMPILED, INLINED, INNER, WIDTH, as_vectors
from soft_arm_kinematics.segments import formulas

_formulas = formulas.derived(vectors, njit(**INLINED))
advance, bend, bend_slope = _formulas.advance, _formulas.bend, _formulas.bend_slope
move_to_tip, ik_penalties = _formulas.move_to_tip, _formulas.ik_penalties
_CHUNK = 16 * WIDTH  # poses that share their work arrays


@njit(**INLINED)
def identity(x):
    """The frame of the base, as vectors."""
    zero = 0.0 * x[0]
    one = zero + 1.0
    return one, zero, zero, zero, one, zero, zero, zero, one, zero, zero, zero


@njit(**INLINED)
def frame_and_jacobian(chain, x, jacobian):
    """Frame of the tip at x, and its twists by the coordinates in jacobian (n, 6)."""
    frame = identity(x)
    for j in range(chain.low.size):
        for r in range(6):
            jacobian[j, r] = 0.0 * x[0]
    for i in range(chain.kinds.size):
        frame = advance(chain, i, x, frame, jacobian)
    move_to_tip(jacobian, chain.low.size, frame)
    return frame


@njit(**INLINED)
def load(rows, first, numbers):
    """Copy rows (m, n) from `first` on to numbers (n, WIDTH); the last row fills the rest."""
    for k in range(WIDTH):
        row = min(first + k, rows.shape[0] - 1)
        for j in range(rows.shape[1]):
            numbers[j, k] = rows[row, j]


@njit(**INNER)
def _poses_of_chunk(chain, start, q, poses):
    n, total = q.shape[1], q.shape[0]
    numbers, results = np.empty((n, WIDTH)), np.empty((12, WIDTH))
    x, result = as_vectors(numbers), as_vectors(results)
    for first in range(start, min(start + _CHUNK, total), WIDTH):
        load(q, first, numbers)
        frame = identity(x)
        for i in range(chain.kinds.size):
            frame = advance(chain, i, x, frame)
        for row, value in enumerate(frame):
            result[row] = value
        for k in range(min(WIDTH, total - first)):
            pose = poses[first + k]
            for r in range(3):
                for c in range(4):
                    pose[r, c] = results[3 * c + r, k]
            pose[3, 0], pose[3, 1], pose[3, 2], pose[3, 3] = 0.0, 0.0, 0.0, 1.0


@njit(cache=True, parallel=True, **COMPILED)
def poses(chain, q, out):
    """Write T_base_tip (m, 4, 4) at q (m, n) to out."""
    for chunk in prange((q.shape[0] + _CHUNK - 1) // _CHUNK):
        _poses_of_chunk(chain, np.int64(chunk) * _CHUNK, q, out)


@njit(**INNER)
def _jacobians_of_chunk(chain, start, q, out):
    n, total = q.shape[1], q.shape[0]
    numbers, results = np.empty((n, WIDTH)), np.empty((n, 6, WIDTH))
    x, jacobian = as_vectors(numbers), as_vectors(results)
    for first in range(start, min(start + _CHUNK, total), WIDTH):
        load(q, first, numbers)
        frame_and_jacobian(chain, x, jacobian)
        for k in range(min(WIDTH, total - first)):
            for j in range(n):
                for r in range(6):
                    out[first + k, r, j] = results[j, r, k]


@njit(cache=True, parallel=True, **COMPILED)
def twist_jacobians(chain, q, out):
    """Write twist Jacobians (m, 6, n) at q (m, n) to out."""
    for chunk in prange((q.shape[0] + _CHUNK - 1) // _CHUNK):
        _jacobians_of_chunk(chain, np.int64(chunk) * _CHUNK, q, out)
