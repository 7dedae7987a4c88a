import pytest

from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import BellowsArm


@pytest.fixture(scope='session')
def paper_arm() -> BellowsArm:
    return BellowsArm(load_robot('two_module_arm'))
