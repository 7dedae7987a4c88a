"""Power series of the functions of the bend angle, written out for the compiler."""

import math

from soft_arm_kinematics.backends.machine_code import njit


def _horner(coefficients: list[float]) -> str:
    text = repr(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        text = f'({text} * y + {c!r})'
    return text


def polynomials(fastmath: set[str], series: list[tuple[int, int]]):
    """Compiled function of y = t^2 that returns the sums of (-y)^k / (2k + first)! for each (first, number of terms).

    first = 0, 1, 2, 3, 4: cos t, sin t / t, (1 - cos t) / t^2, (t - sin t) / t^3, (1/2 - (1 - cos
    t) / t^2) / t^2. The compiler unrolls a polynomial that is written out, not a loop over an array
    of coefficients, and makes vector instructions of it.
    """
    terms = [
        _horner([(-1.0) ** k / math.factorial(2 * k + first) for k in range(count)])
        for first, count in series
    ]
    scope: dict = {}
    exec(f'def sums(y):\n    return {", ".join(terms)}', scope)  # noqa: S102
    return njit(forceinline=True, fastmath=fastmath)(scope['sums'])
