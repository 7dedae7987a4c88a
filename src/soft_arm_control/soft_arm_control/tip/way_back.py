"""Way back to where the tip is measured again, for a goal that starts while it is not."""

import numpy as np

# The arm rests while its pressures change by less than this for so long. A tip that is measured in
# passing may be out of view at rest.
MAX_REST_PA = 3.0e3
REST_S = 0.5


class WayBack:
    """Pressures at which the tip may be measured again, in the order in which they are tried.

    First those at which it was measured last while the arm rested, then those of the goal.

    Args:
        patience_s: Time at rest [s] after which the next ones are tried.
    """

    def __init__(self, patience_s: float):
        self._patience_s = patience_s
        self._seen: tuple[np.ndarray, float] | None = None  # unchanged since this stamp
        self._seen_at_rest_pa: np.ndarray | None = None
        self._left_pa: list[np.ndarray] = []
        self._moving_s = 0.0

    @property
    def active(self) -> bool:
        """Return whether there are pressures left to try."""
        return bool(self._left_pa)

    def remember(self, stamp_s: float, pressures_pa: np.ndarray) -> None:
        """Remember pressures [Pa], shape (n,), at which the tip was measured at a stamp [s]."""
        if self._seen is None or np.abs(pressures_pa - self._seen[0]).max() > MAX_REST_PA:
            self._seen = pressures_pa, stamp_s
        elif stamp_s - self._seen[1] >= REST_S:
            self._seen_at_rest_pa = pressures_pa

    def begin(self, goal_pa: np.ndarray, now_s: float) -> None:
        """Begin; without a tip that has ever been measured at rest there is no way."""
        if self._seen_at_rest_pa is not None:
            self._left_pa, self._moving_s = [self._seen_at_rest_pa, goal_pa], now_s

    def end(self) -> None:
        """End: the tip is measured again, or the goal has ended."""
        self._left_pa = []

    def wanted_pa(self, now_s: float, *, resting: bool) -> np.ndarray:
        """Return the pressures [Pa] to command at a time [s], shape (n,)."""
        wanted_pa = self._left_pa[0]
        if not resting:
            self._moving_s = now_s
        elif now_s - self._moving_s > self._patience_s:
            del self._left_pa[0]
            self._moving_s = now_s
        return wanted_pa
