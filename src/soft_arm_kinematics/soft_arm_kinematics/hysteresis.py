"""The play operator, of which Prandtl-Ishlinskii models of hysteresis are made."""

import numpy as np


def play(value: np.ndarray, threshold: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the play operator's output, in the unit of its input; arguments broadcast.

    The output stays where it was while the input moves within `threshold` to either side of it, and
    is dragged along beyond. After a monotone change it depends on the last input alone. Scalars
    work too, and the function compiles. Source: Krejci and Kuhnen 2001, (4).

    Args:
        value: Input.
        threshold: Half the width of the play, >= 0.
        before: Output before this change of the input.
    """
    return np.maximum(value - threshold, np.minimum(value + threshold, before))
