"""Recordings at a constant rate, for models in discrete time."""

from dataclasses import dataclass

import numpy as np

from soft_arm_identification.arm_sections import ArmSections
from soft_arm_identification.errors import RecordingError
from soft_arm_identification.models.model import Scaling
from soft_arm_identification.recording import Recording

STEP_S = 0.05


@dataclass(frozen=True)
class Grid:
    """A recording at a constant rate; of an arm at rest, its samples as they are.

    Attributes:
        times_s: Shape (g,).
        inputs: Scaled inputs, shape (g, k).
        tip_m: Tip, interpolated where it is lost, shape (g, 3).
        known: Whether the tip is measured near, shape (g,).
    """

    times_s: np.ndarray
    inputs: np.ndarray
    tip_m: np.ndarray
    known: np.ndarray

    @classmethod
    def of(cls, arm: ArmSections, scaling: Scaling, recording: Recording) -> 'Grid':
        """Resample a recording linearly; raise RecordingError if it has no tip."""
        times_s, inputs = recording.time_s, scaling.inputs(arm, recording)
        known = np.isfinite(recording.tip_m[:, 0])
        if not known.any():
            raise RecordingError(f'{recording.name}: the tip is lost in all samples')
        grid_s = times_s
        if not arm.at_rest:
            grid_s = np.arange(times_s[0], times_s[-1] + STEP_S, STEP_S)
        nearest = np.clip(np.searchsorted(times_s, grid_s), 0, len(times_s) - 1)
        tip_m = [np.interp(grid_s, times_s[known], axis[known]) for axis in recording.tip_m.T]
        inputs = np.column_stack([np.interp(grid_s, times_s, column) for column in inputs.T])
        return cls(grid_s, inputs, np.column_stack(tip_m), known[nearest])

    def at(self, times_s: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Interpolate values (g, 3) of the grid at times (n,)."""
        return np.column_stack([np.interp(times_s, self.times_s, column) for column in values.T])

    def steps(self, recording: Recording, horizon: int) -> int:
        """Return the steps of the grid after which a prediction is `horizon` samples ahead.

        A position on the grid contains the sample after it, and a prediction between two steps the
        later one: both are left out.
        """
        if np.array_equal(self.times_s, recording.time_s):
            return horizon
        longest_s = float(np.diff(recording.time_s).max())
        return 1 + int(np.ceil((horizon + 1) * longest_s / STEP_S))
