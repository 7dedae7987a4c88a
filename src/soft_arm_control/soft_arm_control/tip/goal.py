"""Goal of the tip controller: one target of the tip, or a timed path of targets."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from soft_arm_control.errors import GoalError

MAX_PAYLOAD_KG = 10.0


@dataclass(frozen=True)
class Goal:
    """Waypoints of the tip with preferred actuator lengths; a single target is one waypoint.

    Attributes:
        points_m: (k, 3) tip positions, base frame [m].
        lengths_m: (k, n) preferred actuator lengths [m].
        times_s: (k,) from the start [s], strictly increasing; before the first and after the last
            time the target stands still.
        free: (n,) bool, actuators that the feedback may move; the others are held.
        tolerance_m: Distance from the target within which the tip must stay [m].
        timeout_s: Time that the tip has to settle after the last waypoint [s].
        open_loop: Go to the preferred lengths by the model, without feedback from the camera.
        velocity_scaling: Share of the valves' rate limit that the move uses, at most 1.
        payload_kg: Mass at the tip, in addition to the masses in the robot file [kg].
    """

    points_m: np.ndarray
    lengths_m: np.ndarray
    times_s: np.ndarray
    free: np.ndarray
    tolerance_m: float
    timeout_s: float
    open_loop: bool = False
    velocity_scaling: float = 1.0
    payload_kg: float = 0.0

    def __post_init__(self) -> None:
        for name in ('points_m', 'lengths_m', 'times_s', 'tolerance_m', 'timeout_s'):
            if not np.all(np.isfinite(getattr(self, name))):
                raise GoalError(f'{name} {np.asarray(getattr(self, name)).tolist()} must be finite')
        if len(self.points_m) == 0 or len(self.points_m) != len(self.times_s):
            raise GoalError(
                f'{len(self.points_m)} waypoints and {len(self.times_s)} times_s: give the same '
                'number of each, at least 1'
            )
        if self.times_s[0] < 0 or not np.all(np.diff(self.times_s) > 0):
            raise GoalError(
                f'times_s {np.asarray(self.times_s).tolist()} s '
                'must be >= 0 and strictly increasing'
            )
        if not 0.0 < self.velocity_scaling <= 1.0:
            raise GoalError(f'velocity_scaling = {self.velocity_scaling} must be > 0 and at most 1')
        for name in ('tolerance_m', 'timeout_s'):
            if getattr(self, name) <= 0:
                raise GoalError(f'{name} = {getattr(self, name)} must be > 0')

    @property
    def duration_s(self) -> float:
        """Return the time of the last waypoint [s]."""
        return float(self.times_s[-1])

    def at(self, elapsed_s: float) -> tuple[np.ndarray, np.ndarray]:
        """Interpolate linearly between the waypoints `elapsed_s` after the start.

        Returns:
            Target [m], shape (3,), and preferred lengths [m], shape (n,).
        """
        k = bisect_left(self.times_s, elapsed_s)
        if k == 0 or k == len(self.times_s):
            k = min(k, len(self.times_s) - 1)
            return self.points_m[k], self.lengths_m[k]
        share = (elapsed_s - self.times_s[k - 1]) / (self.times_s[k] - self.times_s[k - 1])
        point_m = self.points_m[k - 1] + share * (self.points_m[k] - self.points_m[k - 1])
        lengths_m = self.lengths_m[k - 1] + share * (self.lengths_m[k] - self.lengths_m[k - 1])
        return point_m, lengths_m

    def waypoint(self, elapsed_s: float) -> int:
        """Return the index of the next waypoint; the last one once all have passed."""
        return min(bisect_left(self.times_s, elapsed_s), len(self.times_s) - 1)
