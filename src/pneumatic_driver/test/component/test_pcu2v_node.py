"""The real node of the gripper, as its own process, against the emulated PCU2-V."""

import time

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import Log
from std_srvs.srv import Trigger

from soft_arm_msgs.msg import GripperState
from soft_arm_node_kit.messages import seconds

from ..boards import wait_for
from .operators import operator_of

pytestmark = pytest.mark.watchdogs

TARGET = [60e3]


@pytest.fixture
def operator(request):
    yield from operator_of(request.node.name, 'pcu2v_driver', ['finger'])


def start_and_move(operator, gripper, **parameters):
    operator.start(
        robot='four_piece_finger', port=gripper.device.port, autostart=True, **parameters
    )
    operator.wait(
        lambda: gripper.plant.follows(TARGET), command=TARGET, what='the chamber following'
    )


def test_pressures_and_state_come_back_with_their_age(operator, gripper):
    states = operator.listen(GripperState, 'state')
    start_and_move(operator, gripper)
    states.clear()
    operator.pressures.clear()
    operator.wait(lambda: len(states) > 25 and len(operator.pressures) > 25, command=TARGET)
    state, pressure = states[-1], operator.pressures[-1]
    assert (pressure.names, list(pressure.pressures_pa)) == (['finger'], TARGET)
    assert (state.true_pressure_pa, state.positive_target_pa, state.negative_target_pa) == (
        60e3,
        60e3,
        0.0,
    )
    assert (state.positive_trigger, state.negative_trigger) == (True, False)
    assert all(0.0 < s.age_s < 1.0 for s in states)
    stamps = [seconds(s.header.stamp) for s in states]
    assert stamps == sorted(set(stamps))
    assert abs(stamps[-1] - time.clock_gettime(time.CLOCK_REALTIME)) < 1.0
    operator.wait(lambda: gripper.plant.follows([-40e3]), command=[-40e3])
    operator.wait(
        lambda: states[-1].negative_trigger and not states[-1].positive_trigger, command=[-40e3]
    )


def test_stale_commands_and_a_broken_sensor_vent_and_are_reported(operator, gripper):
    logs = operator.listen(Log, '/rosout')
    diagnostics = operator.listen(DiagnosticArray, '/diagnostics')
    start_and_move(operator, gripper)
    operator.wait(lambda: gripper.plant.vented)  # without commands
    assert operator.state == 'active'
    operator.wait(lambda: [m for m in logs if m.msg.startswith('no command for 0.5 s')])
    operator.wait(
        lambda: [s for m in diagnostics for s in m.status if s.message == 'vented: no commands']
    )
    operator.wait(lambda: gripper.plant.follows(TARGET), command=TARGET)

    gripper.plant.forced_pa = [-101e3]
    operator.wait(lambda: operator.state == 'inactive', command=TARGET)
    wait_for(lambda: gripper.plant.vented)
    gripper.plant.forced_pa = None
    assert not operator.transition(Transition.TRANSITION_ACTIVATE)
    seen = len(operator.pressures)
    operator.wait(lambda: len(operator.pressures) > seen + 5)
    assert operator.call(Trigger, 'clear_faults').success
    assert operator.transition(Transition.TRANSITION_ACTIVATE)
    operator.wait(lambda: gripper.plant.follows(TARGET), command=TARGET)
