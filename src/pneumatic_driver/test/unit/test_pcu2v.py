"""The PCU2-V on its emulation, and on devices that are worse than it."""

import asyncio
import contextlib
import math
import time

import numpy as np
import pytest
import yaml

from pneumatic_driver.board import Board
from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import CommandError, LinkError, RefusedError, RegisterMapError
from pneumatic_driver.link_client import client_for
from pneumatic_driver.pcu2v import Pcu2v
from pneumatic_driver.register_map import RegisterMap, load_map, shipped_maps
from soft_arm_sim.devices.modbus_server import DeviceThread, ModbusDevice

from ..boards import wait_for
from ..conftest import device_of

pytestmark = pytest.mark.steady_clock


async def enabled(rig, link=None) -> Pcu2v:
    device = device_of(rig, link)
    await device.connect()
    await device.vent()
    await device.enable()
    return device


async def drive(device, target_pa, until=lambda exchange: False, duration_s=0.6):
    """Exchanges at 50 Hz until the condition is true."""
    end_s = time.monotonic() + duration_s
    while time.monotonic() < end_s:
        exchange = await device.exchange([target_pa])
        if until(exchange):
            break
        await asyncio.sleep(0.02)
    return exchange


def record_triggers(rig) -> list:
    """Every state of the triggers that a write leaves, and every read, in their order."""
    seen, logic = [], rig.device.logic
    write, read = logic.write, logic.read

    def recording_write(address, values):
        code = write(address, values)
        seen.append((logic.positive_trigger, logic.negative_trigger))
        return code

    def recording_read(address, count):
        seen.append('read')
        return read(address, count)

    logic.write, logic.read = recording_write, recording_read
    return seen


class Memory:
    """A device that takes everything: six words, no interlock, no watchdog."""

    def __init__(self):
        self.words, self.history, self.refuse_code = [0] * 6, [], 0

    def read(self, address, count):
        return self.words[address : address + count]

    def write(self, address, values):
        if self.refuse_code:
            return self.refuse_code
        self.words[address : address + len(values)] = values
        self.history.append(self.words[1])
        return 0


class MemoryDevice(ModbusDevice):
    def __init__(self, logic):
        super().__init__('memory', logic, (3, 16), '127.0.0.1', 0, 0.01)

    def tick(self, dt_s):
        pass

    def power_off(self):
        pass


@contextlib.contextmanager
def served(logic):
    thread = DeviceThread(MemoryDevice(logic))
    thread.start()
    try:
        yield logic, thread.device.port
    finally:
        thread.stop()


def test_follows_both_signs_and_reads_five_values_back(gripper):
    async def scenario():
        device, states = await enabled(gripper), []
        for target_pa in (100e3, -80e3, 0.0):
            states.append(
                await drive(
                    device,
                    target_pa,
                    lambda e, t=target_pa: e.targets_pa == t and e.pressures_pa == t,
                )
            )
        device.close()
        return states

    up, down, off = asyncio.run(scenario())
    assert (
        up.positive_target_pa,
        up.negative_target_pa,
        up.positive_trigger,
        up.negative_trigger,
    ) == (100e3, 0.0, True, False)
    assert (
        down.positive_target_pa,
        down.negative_target_pa,
        down.positive_trigger,
        down.negative_trigger,
    ) == (0.0, -80e3, False, True)
    assert (off.pressures_pa, off.positive_trigger, off.negative_trigger) == (0.0, False, False)
    assert up.running and down.running and up.faults == down.faults == () and up.halted == ''


def test_sign_changes_break_before_they_make(gripper):
    seen = record_triggers(gripper)

    async def scenario():
        device = await enabled(gripper)
        for target_pa in (60e3, -60e3, 60e3, -60e3):
            await drive(device, target_pa, lambda e, t=target_pa: e.pressures_pa == t)
        device.close()

    asyncio.run(scenario())
    assert (True, True) not in seen and {(True, False), (False, True)} <= set(seen)
    last, read_since = (False, False), False
    for event in seen:
        if event == 'read':
            read_since = True
        elif event != last:
            assert event == (False, False) or (last == (False, False) and read_since)
            last, read_since = event, False


def test_device_that_restarts_between_reading_and_writing_is_not_switched_on_again(gripper):
    async def scenario():
        device = await enabled(gripper)
        await drive(device, 60e3, lambda e: e.pressures_pa == 60e3)
        read = gripper.device.logic.read

        def last_answer(address, count):
            words = read(address, count)
            gripper.device.logic.vent()
            return words

        gripper.device.logic.read = last_answer
        await device.exchange([60e3])
        gripper.device.logic.read = read
        assert not gripper.device.logic.positive_trigger
        exchange = await device.exchange([60e3])
        assert 'it was restarted' in exchange.halted and exchange.faults == ()
        device.close()

    asyncio.run(scenario())


def test_pressure_moves_within_the_slew_limit_of_the_map(gripper):
    slow = load_map('pcu2v').with_link(**gripper.link)
    slow = slow.model_copy(update={'limits': slow.limits.model_copy(update={'slew_kpa_s': 100.0})})

    async def scenario():
        device = Pcu2v(slow)
        await device.connect()
        await device.enable()
        started_s = time.monotonic()
        exchange = await drive(device, 20e3, lambda e: e.pressures_pa == 20e3, 2.0)
        device.close()
        return exchange.at_s - started_s

    assert asyncio.run(scenario()) >= 0.2
    steps_pa = np.diff([targets_pa[0] for _, targets_pa in gripper.plant.changes], prepend=0.0)
    assert steps_pa.max() <= 10e3 + 100  # what 0.1 s allow, however late a cycle is


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 120_100.0, -90_100.0])
def test_impossible_pressure_is_refused_before_anything_is_sent(gripper, bad):
    async def scenario():
        device = await enabled(gripper)
        sent = list(device.frames)
        with pytest.raises(
            CommandError,
            match=r'channel 0: .* Pa is outside \[-90000, 120000\] Pa: nothing was written',
        ):
            await device.exchange([bad])
        with pytest.raises(CommandError, match='2 set points'):
            await device.exchange([0.0, 0.0])
        assert list(device.frames) == sent
        device.close()

    asyncio.run(scenario())
    assert gripper.plant.vented


def test_no_set_points_without_enable(gripper):
    async def scenario():
        device = await enabled(gripper)
        await device.connect()
        with pytest.raises(CommandError, match='enable it first'):
            await device.exchange([10e3])
        device.close()

    asyncio.run(scenario())


def test_wrong_unit_id_is_refused(gripper):
    good = load_map('pcu2v').with_link(**gripper.link)
    wrong = good.model_copy(update={'link': good.link.model_copy(update={'unit_id': 9})})
    with pytest.raises(RefusedError, match=r'unit 9: .* exception 11'):
        asyncio.run(Pcu2v(wrong).connect())


@pytest.mark.parametrize('map_name', ['pcu2v', 'valve_board'])
def test_the_other_device_is_refused(tcp_board, gripper, map_name):
    rig, other = (gripper, tcp_board) if map_name == 'pcu2v' else (tcp_board, gripper)
    # Sensors that are not exactly at zero; six zeros would look like a vented gripper.
    tcp_board.plant.forced_pa = np.full(6, 100.0)
    wait_for(lambda: tcp_board.device.logic.pressures[0])
    with pytest.raises(
        (LinkError, RefusedError), match='is not the map of this device|exception 2|exception 1'
    ):
        asyncio.run(device_of(rig, other.link).connect())


def on_paper(rig) -> Pcu2v:
    """The device with an address of another machine, which nothing here may reach."""
    far, near = (load_map('pcu2v').with_link(**link) for link in ({'host': '192.0.2.1'}, rig.link))
    return Pcu2v(far, new_client=lambda _, trace: client_for(near.link, trace))


def test_unverified_map_only_reads_from_a_device_that_is_not_here(gripper):
    register_map = load_map('pcu2v')
    assert not register_map.device.verified and 'assumed' in register_map.device.source.lower()
    far = register_map.with_link('192.0.2.1', gripper.link['port'])
    assert not Pcu2v(far, 'pcu2v').read_only and Pcu2v(far, 'another').read_only

    async def scenario():
        device = on_paper(gripper)
        await device.connect()
        assert (await device.exchange()).pressures_pa == 0.0
        with pytest.raises(RefusedError, match='accept_unverified_map:=pcu2v'):
            await device.enable()
        gripper.drive_from_elsewhere(0)
        with pytest.raises(RefusedError, match='it may only read'):
            await device.vent()  # never says that it vented what it did not
        await device.clear_faults()
        assert gripper.device.logic.positive_trigger
        device.close()

    asyncio.run(scenario())


def test_driver_with_an_unverified_map_reads_and_says_that_it_may_not_vent(gripper):
    device = on_paper(gripper)
    exchanges, writes = [], []
    gripper.device.logic.write = lambda address, values: writes.append(address) or 0
    driver = Driver(device, 50.0, 0.5, exchanges.append)
    try:
        driver.connect()
        wait_for(lambda: len(exchanges) > 5)
        for call in (driver.arm, driver.vent):
            with pytest.raises(RefusedError, match='accept_unverified_map:=pcu2v'):
                call()
        driver.clear_faults()
    finally:
        driver.close()
    assert writes == []


def test_maps_that_do_not_fit_the_device_are_refused():
    with pytest.raises(
        RegisterMapError,
        match="'valve_board': poll 'cycle' does not read a register 'positive_target'",
    ):
        Pcu2v(load_map('valve_board'))
    with pytest.raises(RegisterMapError, match="no register 'target'"):
        Board(load_map('pcu2v'))
    content = yaml.safe_load(shipped_maps()['pcu2v'].read_text())
    content['polls'][0]['count'] = 5
    content['polls'].append({'name': 'slow', 'start': 5, 'count': 1, 'rate_hz': 1.0})
    with pytest.raises(RegisterMapError, match="poll 'cycle' does not read a register 'heartbeat'"):
        Pcu2v(RegisterMap.model_validate(content))
    content = yaml.safe_load(shipped_maps()['pcu2v'].read_text())
    content['limits']['pressure_kpa'] = [-90.0, 150.0]
    with pytest.raises(
        RegisterMapError,
        match=r"pressure_kpa allows 150 kPa, register 'positive_target' only \[0, 120000\] Pa",
    ):
        Pcu2v(RegisterMap.model_validate(content))


def test_map_without_heartbeat_works_too(gripper):
    content = yaml.safe_load(shipped_maps()['pcu2v'].read_text())
    del content['heartbeat'], content['registers']['heartbeat']
    content['polls'][0]['count'] = 5

    async def scenario():
        device = Pcu2v(RegisterMap.model_validate(content).with_link(**gripper.link))
        await device.connect()
        await device.enable()
        exchange = await drive(device, 40e3, lambda e: e.pressures_pa == 40e3)
        device.close()
        return exchange

    assert asyncio.run(scenario()).pressures_pa == 40e3
    wait_for(lambda: gripper.plant.time_s > 1.0)
    # Without a heartbeat there is no watchdog, as the map's header warns.
    assert gripper.plant.follows([40e3])


def test_bits_of_one_word_work_too():
    content = yaml.safe_load(shipped_maps()['pcu2v'].read_text())
    content['registers']['positive_trigger'] |= {'bit': 0}
    content['registers']['negative_trigger'] |= {'bit': 1, 'addr': 1}

    with served(Memory()) as (logic, port):

        async def scenario():
            device = Pcu2v(RegisterMap.model_validate(content).with_link(port=port))
            await device.connect()
            await device.enable()
            seen = []
            for target_pa in (30e3, -30e3):
                await drive(device, target_pa, lambda e, t=target_pa: e.targets_pa == t)
                seen.append(logic.words[1])
            device.close()
            return seen

        assert asyncio.run(scenario()) == [0b01, 0b10]
        assert 0b11 not in logic.history


def test_device_without_interlock_is_never_told_both_and_both_on_is_a_latched_fault():
    with served(Memory()) as (logic, port):

        async def scenario():
            device = Pcu2v(load_map('pcu2v').with_link(port=port))
            await device.connect()
            await device.enable()
            for target_pa in (30e3, -30e3, 30e3):
                await drive(device, target_pa, lambda e, t=target_pa: e.targets_pa == t)
            logic.words[1:3] = [1, 1]  # somebody else
            exchange = await device.exchange([30e3])
            assert (
                exchange.faults == ('both_triggers_on', 'foreign_master')
                and exchange.targets_pa is None
                and not exchange.running
            )
            await device.vent()
            assert logic.words[1:5] == [0, 0, 0, 0]
            with pytest.raises(
                RefusedError,
                match='latched both_triggers_on, foreign_master: find the cause, then clear',
            ):
                await device.enable()
            await device.clear_faults()
            await device.enable()
            device.close()

        asyncio.run(scenario())


@pytest.mark.parametrize(
    ('code', 'name'),
    [
        (1, 'illegal function'),
        (2, 'illegal address'),
        (3, 'illegal value'),
        (4, 'device failure'),
        (6, 'device busy'),
    ],
)
def test_exceptions_of_the_device_are_named_and_nothing_is_repeated(code, name):
    with served(Memory()) as (logic, port):

        async def scenario():
            device = Pcu2v(load_map('pcu2v').with_link(port=port))
            await device.connect()
            await device.enable()
            logic.refuse_code, writes = code, len(logic.history)
            with pytest.raises(
                RefusedError, match=rf'exception {code} \({name}\); nothing was changed'
            ):
                await device.exchange([30e3])
            assert len(logic.history) == writes
            device.close()

        asyncio.run(scenario())


def test_garbage_where_the_set_points_should_be_is_another_device():
    with served(Memory()) as (logic, port):
        logic.words = [100, 7, 0, 0, 0, 0]
        with pytest.raises(
            LinkError, match="register 'positive_trigger' holds .* is not the map of this device"
        ):
            asyncio.run(Pcu2v(load_map('pcu2v').with_link(port=port)).connect())
