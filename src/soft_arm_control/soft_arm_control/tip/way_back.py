"""Return to pressures at which the tip is measured, for a goal that starts without a tip pose."""

import numpy as np

# The arm rests while its pressures change by less than this for so long. A tip that is measured in
# passing may be out of view at rest.
MAX_REST_PA = 3.0e3
REST_S = 0.5


class WayBack:
    """Sequence of pressures at which the tip may be measured again.

    The last pressures at which it was measured at rest, or in motion if it never was at rest, then
    the pressures of the goal. A measured tip interrupts the sequence. If the tip is lost again, on
    a way that passes out of view, the rest of the sequence follows.

    Args:
        patience_s: Time without a measured tip after which it is lost, and at rest after which the
            next pressures follow [s].

    Attributes:
        active: Whether the pressures of the sequence are commanded.
    """

    def __init__(self, patience_s: float):
        self.active = False
        self._patience_s = patience_s
        self._seen: tuple[np.ndarray, float] | None = None  # unchanged since this stamp
        self._seen_at_rest_pa: np.ndarray | None = None
        self._left_pa: list[np.ndarray] = []
        self._moving_s = 0.0

    def remember(self, stamp_s: float, pressures_pa: np.ndarray) -> None:
        """Remember pressures [Pa], shape (n,), at which the tip was measured at a stamp [s]."""
        if self._seen is None or np.abs(pressures_pa - self._seen[0]).max() > MAX_REST_PA:
            self._seen = pressures_pa, stamp_s
        elif stamp_s - self._seen[1] >= REST_S:
            self._seen_at_rest_pa = pressures_pa

    def prepare(self, goal_pa: np.ndarray, free: np.ndarray) -> None:
        """Set the sequence of a new goal; it is empty if the tip has never been measured.

        Args:
            goal_pa: Pressures of the goal [Pa], shape (n,).
            free: Chambers that may move; the others have the pressures of the goal, bool, (n,).
        """
        self.end()
        if self._seen is not None:
            last_pa = self._seen[0] if self._seen_at_rest_pa is None else self._seen_at_rest_pa
            self._left_pa = [np.where(free, last_pa, goal_pa), goal_pa]

    def update(self, now_s: float, silence_s: float, start_s: float) -> bool:
        """Begin the sequence when the tip is lost, and interrupt it when it is measured.

        A tip that is lost after it has been measured since the goal started, without a return
        before, is a fault: the sequence does not begin.

        Args:
            now_s: Time [s].
            silence_s: Time since the tip was measured [s].
            start_s: Time at which the goal started [s].

        Returns:
            Whether the sequence is interrupted now.
        """
        if silence_s > self._patience_s:
            if not self.active:
                self.active, self._moving_s = bool(self._left_pa), now_s
            return False
        interrupted, self.active = self.active, False
        if interrupted:
            del self._left_pa[0]
        elif now_s - silence_s > start_s and len(self._left_pa) == 2:
            self._left_pa = []
        return interrupted

    def end(self) -> None:
        """End the sequence."""
        self.active, self._left_pa = False, []

    def wanted_pa(self, now_s: float, *, resting: bool) -> np.ndarray:
        """Return the pressures [Pa] to command at a time [s], shape (n,)."""
        wanted_pa = self._left_pa[0]
        if not resting:
            self._moving_s = now_s
        elif now_s - self._moving_s > self._patience_s:
            del self._left_pa[0]
            self.active, self._moving_s = bool(self._left_pa), now_s
        return wanted_pa
