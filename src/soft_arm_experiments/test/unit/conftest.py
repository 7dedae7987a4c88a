import pytest

from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import BellowsArm


@pytest.fixture(scope='session')
def arm() -> BellowsArm:
    return BellowsArm(load_robot('two_module_arm'))


@pytest.fixture
def dynamics() -> Dynamics:
    return Dynamics(
        valve_time_constant_s=0.2,
        valve_rate_limit_pa_s=150e3,
        valve_delay_s=0.02,
        mechanical_lag_s=0.036,
        creep_share=0.022,
        creep_time_constant_s=0.9,
        camera_delay_s=0.06,
    )
