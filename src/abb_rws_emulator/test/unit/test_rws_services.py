"""The emulator's services that other clients use.

Files, programs, configuration, queues, kinematics, jogging, write access.
"""

import json
import urllib.parse

import numpy as np
import pytest

from abb_rws_emulator.controller import gripper_cell, irb120, program
from abb_rws_emulator.controller.file_store import normal_path
from abb_rws_emulator.controller.program_memory import ProgramMemory
from abb_rws_emulator.refusals import Refused
from emulator_testing.plain_client import START, serve

pytestmark = pytest.mark.steady_clock

MODULE = """MODULE Extra
  PERS num counter:=4;
  LOCAL VAR string greeting:="a;b";
  CONST num LIMIT:=9;
  VAR bool flags{2};
  PERS robtarget points{2}:=[[[1,2,3],[1,0,0,0],[0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]],
    [[4,5,6],[1,0,0,0],[0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]]];
  PROC go(num i)
    VAR num inside:=1;
  ENDPROC
ENDMODULE
"""


def item(text: str) -> dict:
    """First state of an RWS 1.0 answer."""
    return json.loads(text)['_embedded']['_state'][0]


def test_a_module_declares_its_data_and_routines():
    module = program.load(MODULE)
    told = {d.name: (d.symbol_type, d.data_type, d.dimensions) for d in module.declarations}
    assert told == {
        'counter': ('per', 'num', ()),
        'greeting': ('var', 'string', ()),
        'LIMIT': ('con', 'num', ()),
        'flags': ('var', 'bool', (2,)),
        'points': ('per', 'robtarget', (2,)),
    }
    assert module.routines == (('go', 'PROC', 8),)
    with pytest.raises(Refused):
        program.load('PROC alone() ENDPROC')


def test_elements_of_arrays_are_read_and_written_in_place():
    memory = ProgramMemory([program.load(MODULE)])
    assert (
        memory.read('T_ROB1/Extra/points{2}')
        == '[[4,5,6],[1,0,0,0],[0,0,0,0],[9E+09,9E+09,9E+09,9E+09,9E+09,9E+09]]'
    )
    assert (
        memory.write('T_ROB1/flags{1}', 'true') == 'T_ROB1/Extra/flags'
        and memory.read('T_ROB1/flags') == '[TRUE,FALSE]'
    )
    for path, literal in (
        ('T_ROB1/flags{1}', '1'),
        ('T_ROB1/flags{3}', 'TRUE'),
        ('T_ROB1/Extra/LIMIT', '3'),
    ):
        with pytest.raises(Refused):
            memory.write(path, literal)


def test_a_program_is_uploaded_loaded_read_changed_saved_and_unloaded():
    async def work(emulator, ask):
        assert (await ask('PUT', '/fileservice/$HOME/new/Extra.mod', MODULE))[0] == 201
        load = '/rw/rapid/tasks/T_ROB1?action=loadmod&json=1'
        path = {'modulepath': '$HOME/new/Extra.mod'}
        assert (await ask('POST', load, path))[0] == 204
        assert (await ask('POST', load, path))[0] == 400  # it is there already
        assert (await ask('POST', load, path | {'replace': 'true'}))[0] == 204
        assert (await ask('POST', load, {'modulepath': '$HOME/none.mod'}))[0] == 400
        assert (
            item((await ask('GET', '/rw/rapid/symbol/data/RAPID/T_ROB1/Extra/counter?json=1'))[2])[
                'value'
            ]
            == '4'
        )
        _, _, text = await ask(
            'GET', '/rw/rapid/modules/Extra?resource=module-text&task=T_ROB1&json=1'
        )
        assert urllib.parse.unquote(item(text)['module-text']) == MODULE
        change = {'text': MODULE.replace(':=4', ':=5')}
        assert (
            await ask('POST', '/rw/rapid/modules/Extra?action=set-module-text&task=T_ROB1', change)
        )[0] == 204
        assert emulator.controller.memory.read('T_ROB1/Extra/counter') == '5'
        save = {'name': 'Copy', 'path': '$TEMP'}
        assert (await ask('POST', '/rw/rapid/modules/Extra?action=save&task=T_ROB1', save))[
            0
        ] == 204
        assert ':=5' in (await ask('GET', '/fileservice/$TEMP/Copy.mod'))[2]
        _, _, found = await ask(
            'POST',
            '/rw/rapid/symbols?action=search-symbols&json=1',
            {'blockurl': 'RAPID/T_ROB1/Extra', 'symtyp': 'per'},
        )
        assert [s['name'] for s in json.loads(found)['_embedded']['_state']] == [
            'counter',
            'points',
        ]
        unload = '/rw/rapid/tasks/T_ROB1?action=unloadmod'
        assert (await ask('POST', unload, {'module': 'Extra'}))[0] == 204
        assert (await ask('POST', unload, {'module': 'Extra'}))[0] == 400
        assert (await ask('GET', '/rw/rapid/symbol/data/RAPID/T_ROB1/Extra/counter'))[0] == 400

    serve(work)


def test_a_whole_program_is_saved_and_loaded_again():
    async def work(emulator, ask):
        address = '/rw/rapid/tasks/T_ROB1/program'
        assert (await ask('POST', f'{address}?action=save', {'path': '$HOME/job'}))[0] == 204
        assert (await ask('POST', f'{address}?action=unloadprog', ''))[0] == 204
        assert (
            await ask('POST', '/rw/panel/ctrlstate?action=setctrlstate', {'ctrl-state': 'motoron'})
        )[0] == 204
        # No pointer without a program.
        assert (await ask('POST', '/rw/rapid/execution?action=start', START))[0] == 400
        assert (await ask('POST', f'{address}?action=loadprog', {'progpath': '$HOME/job/job.pgf'}))[
            0
        ] == 204
        assert (await ask('POST', '/rw/rapid/execution?action=resetpp', ''))[0] == 204
        assert (await ask('POST', '/rw/rapid/execution?action=start', START))[0] == 204
        assert emulator.controller.pointer_at[:2] == ('Module1', 'main')

    serve(work)


@pytest.mark.parametrize(
    'text',
    [
        '$HOME/a.mod',
        'HOME/a.mod',
        '/fileservice/$home/a.mod',
        'HOME:/a.mod',
        '/hd0a/IRB120/HOME/a.mod',
    ],
)
def test_a_path_is_one_however_it_is_written(text):
    assert normal_path(text) == '$HOME/a.mod'


@pytest.mark.parametrize('text', ['', 'a.mod', '$NONE/a', '$HOME/../x', '/etc/passwd'])
def test_a_path_outside_the_volumes_is_refused(text):
    with pytest.raises(Refused):
        normal_path(text)


def test_files_are_listed_copied_renamed_and_deleted():
    async def work(_emulator, ask):
        async def act(path, **form):
            return (
                await ask(
                    'POST',
                    f'/fileservice/{path}',
                    {name.replace('_', '-'): value for name, value in form.items()},
                )
            )[0]

        assert (await ask('PUT', '/fileservice/$HOME/a.txt', 'one'))[0] == 201
        assert (await ask('PUT', '/fileservice/$HOME/a.txt', 'two'))[0] == 200
        assert await act('$HOME', fs_action='create', fs_newname='sub') == 201
        assert await act('$HOME/a.txt', fs_action='copy', fs_newname='b.txt') == 201
        assert await act('$HOME/b.txt', fs_action='rename', fs_newname='c.txt') == 204
        assert await act('$HOME/c.txt', fs_action='rename', fs_newname='../c.txt') == 400
        _, _, text = await ask('GET', '/fileservice/$HOME?json=1')
        listed = {
            state['_title']: state['_type'] for state in json.loads(text)['_embedded']['_state']
        }
        assert listed == {'a.txt': 'fs-file', 'c.txt': 'fs-file', 'sub': 'fs-dir'}
        assert (await ask('DELETE', '/fileservice/$HOME/c.txt'))[0] == 204
        assert (await ask('GET', '/fileservice/$HOME/c.txt'))[0] == 404

    serve(work)


def test_kinematics_of_the_controller_is_that_of_the_robot():
    async def work(_emulator, ask):
        joints = np.deg2rad([10, -20, 30, 40, 50, 60])
        pose = irb120.tool_pose(joints)
        address = '/rw/motionsystem/mechunits/ROB_1?json=1&action='
        tool = {'tool_frame_position': '[0,0,0]', 'tool_frame_orientation': '[1,0,0,0]'}
        there = {
            'rob_joints': f'[{",".join(map(str, joints))}]',
            'ext_joints': '[0,0,0,0,0,0]',
        } | tool
        told = item((await ask('POST', f'{address}CalcPoseFromJoints', there))[2])
        np.testing.assert_allclose([float(told[axis]) for axis in 'xyz'], pose[:3, 3], atol=1e-6)
        back = {
            'curr_position': f'[{told["x"]},{told["y"]},{told["z"]}]',
            'curr_orientation': f'[{told["q1"]},{told["q2"]},{told["q3"]},{told["q4"]}]',
            'old_rob_joints': '[0.2,-0.3,0.5,0.7,0.9,1]',
        } | tool
        found = item((await ask('POST', f'{address}CalcJointsFromPose', back))[2])
        np.testing.assert_allclose(
            [float(found[f'rob_joint{i}']) for i in range(1, 7)], joints, atol=1e-5
        )
        assert (
            await ask('POST', f'{address}CalcJointsFromPose', back | {'curr_position': '[2,0,0]'})
        )[0] == 400
        assert (await ask('POST', f'{address}CalcJointsFromPose', {}))[0] == 400

    serve(work)


def test_jogging_needs_manual_mode_and_the_enabling_device_and_stays_within_the_limits():
    async def work(emulator, ask):
        controller = emulator.controller
        jog = {f'axis{i}': '0' for i in range(2, 7)} | {
            'axis1': '1000',
            'ccount': '1',
            'inc-mode': 'Large',
        }
        assert (await ask('POST', '/rw/motionsystem?action=jog', jog))[0] == 403
        controller.set_operation_mode('MANR')
        assert (await ask('POST', '/rw/motionsystem?action=jog', jog))[0] == 400
        controller.enabling_device(True)
        assert (await ask('POST', '/rw/motionsystem?action=jog', jog))[0] == 204
        assert 0.0 < controller.robot._goal_rad[0] <= 0.01
        controller.robot.place(irb120.RANGE_RAD[:, 1])
        assert (await ask('POST', '/rw/motionsystem?action=jog', jog))[0] == 204
        assert controller.robot._goal_rad[0] <= irb120.RANGE_RAD[0, 1]
        controller.enabling_device(False)
        assert controller.control_state == 'guardstop'

    serve(work)


def test_messages_pass_through_a_queue_in_order_and_are_told():
    async def work(_emulator, ask):
        assert (
            await ask(
                'POST',
                '/rw/dipc?action=dipc-create',
                {'dipc-queue-name': 'q', 'dipc-queue-size': '2', 'dipc-max-msg-size': '5'},
            )
        )[0] == 201
        send = {
            'dipc-src-queue-name': 'q',
            'dipc-cmd': '111',
            'dipc-userdef': '1',
            'dipc-msgtype': '1',
        }
        statuses = [
            (await ask('POST', '/rw/dipc/q?action=dipc-send', send | {'dipc-data': text}))[0]
            for text in ('one', 'two', 'three', 'toolong')
        ]
        assert statuses == [204, 204, 400, 400]
        read = [(await ask('GET', '/rw/dipc/q?action=dipc-read&json=1'))[2] for _ in range(3)]
        assert [
            [s['dipc-data'] for s in json.loads(text)['_embedded']['_state']] for text in read
        ] == [['one'], ['two'], []]
        assert (await ask('DELETE', '/rw/dipc/q'))[0] == 204
        assert (await ask('GET', '/rw/dipc/q?action=dipc-read'))[0] == 404

    serve(work)


def test_configuration_is_read_and_written_but_not_where_it_is_protected():
    async def work(emulator, ask):
        instances = '/rw/cfg/EIO/EIO_SIGNAL/instances'
        _, _, text = await ask('GET', f'{instances}/DO_01?json=1')
        assert {a['_title']: a['value'] for a in item(text)['attrib']}['Device'] == 'd652'
        assert (await ask('POST', f'{instances}/DO_01?action=set', {'Label': 'valve'}))[0] == 204
        assert (
            emulator.controller.configuration.instances('eio', 'eio_signal')['DO_01']['Label']
            == 'valve'
        )
        assert (await ask('POST', f'{instances}/ES1?action=set', {'Access': 'All'}))[0] == 400
        assert (await ask('POST', f'{instances}?action=create-default', {'name': 'extra'}))[
            0
        ] == 201
        assert (await ask('DELETE', f'{instances}/extra'))[0] == 204
        assert (await ask('DELETE', f'{instances}/extra'))[0] == 400
        assert (
            await ask(
                'POST', '/rw/cfg/EIO?action=saveas', {'filepath': '/fileservice/$TEMP/eio.cfg'}
            )
        )[0] == 204
        assert (await ask('GET', '/fileservice/$TEMP/eio.cfg'))[2].startswith('EIO:CFG_1.0')

    serve(work)


def test_a_client_can_restart_the_controller_and_is_answered_first():
    async def work(emulator, ask):
        before = emulator.controller.restarts
        assert (await ask('POST', '/rw/panel?action=restart', {'restart-mode': 'nonsense'}))[
            0
        ] == 400
        assert (await ask('POST', '/rw/panel?action=restart', {'restart-mode': 'restart'}))[
            0
        ] == 204
        assert emulator.controller.restarts == before and emulator._tasks

    serve(work)


def test_robotware_8_has_one_write_access_instead_of_masterships():
    async def work(_emulator, ask):
        form = {'Content-Type': 'application/x-www-form-urlencoded;v=2.0'}

        async def post(target, **values):
            return (await ask('POST', target, urllib.parse.urlencode(values), **form))[0]

        assert (await ask('GET', '/rw/mastership/edit'))[0] == 410
        symbol = '/rw/rapid/symbol/RAPID/T_ROB1/Module1/test_var_num/data'
        assert await post(symbol, value='1') == 403
        assert await post('/rw/controlstation/writeaccess/release') == 403
        assert await post('/rw/controlstation/writeaccess/request') == 204
        _, _, text = await ask('GET', '/rw/controlstation/writeaccess/status')
        assert json.loads(text)['state'][0]['control-station-write-access-held'] == 'true'
        assert await post(symbol, value='1') == 204
        assert await post('/rw/controlstation/writeaccess/release') == 204

    serve(work, 2, robotware='8.1.1')


def test_every_module_of_the_cell_is_one():
    assert [program.load(text).name for text in gripper_cell.MODULE_TEXTS.values()] == list(
        gripper_cell.MODULE_TEXTS
    )
