"""Typed refusals; nothing is left moving, held or half done (T9 to T13)."""

import asyncio
from contextlib import asynccontextmanager

import numpy as np
import pytest

from abb_rws_bridge import errors
from abb_rws_bridge.sequence import MoveFailed, move_to
from rws_testing.cell import cell, client, until, watched

pytestmark = pytest.mark.steady_clock

ALL = pytest.mark.parametrize('generation', [1, 2])
TARGET_RAD = np.deg2rad([20.0, 10.0, -10.0, 5.0, 45.0, 90.0])


@ALL
async def test_in_manual_mode_every_write_is_refused_and_nothing_moves(generation):
    async with cell(generation) as (running, controller):
        await controller.system()
        running.controller.set_operation_mode('MANR')
        writes = [
            lambda: controller.set_motors(True),
            lambda: controller.set_motors(False),
            controller.start,
            controller.reset_pointer,
            lambda: controller.set_speed_ratio(0.5),
            lambda: controller.set_symbol(
                'T_ROB1/J_Orientation_Target', '[[1,2,3,4,5,6],[0,0,0,0,0,0]]'
            ),
        ]
        before = running.controller.memory.values.copy()
        for write in writes:
            with pytest.raises((errors.WrongMode, errors.MastershipMissing)):
                await write()
        assert not running.writes
        assert (
            running.controller.control_state,
            running.controller.running,
            running.controller.speed_percent,
        ) == ('motoroff', False, 100)
        assert running.controller.memory.values == before


@ALL
async def test_a_held_mastership_is_reported_and_can_be_taken_once_free(generation):
    async with cell(generation) as (running, controller), client(running) as other:
        async with other.mastership():
            with pytest.raises(errors.MastershipHeld):
                await controller.set_symbol('T_ROB1/Module1/test_var_num', '1')
            with pytest.raises(errors.MastershipHeld):
                async with controller.mastership():
                    raise AssertionError('both hold it')
        await controller.set_symbol('T_ROB1/Module1/test_var_num', '1')


@ALL
@pytest.mark.parametrize('end', ['exception', 'cancel', 'stolen', 'session lost'])
async def test_mastership_is_never_left_behind(generation, end):
    async def hold(running, controller, holding):
        async with controller.mastership():
            holding.set()
            if end == 'exception':
                raise RuntimeError('in the middle')
            if end == 'stolen':
                running.controller.access.steal_mastership(
                    controller.dialect.edit_domain, 'FlexPendant'
                )
                await controller.set_symbol('T_ROB1/Module1/test_var_num', '2')
            if end == 'session lost':
                running.sessions.end_all()
                await controller.system()
                return
            await asyncio.Event().wait()

    async with cell(generation) as (running, controller):
        holding = asyncio.Event()
        task = asyncio.create_task(hold(running, controller, holding))
        await holding.wait()
        if end == 'cancel':
            assert running.controller.access.masters[controller.dialect.edit_domain] is not None
            task.cancel()
        result = (await asyncio.gather(task, return_exceptions=True))[0]
        kinds = {
            'exception': RuntimeError,
            'cancel': asyncio.CancelledError,
            'stolen': errors.MastershipHeld,
            'session lost': type(None),
        }
        assert isinstance(result, kinds[end]), result
        if end == 'stolen':
            running.controller.access.steal_mastership(controller.dialect.edit_domain, None)
        await until(lambda: set(running.controller.access.masters.values()) == {None}, 1.0)
        await controller.set_symbol('T_ROB1/Module1/test_var_num', '3')


@pytest.mark.parametrize('fault', ['busy', 'silent', 'html_500'])
async def test_a_failed_release_of_a_mastership_is_repeated(fault):
    async with (
        cell(endpoint={'timeout_s': 0.2}) as (running, controller),
        watched(controller) as monitor,
    ):
        async with controller.mastership():
            running.faults.only = '/rw/mastership'
            setattr(running.faults, fault, True)
        before = monitor.known.joints.asked_s
        # polling continues
        await until(lambda: monitor.known.joints.asked_s > before + 0.5, 2.0)
        assert running.controller.access.masters['rapid'] is not None
        running.faults.clear()
        await until(lambda: running.controller.access.masters['rapid'] is None, 2.0)


async def test_robotware_8_has_one_write_access_instead_of_masterships():
    async with cell(2, robotware='8.1.1') as (running, controller), client(running) as other:
        for value in ('1', '2'):
            await controller.set_symbol('T_ROB1/Module1/test_var_num', value)
        assert running.controller.memory.read('T_ROB1/Module1/test_var_num') == '2'
        async with controller.mastership():
            with pytest.raises(errors.MastershipHeld):
                async with other.mastership():
                    raise AssertionError('both hold it')
        assert set(running.controller.access.masters.values()) == {None}
        asked = [path for path in running.writes if path.startswith('/rw/mastership')]
        assert asked == []


@ALL
async def test_starting_in_the_wrong_state_is_refused(generation):
    async with cell(generation) as (running, controller):
        with pytest.raises(errors.WrongState):
            await controller.start()
        await controller.set_motors(True)
        running.controller.pointer = False
        with pytest.raises(errors.NoProgramPointer):
            await controller.start()
        await controller.reset_pointer()
        await controller.start('forever')
        with pytest.raises(errors.WrongState):
            await controller.start()
        with pytest.raises(errors.WrongState):
            await controller.reset_pointer()
        await controller.stop()
        await controller.stop()  # harmless
        assert (await controller.execution()).value.running is False


@ALL
async def test_refusals_are_typed(generation):
    async with cell(generation) as (_running, controller):
        for call, kind in [
            (controller.set_signal('DRV1TESTE2', 1), errors.AccessDenied),
            (controller.set_signal('Local/PANEL/SS2', 0), errors.AccessDenied),
            (controller.set_signal('NoSuch', 1), errors.NotFound),
            (controller.signal('NoNet/NoDev/NoSuch'), errors.NotFound),
            (controller.symbol('T_ROB1/BASE/no_such_var'), errors.NotFound),
            (controller.set_symbol('T_ROB1/nope', '1'), errors.NotFound),
            (
                controller.set_symbol('T_ROB1/Module1/test_var_num', '"text"'),
                errors.InvalidArgument,
            ),
            (controller.set_symbol('T_ROB1/Module1/test_array', '[1,2]'), errors.InvalidArgument),
            (controller.set_signal('DO_01', 0.5), errors.InvalidArgument),
        ]:
            with pytest.raises(kind):
                await call


async def test_invalid_input_is_not_sent():
    async with cell() as (running, controller):
        await controller.system()
        before = running.requests
        for call in [
            controller.set_speed_ratio(1.5),
            controller.set_signal('DO_01', float('nan')),
            controller.set_signal('../x', 1),
            controller.set_symbol('T_ROB1/x?action=set&json=1', '1'),
            controller.set_symbol('T_ROB1/x', '1&value=2'),
            controller.symbol('x'),
            controller.start('always'),
        ]:
            with pytest.raises(errors.ConfigurationError):
                await call
        assert running.requests == before


@ALL
async def test_signals_variables_and_speed_are_written_and_read_back(generation):
    async with cell(generation) as (running, controller):
        await controller.set_signal('DeviceNet/d652/DO_01', 1)
        assert (await controller.signal('DO_01')).value.value == 1.0
        assert running.controller.signals.by_path['DeviceNet/d652/DO_01'].value == 1.0
        await controller.set_symbol(
            'T_ROB1/Module1/test_var_str', '"a ""quoted"" text; with [ and &"'
        )
        assert (
            await controller.symbol('T_ROB1/Module1/test_var_str')
        ).value == '"a ""quoted"" text; with [ and &"'
        await controller.set_speed_ratio(0.25)
        assert (await controller.speed_ratio()).value == 0.25


@ALL
async def test_the_sequence_of_the_paper_moves_the_robot(generation):
    async with cell(generation) as (running, controller), watched(controller) as monitor:
        await controller.set_motors(True)
        await monitor.wait_for(lambda known: known.control_state.value == 'motoron', 1.0)
        seen = []
        arrival = await move_to(controller, monitor, TARGET_RAD, progress=seen.append)
        np.testing.assert_allclose(arrival.position_rad, TARGET_RAD, atol=0.002)
        np.testing.assert_allclose(running.controller.robot.joints_rad, TARGET_RAD, atol=0.002)
        assert running.controller.running is False
        assert seen[-1] <= 0.002 and len(seen) > 3
        writes = [path for path in running.writes if 'mastership' not in path]
        assert [path.rpartition('/')[2] for path in writes] == [
            'ctrlstate?setctrlstate',
            'execution?resetpp',
            'J_Orientation_Target?set',
            'execution?start',
            'execution?stop',
        ]


@pytest.mark.parametrize(
    'target_deg', [[0, 0, 80, 0, 0, 0], [0, 0, float('nan'), 0, 0, 0], [0, 0, 0]]
)
async def test_a_target_outside_the_limits_is_not_sent(target_deg):
    async with cell() as (running, controller), watched(controller) as monitor:
        await controller.set_motors(True)
        with pytest.raises(errors.ConfigurationError):
            await move_to(controller, monitor, np.deg2rad(target_deg))
        assert [path for path in running.writes] == ['/rw/panel/ctrlstate?setctrlstate']


@asynccontextmanager
async def slow_move():
    """Emulator, and a task whose move has started."""
    async with cell() as (running, controller), watched(controller) as monitor:
        await controller.set_motors(True)
        await controller.set_speed_ratio(0.1)
        await monitor.wait_for(lambda known: known.control_state.value == 'motoron', 1.0)
        moving = asyncio.create_task(move_to(controller, monitor, TARGET_RAD))
        await until(
            lambda: running.controller.running and not running.controller.robot.arrived, 2.0
        )
        yield running, moving


@pytest.mark.parametrize(
    ('disturb', 'why'),
    [
        (lambda emulator: emulator.controller.emergency_stop(True), 'emergencystop'),
        (lambda emulator: emulator.controller.guard_stop(True), 'guardstop'),
        (lambda emulator: emulator.controller.stop(), 'program stopped'),
        (
            lambda emulator: emulator.controller.set_operation_mode('MANR'),
            'guardstop|program stopped',
        ),
    ],
)
async def test_an_interrupted_move_ends_within_a_second(disturb, why):
    async with slow_move() as (running, moving):
        await asyncio.sleep(0.3)
        disturb(running)
        stood_rad = running.controller.robot.joints_rad
        await until(moving.done, 1.2)
        with pytest.raises(MoveFailed, match=why):
            moving.result()
        np.testing.assert_array_equal(running.controller.robot.joints_rad, stood_rad)


async def test_a_move_without_joint_angles_is_stopped_once_the_controller_responds():
    async with slow_move() as (running, moving):
        running.faults.silent = True
        await asyncio.sleep(2.0)
        # the stop is sent, without effect
        assert running.controller.running and not moving.done()
        running.faults.clear()
        await until(lambda: not running.controller.running, 1.5)
        with pytest.raises(MoveFailed, match='no joint angles for 1.0 s'):
            await moving
