"""The calibration `dynamics`: lags, delays and hysteresis from command to tip and image."""

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from soft_arm_description.calibration import Values
from soft_arm_io.fields import Number

MAX_CREEP_SHARE = 0.3  # of the effect of a pressure
MAX_MODE_SCALE = 10.0
MAX_HYSTERESIS_WEIGHT = 0.9  # sum of the weights; the remaining effect is immediate

_Time = Annotated[Number, Field(ge=0)]
_PositiveTime = Annotated[Number, Field(gt=0)]
_Scale = Annotated[Number, Field(ge=1.0 / MAX_MODE_SCALE, le=MAX_MODE_SCALE)]


class Dynamics(Values):
    """Lags and delays from command to tip pose.

    Valves: dp/dt = clip((command - p) / valve_time_constant, +-valve_rate_limit), `valve_delay_s`
    after the command. Hysteresis: play operators of these half-widths and weights, and a linear
    part of weight 1 - sum; none in a file that was made before hysteresis was measured. Creep: a
    share of the pressure's effect follows with a separate time constant. Mechanics: the tip
    follows with a first-order lag. The scales are frequency and damping ratio of the slowest modes,
    measured over modelled; 1 where they could not be measured. The camera's delay lasts from an
    image's stamp to the arrival of its tip pose. `PressureEffect` is the model of hysteresis and
    creep.
    """

    kind: ClassVar[str] = 'dynamics'
    valve_time_constant_s: _PositiveTime
    valve_rate_limit_pa_s: Annotated[Number, Field(gt=0)]
    valve_delay_s: _Time
    mechanical_lag_s: _Time
    creep_share: Annotated[Number, Field(ge=0, le=MAX_CREEP_SHARE)]
    creep_time_constant_s: _PositiveTime
    camera_delay_s: _Time
    mode_frequency_scale: _Scale = 1.0
    mode_damping_scale: _Scale = 1.0
    hysteresis_thresholds_pa: tuple[Annotated[Number, Field(gt=0)], ...] = ()
    hysteresis_weights: tuple[Annotated[Number, Field(ge=0)], ...] = ()

    @model_validator(mode='after')
    def _check(self) -> Self:
        if len(self.hysteresis_thresholds_pa) != len(self.hysteresis_weights):
            raise ValueError(
                f'{len(self.hysteresis_thresholds_pa)} hysteresis_thresholds_pa and '
                f'{len(self.hysteresis_weights)} hysteresis_weights: give the same number of each'
            )
        if sum(self.hysteresis_weights) > MAX_HYSTERESIS_WEIGHT:
            raise ValueError(
                f'hysteresis_weights sum to {sum(self.hysteresis_weights):.3f}: keep the sum at or '
                f'below {MAX_HYSTERESIS_WEIGHT}'
            )
        return self
