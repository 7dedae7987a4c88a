"""Identify an arm of bellows from recordings of its motion."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_identification.errors import RecordingError
from soft_arm_identification.identify.bellows_model import BellowsModel
from soft_arm_identification.identify.estimate import Estimate, estimate
from soft_arm_identification.identify.valve_model import ValveModel
from soft_arm_identification.recording import Recording

FIRST_ERROR_M, FIRST_ERROR_PA = 5e-3, 2e3
HELD_OUT = 0.2  # of the last recording, if it is the only one
MIN_SAMPLES = 100


@dataclass(frozen=True)
class Identified:
    """An identified arm.

    Attributes:
        robot: Robot file with the rough values.
        tip: Parameters by the errors of the tip.
        valves: Parameters by the errors of the pressures; None where these were not measured.
        pressures_pa: Lowest and highest pressure of each chamber in the recordings, (2, n).
        held_out: Name of the recording, or of its end, that was not used.
        held_out_m: Measured and predicted tips there, (2, m, 3).
        before_m: Predicted tips there with the rough values, (m, 3).
        causes_m: Rms error of the used tips without a part of the model, by its name; '' is the
            whole model.
    """

    robot: Robot
    tip: Estimate
    valves: Estimate | None
    pressures_pa: np.ndarray
    held_out: str
    held_out_m: np.ndarray
    before_m: np.ndarray
    causes_m: dict[str, float]

    @property
    def held_out_rms_m(self) -> float:
        """Rms error of the tip where it was held out [m]."""
        return _rms(self.held_out_m[1] - self.held_out_m[0])

    @property
    def held_out_mean_m(self) -> float:
        """Mean error of the tip where it was held out [m]."""
        return float(np.linalg.norm(self.held_out_m[1] - self.held_out_m[0], axis=1).mean())

    @property
    def before_mean_m(self) -> float:
        """Mean error of the tip there with the rough values [m]."""
        return float(np.linalg.norm(self.before_m - self.held_out_m[0], axis=1).mean())

    def value(self, name: str) -> float:
        """Return an estimate; of the valves from the pressures where these were measured."""
        from_valves = name.startswith('valve_') and self.valves is not None
        return (self.valves if from_valves else self.tip).value(name)  # type: ignore[union-attr]


def identify(
    robot: Robot, recordings: Sequence[Recording], on_step: Callable[[], None] = lambda: None
) -> Identified:
    """Identify an arm.

    Args:
        robot: Robot file with rough values; all segments have bellows.
        recordings: Recordings of the tip, in the frame of the base up to a small error, with inputs
            named as the chambers. The last one is held out, or the end of the only one.
        on_step: Called before each evaluation of derivatives.

    Raises:
        RecordingError: If the recordings do not suffice.
        KinematicsError: If a segment has no bellows.
    """
    used, last = list(recordings[:-1]), recordings[-1]
    held_out, from_s = last.name, last.time_s[0]
    if not used:
        from_s = last.time_s[0] + (1.0 - HELD_OUT) * np.ptp(last.time_s)
        used, held_out = [last.at(last.time_s < from_s)], f'{last.name} from {from_s:.0f} s'
    for recording in (*used, last):
        if np.isfinite(recording.tip_m[:, 0]).sum() < MIN_SAMPLES:
            raise RecordingError(
                f'{recording.name}: the tip is known in fewer than {MIN_SAMPLES} samples: record '
                'some minutes of motion'
            )
    model = BellowsModel(robot, used)
    tip = estimate(model, FIRST_ERROR_M, on_step)
    valves = None
    if not model.commanded:
        valves = estimate(ValveModel(robot.chambers, used), FIRST_ERROR_PA, on_step)
    test = BellowsModel(robot, [last])
    late = np.concatenate(test.times_s) >= from_s
    rough = np.array([unknown.guess for unknown in model.unknowns])
    before_m, after_m = (test.predict(x)[late] for x in (rough, tip.x))
    return Identified(
        robot,
        tip,
        valves,
        model.pressure_range_pa,
        held_out,
        np.array([test.values[late], after_m]),
        before_m,
        {name: _rms(model.predict(x) - model.values) for name, x in _without(tip).items()},
    )


def _without(tip: Estimate) -> dict[str, np.ndarray]:
    """Parameters without a part of the model, by its name."""
    found = {'': tip.x}
    for name, keys, value in (
        ('hysteresis', '.weight', 0.0),
        ('creep', 'creep_share', 0.0),
        ('gravity', '.effective_area', 1.0),
        ('swing', 'frequency_scale', 1e3),
    ):
        chosen = [keys in unknown.name for unknown in tip.unknowns]
        found[name] = np.where(chosen, value, tip.x)
    return found


def _rms(errors_m: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(errors_m).sum(axis=1))))
