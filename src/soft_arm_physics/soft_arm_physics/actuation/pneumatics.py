"""Pneumatics file: what a robot file does not say of its chambers.

Valves, walls, sensors and mismatch. The shipped values are assumptions: the papers publish none of
them. Standard deviations describe the spread from which a seed draws one robot; everything else is
the same for every seed.
"""

from pathlib import Path
from typing import Self

from pydantic import model_validator

from soft_arm_io.fields import NonNegative, Positive, Strict
from soft_arm_physics.parameter_file import Share, load_parameters

CONFIG = Path(__file__).parents[1] / 'config'


class Valve(Strict):
    """Proportional pressure valve with tube and chamber: first-order lag with a limited rate."""

    lag_s: Positive
    rate_limit_pa_s: Positive
    gain_std: NonNegative
    offset_std_pa: NonNegative


class Filling(Strict):
    """Two regulators, for supply and vacuum, that fill a chamber through a flow resistance.

    The resistances are in pascals per cubic metre of air at ambient pressure and second; the
    chamber's volume grows with the bend of its body.
    """

    supply_resistance_pa_s_m3: Positive
    vent_resistance_pa_s_m3: Positive
    volume_m3: Positive
    volume_per_bend_m3_rad: NonNegative
    gain_std: NonNegative
    offset_std_pa: NonNegative


class Sensor(Strict):
    """Pressure sensor: constant offset and white noise."""

    offset_std_pa: NonNegative
    noise_rms_pa: NonNegative


class Hysteresis(Strict):
    """Prandtl-Ishlinskii operator: weighted play operators plus a linear part of weight 1 - sum."""

    thresholds_pa: tuple[Positive, ...]
    weights: tuple[Share, ...]

    @model_validator(mode='after')
    def _check(self) -> Self:
        if len(self.thresholds_pa) != len(self.weights):
            raise ValueError(
                f'{len(self.thresholds_pa)} thresholds_pa and {len(self.weights)} weights: give '
                'the same number of each'
            )
        if sum(self.weights) >= 1:
            raise ValueError(f'weights sum to {sum(self.weights):.3f}: keep the sum below 1')
        return self


class Creep(Strict):
    """Share of the effective pressure that follows with a first-order lag."""

    share: Share
    time_constant_s: Positive


class Bellows(Strict):
    """Spread of the curve between bellows: gain on the change of length, offset on the length."""

    length_gain_std: NonNegative
    length_offset_std_m: NonNegative


class Bends(Strict):
    """Spread between bending segments: of each coefficient, and of the bend at rest."""

    coefficient_std: NonNegative
    rest_std_rad: NonNegative


class Pneumatics(Strict):
    """From command to effective pressure; omitted parts are ideal."""

    valve: Valve | None = None
    filling: Filling | None = None
    sensor: Sensor = Sensor(offset_std_pa=0.0, noise_rms_pa=0.0)
    hysteresis: Hysteresis = Hysteresis(thresholds_pa=(), weights=())
    creep: Creep = Creep(share=0.0, time_constant_s=1.0)
    bellows: Bellows = Bellows(length_gain_std=0.0, length_offset_std_m=0.0)
    bends: Bends = Bends(coefficient_std=0.0, rest_std_rad=0.0)

    @model_validator(mode='after')
    def _check(self) -> Self:
        if self.valve and self.filling:
            raise ValueError('valve and filling are both given: keep one')
        return self


def load_pneumatics(name_or_path: str | Path) -> Pneumatics:
    """Read a pneumatics file, by path or by the name of the shipped robot that it belongs to.

    Raises:
        PhysicsError: If the file is missing or has a missing, unknown or impossible value.
    """
    shipped = CONFIG / f'{name_or_path}.pneumatics.yaml'
    return load_parameters(Pneumatics, shipped if shipped.is_file() else name_or_path)
