import numpy as np
import pytest
from pydantic import ValidationError

from soft_arm_control.tip.dynamics import Dynamics

TRUTH = Dynamics(
    valve_time_constant_s=0.15,
    valve_rate_limit_pa_s=120e3,
    valve_delay_s=0.03,
    mechanical_lag_s=0.08,
    creep_share=0.05,
    creep_time_constant_s=0.6,
    camera_delay_s=0.07,
)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('valve_time_constant_s', 0.0),
        ('valve_rate_limit_pa_s', -1.0),
        ('creep_share', 0.31),
        ('camera_delay_s', np.nan),
        ('hysteresis_weights', (0.5, 0.5)),
        ('hysteresis_thresholds_pa', (4e3,)),
    ],
)
def test_impossible_dynamics_are_refused(name, value):
    with pytest.raises(ValidationError, match='hysteresis' if 'hysteresis' in name else name):
        Dynamics(**TRUTH.model_dump() | {name: value})
