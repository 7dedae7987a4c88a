"""Arms of several shapes, made from the shipped robot file."""

import pytest

from soft_arm_description.robot import Robot, load_robot
from soft_arm_kinematics.arm import Arm


def _variant(segments: int, closing_twist: bool, rigid_length_m: float, bellows: int) -> Arm:
    content = load_robot('two_module_arm').model_dump(mode='json')
    first = content['segments'][0]
    content['segments'] = []
    for i in range(segments):
        names = [f's{i}_b{j}' for j in range(bellows)]
        angles = first['actuators']['angles_deg'] if bellows == 3 else [10.0, 100.0, 190.0, 280.0]
        actuators = first['actuators'] | {'names': names, 'angles_deg': angles}
        content['segments'].append(
            first | {'name': f's{i}', 'closing_twist': closing_twist, 'rigid_length_m': rigid_length_m, 'actuators': actuators}
        )
    content['channels'] = {name: k for k, name in enumerate(n for s in content['segments'] for n in s['actuators']['names'])}
    return Arm(Robot.model_validate(content))


SHAPES = {'paper': (2, True, 0.0, 3), 'one': (1, True, 0.0, 3), 'open_twist': (2, False, 0.012, 3), 'long': (3, True, 0.02, 4)}


@pytest.fixture(scope='session')
def paper_arm() -> Arm:
    return Arm(load_robot('two_module_arm'))


@pytest.fixture(scope='session', params=list(SHAPES))
def arm(request) -> Arm:
    return _variant(*SHAPES[request.param])
