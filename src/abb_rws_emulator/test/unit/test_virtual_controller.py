"""Emulated robot, RAPID variables and controller state, without HTTP."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abb_rws_emulator.controller import irb120
from abb_rws_emulator.controller.file_store import normal_path
from abb_rws_emulator.controller.program_memory import ProgramMemory
from abb_rws_emulator.controller.rapid_literals import TYPES, InvalidLiteral, parse, shape_of, text
from abb_rws_emulator.controller.robot import Robot
from abb_rws_emulator.controller.virtual_controller import VirtualController
from abb_rws_emulator.refusals import Refused
from emulator_testing.plain_client import START

# product specification, working range: axes 2 and 3 [deg], x and z of the wrist centre [mm]
WORKING_RANGE = [
    ((0, 0), (302, 630)),
    ((0, -77), (0, 870)),
    ((0, 70), (169, 300)),
    ((90, -77), (580, 290)),
]


@pytest.mark.parametrize(('degrees', 'wrist_mm'), WORKING_RANGE)
def test_published_working_range(degrees, wrist_mm):
    pose = irb120.tool_pose(np.deg2rad([0, *degrees, 0, 0, 0]))
    wrist_m = pose[:3, 3] - 0.072 * pose[:3, 2]
    np.testing.assert_allclose(1000 * wrist_m[[0, 2]], wrist_mm, atol=1.0)


def test_the_robot_moves_at_data_sheet_speed():
    now = [0.0]
    robot = Robot(lambda: now[0])
    robot.place(np.zeros(6))
    robot.move_to(np.deg2rad([125.0, 0, 0, 0, 0, 10.0]), speed_ratio=1.0)
    now[0] = 0.25
    np.testing.assert_allclose(np.rad2deg(robot.joints_rad), [62.5, 0, 0, 0, 0, 5.0])
    robot.change_speed(0.5)  # 62.5 deg left at 125 deg/s
    now[0] = 0.5
    np.testing.assert_allclose(np.rad2deg(robot.joints_rad[0]), 93.75)
    robot.change_speed(0.0)
    now[0] = 10.0
    np.testing.assert_allclose(np.rad2deg(robot.joints_rad[0]), 93.75)
    assert not robot.arrived
    robot.halt()
    assert robot.arrived


def test_an_emergency_stop_ends_the_program_and_keeps_the_motors_off():
    controller, changed = VirtualController(), []
    controller.on_change = changed.append
    controller.set_control_state('motoron')
    controller.start('a', START | {'cycle': 'forever'})
    controller.emergency_stop(True)
    assert (controller.control_state, controller.running) == ('emergencystop', False)
    assert {'/rw/panel/ctrlstate', '/rw/rapid/execution;ctrlexecstate', '/rw/elog/0'} <= {*changed}
    assert [entry[2] for entry in controller.event_log[-2:]] == [10122, 10013]
    with pytest.raises(Refused, match='Rejected'):
        controller.set_control_state('motoron')
    controller.emergency_stop(False)
    assert controller.control_state == 'emergencystopreset'
    controller.set_control_state('motoron')
    assert controller.control_state == 'motoron'


def test_a_program_ends_after_one_cycle_or_repeats_with_the_current_target():
    now = [0.0]
    controller = VirtualController(clock=lambda: now[0])
    controller.set_control_state('motoron')
    controller.set_symbol('a', 'T_ROB1/J_Orientation_Target', '[[10,0,0,0,30,0],[0,0,0,0,0,0]]')
    controller.start('a', START)
    now[0] = 1.0
    controller.advance()
    assert not controller.running
    assert controller.robot.joints_rad[0] == pytest.approx(np.deg2rad(10))
    controller.start('a', START | {'cycle': 'forever'})
    controller.set_symbol('a', 'T_ROB1/J_Orientation_Target', '[[20,0,0,0,30,0],[0,0,0,0,0,0]]')
    for now[0] in (1.1, 3.0):
        controller.advance()
    assert controller.running and controller.robot.joints_rad[0] == pytest.approx(np.deg2rad(20))


def test_array_elements_are_read_and_written_in_place():
    memory = ProgramMemory()
    assert memory.write('T_ROB1/test_array{2}', '4') == 'T_ROB1/Module1/test_array'
    assert memory.read('T_ROB1/test_array') == '[0,4,0]'
    assert memory.read('T_ROB1/Module1/test_array{2}') == '4'
    for path, literal in (
        ('T_ROB1/test_array{2}', 'TRUE'),
        ('T_ROB1/test_array{4}', '1'),
        ('T_ROB1/test_array{1,1}', '1'),
        ('T_ROB1/none', '1'),
    ):
        with pytest.raises(Refused):
            memory.write(path, literal)


_SCALARS = {
    'num': st.floats(-1e38, 1e38).map(lambda value: float(f'{value:.6g}')),
    'bool': st.booleans(),
    'string': st.from_regex(r'"[a-zA-Z \[\],;&]{0,20}"', fullmatch=True),
}


def values_of(shape):
    return (
        _SCALARS[shape] if isinstance(shape, str) else st.tuples(*map(values_of, shape)).map(list)
    )


@given(st.sampled_from(sorted(TYPES)).flatmap(lambda t: st.tuples(st.just(t), values_of(TYPES[t]))))
def test_the_literal_of_a_value_is_parsed_to_the_same_value(typed):
    data_type, value = typed
    shape = shape_of(data_type, ())
    assert parse(text(value, shape), shape) == value


@pytest.mark.parametrize(
    ('literal', 'formatted'),
    [
        ('4.50', '4.5'),
        ('-.5', '-0.5'),
        ('9e9', '9E+09'),
        ('0x1F', '31'),
        (' 123456.789 ', '123457'),
    ],
)
def test_numbers_are_formatted_as_by_the_controller(literal, formatted):
    assert text(parse(literal, 'num'), 'num') == formatted


@pytest.mark.parametrize(
    ('data_type', 'literal'),
    [
        *(('num', bad) for bad in ('1e39', '07', '1_000', '１', 'nan', 'TRUE', '1 2', '', '[1]')),
        ('bool', '1'),
        *(('string', bad) for bad in ('a', '"a', '"' + 'a' * 81 + '"', '"\x07"')),
        ('jointtarget', '[[1e999,0,0,0,0,0],[0,0,0,0,0,0]]'),
        ('jointtarget', '[[0,0,0,0,0,0],[0,0,0,0,0]]'),
        ('jointtarget', '[[0,0,0,0,0,0],[0,0,0,0,0,0]'),
    ],
)
def test_a_literal_of_another_type_is_refused(data_type, literal):
    with pytest.raises(InvalidLiteral):
        parse(literal, shape_of(data_type, ()))


@pytest.mark.parametrize('path', ['', 'a.mod', '$NONE/a', '$HOME/../x', '/etc/passwd'])
def test_a_path_outside_the_volumes_is_refused(path):
    with pytest.raises(Refused):
        normal_path(path)
