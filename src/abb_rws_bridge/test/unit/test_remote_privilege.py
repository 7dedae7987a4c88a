"""Writes in manual mode require remote privilege (RMMP) and mastership (T9)."""

import asyncio

import pytest

from abb_rws_bridge import errors
from abb_rws_bridge.remote_privilege import remote_privilege
from rws_testing.cell import cell, client, until

pytestmark = pytest.mark.steady_clock

ALL = pytest.mark.parametrize('generation', [1, 2])
SYMBOL = 'T_ROB1/Module1/test_var_num'


async def answered(running, granted):
    await until(lambda: 'PENDING' in running.controller.access.privilege.holders.values())
    running.controller.access.privilege.answer(granted)


@ALL
async def test_privilege_and_mastership_allow_writes_in_manual_mode(generation):
    async with cell(generation) as (running, controller):
        running.controller.set_operation_mode('MANR')
        answer = asyncio.create_task(answered(running, granted=True))
        async with remote_privilege(controller, 2.0, poll_s=0.05):
            if generation == 1:  # implicit in automatic mode only
                with pytest.raises(errors.MastershipMissing):
                    await controller.set_symbol(SYMBOL, '4')
            async with controller.mastership():
                await controller.set_symbol(SYMBOL, '5')
            with pytest.raises(errors.WrongMode):
                await controller.set_motors(True)  # requires the enabling device
        await answer
        assert running.controller.memory.read(SYMBOL) == '5'
        assert running.controller.access.privilege.holders == {} and set(
            running.controller.access.masters.values()
        ) == {None}
        with pytest.raises((errors.MastershipMissing, errors.WrongMode)):
            await controller.set_symbol(SYMBOL, '6')


@ALL
@pytest.mark.parametrize('refused', [True, False])
async def test_a_refused_or_unanswered_request_is_withdrawn_from_the_pendant(generation, refused):
    async with cell(generation) as (running, controller):
        running.controller.set_operation_mode('MANR')
        answer = asyncio.create_task(
            answered(running, granted=False) if refused else asyncio.sleep(0)
        )
        with pytest.raises(errors.AccessDenied, match='pendant'):
            async with remote_privilege(controller, 0.4, poll_s=0.05):
                raise AssertionError('not granted')
        await answer
        assert running.controller.access.privilege.holders == {}


async def test_privilege_is_exclusive_and_for_manual_mode_only():
    async with cell() as (running, controller), client(running) as other:
        with pytest.raises(errors.WrongMode):
            async with remote_privilege(controller):
                raise AssertionError('not in automatic')
        running.controller.set_operation_mode('MANR')
        answer = asyncio.create_task(answered(running, granted=True))
        async with remote_privilege(controller, 2.0, poll_s=0.05):
            with pytest.raises(errors.MastershipHeld):
                async with remote_privilege(other, 0.5):
                    raise AssertionError('both have it')
        await answer


async def test_privilege_expires_without_polling():
    now = [0.0]
    async with cell() as (running, controller):
        running.controller.clock = lambda: now[0]
        running.controller.set_operation_mode('MANR')
        answer = asyncio.create_task(answered(running, granted=True))
        async with remote_privilege(controller, 2.0, poll_s=0.02):
            await answer
            for now[0] in (4.0, 8.0, 12.0, 16.0):
                asked = running.requests
                await until(lambda asked=asked: running.requests >= asked + 2)
            assert list(running.controller.access.privilege.holders.values()) == ['GRANTED']
            running.faults.silent, running.faults.only = True, '/users/rmmp'
            now[0] = 40.0
            with pytest.raises(errors.MastershipMissing):
                await controller.set_symbol(SYMBOL, '7')
            running.faults.clear()
        assert running.controller.access.privilege.holders == {}


async def test_privilege_is_released_when_the_block_is_cancelled():
    async def hold(controller, holding):
        async with remote_privilege(controller, 2.0, poll_s=0.05):
            holding.set()
            await asyncio.Event().wait()

    async with cell() as (running, controller):
        running.controller.set_operation_mode('MANR')
        answer, holding = asyncio.create_task(answered(running, granted=True)), asyncio.Event()
        task = asyncio.create_task(hold(controller, holding))
        await holding.wait()
        assert list(running.controller.access.privilege.holders.values()) == ['GRANTED']
        task.cancel()
        await asyncio.gather(task, answer, return_exceptions=True)
        await until(lambda: running.controller.access.privilege.holders == {}, 1.0)
