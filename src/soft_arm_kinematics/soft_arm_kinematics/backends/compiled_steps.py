"""Damped least-squares steps of the compiled solver, by Cholesky factors of small matrices."""

from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_kinematics.backends.vectors import INNER, sqrt, where


@njit(**INNER)
def factorise(a, size):
    """Replace a symmetric matrix by its lower Cholesky factor, the diagonal inverted."""
    for r in range(size):
        for c in range(r + 1):
            total = a[r, c]
            for m in range(c):
                total = total - a[r, m] * a[c, m]
            a[r, c] = (
                1.0 / sqrt(where(total > 1e-300, total, 1e-300)) if r == c else total * a[c, c]
            )


@njit(**INNER)
def solve_lower(factor, b, column, size):
    """Replace a column of b by the solution of L x = b."""
    for r in range(size):
        total = b[r, column]
        for m in range(r):
            total = total - factor[r, m] * b[m, column]
        b[r, column] = total * factor[r, r]


@njit(**INNER)
def solve_upper(factor, b, column, size):
    """Replace a column of b by the solution of L' x = b."""
    for r in range(size - 1, -1, -1):
        total = b[r, column]
        for m in range(r + 1, size):
            total = total - factor[m, r] * b[m, column]
        b[r, column] = total * factor[r, r]


@njit(**INNER)
def damped_step(w, n, rows, damping):
    """Compute the step d that minimises |d + gradient|^2 with white' d = error but for the damping.

    Args:
        w: Batch; white, gradient and error are read, step is written.
        n, rows: Numbers of coordinates and of rows of the task.
        damping: Share of the mean square of the rows of white.
    """
    trace = 0.0 * damping
    for r in range(rows):
        for c in range(r + 1):
            total = w.white[0, r] * w.white[0, c]
            for j in range(1, n):
                total = total + w.white[j, r] * w.white[j, c]
            w.gram[r, c] = total
        trace = trace + w.gram[r, r]
        total = w.error[r]
        for j in range(n):
            total = total + w.white[j, r] * w.gradient[j, 0]
        w.multiplier[r, 0] = total
    for r in range(rows):
        w.gram[r, r] = w.gram[r, r] + (damping * trace * (1.0 / rows) + 1e-14)
    factorise(w.gram, rows)
    solve_lower(w.gram, w.multiplier, 0, rows)
    solve_upper(w.gram, w.multiplier, 0, rows)
    for j in range(n):
        total = -w.gradient[j, 0]
        for r in range(rows):
            total = total + w.white[j, r] * w.multiplier[r, 0]
        w.step[j, 0] = total
