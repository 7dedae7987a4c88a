"""No call of a client ends the node, and the arm ends vented."""

import random

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import ListParameters, SetParameters, SetParametersAtomically
from std_srvs.srv import Trigger

from ..boards import wait_for
from .operators import operator_of
from .test_driver_node import CHAMBERS, SLOW, TARGETS

TYPES = [*range(ParameterType.PARAMETER_STRING_ARRAY + 1), 10, 255]
NUMBERS = [0.0, -1.0, 1e308, float('nan'), float('-inf')]


@pytest.fixture
def operator(request):
    yield from operator_of(request.node.name, 'pneumatic_driver', CHAMBERS)


def any_value(draw: random.Random) -> ParameterValue:
    return ParameterValue(
        type=draw.choice(TYPES),
        bool_value=True,
        integer_value=draw.choice([0, 1, -(2**63)]),
        double_value=draw.choice(NUMBERS),
        string_value=draw.choice(['', 'x' * 1000, 'two_module_arm']),
        double_array_value=NUMBERS,
        string_array_value=['', 'x'],
    )


def test_no_call_ends_the_node_and_the_arm_ends_vented(operator, tcp_board):
    tcp_board.device.clock_rate = SLOW
    draw = random.Random(1)
    operator.start(robot='two_module_arm', port=tcp_board.device.port, autostart=True)
    operator.wait(lambda: tcp_board.plant.follows(TARGETS), command=TARGETS)
    names = operator.call(ListParameters, 'pneumatic_driver/list_parameters').result.names
    for name in [*names, '', 'no such parameter'] * 2:
        kind = draw.choice([SetParameters, SetParametersAtomically])
        service = 'set_parameters' + ('_atomically' if kind is SetParametersAtomically else '')
        given = [Parameter(name=name, value=any_value(draw)) for _ in range(draw.choice([1, 2]))]
        operator.call(kind, f'pneumatic_driver/{service}', parameters=given)
        transition = Transition(
            id=draw.choice([0, 1, 2, 3, 4, 8, 62, 99]),
            label=draw.choice(['', '', 'configure', 'activate', 'nowhere']),
        )
        operator.call(ChangeState, 'pneumatic_driver/change_state', transition=transition)
        operator.call(Trigger, draw.choice(['vent', 'clear_faults']))
        operator.command(CHAMBERS, [draw.choice(NUMBERS)] * 6)
    assert operator.call(Trigger, 'vent').success
    wait_for(lambda: tcp_board.plant.vented)
    assert operator.state in ('unconfigured', 'inactive')
