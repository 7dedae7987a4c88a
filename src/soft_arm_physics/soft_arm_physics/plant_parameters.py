"""Plant file: what a robot file does not say of an arm: valves, sensors, material, mismatch.

The shipped values are assumptions: the paper publishes none of them. Standard deviations describe
the spread from which a seed draws one arm; everything else is the same for every seed.
"""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from soft_arm_physics.parameter_file import NotNegative, Positive, Share, Strict, load_parameters

SHIPPED = Path(__file__).parent / 'config' / 'two_module_arm.plant.yaml'


class Valve(Strict):
    """Proportional pressure valve with tube and bellows: first-order lag with a limited rate."""

    lag_s: Positive
    rate_limit_pa_s: Positive
    gain_std: NotNegative
    offset_std_pa: NotNegative


class Sensor(Strict):
    """Pressure sensor: constant offset and white noise."""

    offset_std_pa: NotNegative
    noise_rms_pa: NotNegative


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

    length_gain_std: NotNegative
    length_offset_std_m: NotNegative


class Mechanics(Strict):
    """Gravity, stiffness-proportional damping, payload at the tip and time step."""

    gravity_m_s2: NotNegative
    damping_time_s: Positive
    tip_payload_kg: NotNegative
    time_step_s: Annotated[float, Field(gt=0, le=0.01)]


class PlantParameters(Strict):
    """Everything a `Plant` needs beside the robot file."""

    valve: Valve
    sensor: Sensor
    hysteresis: Hysteresis
    creep: Creep
    bellows: Bellows
    mechanics: Mechanics

    def ideal(self) -> 'PlantParameters':
        """Return these parameters without gravity, hysteresis, creep, mismatch and sensor error.

        Such an arm follows the PCC model.
        """
        return self.model_copy(
            update={
                'valve': self.valve.model_copy(update={'gain_std': 0.0, 'offset_std_pa': 0.0}),
                'sensor': Sensor(offset_std_pa=0.0, noise_rms_pa=0.0),
                'hysteresis': Hysteresis(thresholds_pa=(), weights=()),
                'creep': self.creep.model_copy(update={'share': 0.0}),
                'bellows': Bellows(length_gain_std=0.0, length_offset_std_m=0.0),
                'mechanics': self.mechanics.model_copy(
                    update={'gravity_m_s2': 0.0, 'tip_payload_kg': 0.0}
                ),
            }
        )


def load_plant_parameters(path: str | Path = SHIPPED) -> PlantParameters:
    """Read a plant file; see `parameter_file.load_parameters` for errors."""
    return load_parameters(PlantParameters, path)
