"""Both devices on their emulated registers, without sockets: what they send, refuse and report."""

import asyncio

import numpy as np
import pytest
import yaml

from pneumatic_driver.board import Board
from pneumatic_driver.errors import (
    CommandError,
    HeldError,
    LinkError,
    RefusedError,
    RegisterMapError,
)
from pneumatic_driver.pcu2v import Pcu2v
from pneumatic_driver.register_map import RegisterMap, load_map, shipped_maps
from soft_arm_sim.devices.direct_client import run_to_end
from soft_arm_sim.devices.pcu2v import Pcu2vLogic

from ..bench import PERIOD_S, BoardBench, GripperBench
from ..boards import Host


def pcu2v_map(change=lambda content: None) -> RegisterMap:
    content = yaml.safe_load(shipped_maps()['pcu2v'].read_text())
    change(content)
    return RegisterMap.model_validate(content)


def enabled(bench):
    bench.pass_time(PERIOD_S)
    run_to_end(bench.device.connect())
    run_to_end(bench.device.enable())
    return bench


def exchange(bench, targets_pa=None, seconds: float = PERIOD_S):
    """Exchange at 50 Hz; return the last result."""
    for _ in range(round(seconds / PERIOD_S)):
        result = run_to_end(bench.device.exchange(targets_pa))
        bench.pass_time(PERIOD_S)
    return result


def test_targets_are_rounded_to_the_resolution_of_the_board():
    result = exchange(enabled(BoardBench()), [4.0, 6.0, -14.0, 0.0, 0.0, 0.0])
    assert result.targets_pa == pytest.approx([0.0, 10.0, -10.0, 0.0, 0.0, 0.0], abs=1e-9)
    assert result.supply_pa == pytest.approx(200e3)


def test_no_set_points_without_enable(bench):
    enabled(bench)
    exchange(bench, bench.targets_pa)
    bench.device.close()
    bench.pass_time(0.4)  # hold and watchdog lapse
    run_to_end(bench.device.connect())
    with pytest.raises(CommandError, match='enable it first'):
        exchange(bench, bench.targets_pa)


def test_another_map_id_is_refused():
    good = load_map('valve_board')
    wrong = good.model_copy(update={'identity': good.identity.model_copy(update={'value': 7.0})})
    with pytest.raises(LinkError, match='the device reports map id 23302, map .* is for 7'):
        run_to_end(BoardBench(register_map=wrong).device.connect())


@pytest.mark.parametrize('kind', [BoardBench, GripperBench])
def test_the_other_device_is_refused(kind):
    other = BoardBench() if kind is GripperBench else GripperBench()
    bench = kind()
    bench.logic, bench.functions = other.logic, other.functions
    if kind is GripperBench:  # six zeros would look like a vented gripper
        other.forced_pa = [100.0] * 6
        other.pass_time(PERIOD_S)
    with pytest.raises(
        (LinkError, RefusedError), match='is not the map of this device|exception 2|exception 1'
    ):
        run_to_end(bench.device.connect())


def test_refusals_of_the_board_are_named():
    bench = BoardBench()
    run_to_end(bench.device._open())
    for address, values, text in (
        (100, [20_000], r'exception 3 \(illegal value\)'),
        (50, [1], r'exception 2 \(illegal address\)'),
        (108, [2], r'exception 4 \(device failure\)'),  # run requires the hold
    ):
        with pytest.raises(RefusedError, match=f'{text}; nothing was changed'):
            run_to_end(bench.device._modbus.write(address, values))
    run_to_end(bench.device.hold())
    with pytest.raises(RefusedError, match=r'exception 6 \(device busy\)'):
        run_to_end(bench.device._modbus.write(100, [0]))


@pytest.mark.parametrize('step', ['hold', 'exchange'])
def test_a_board_that_another_host_claims_meanwhile_is_reported_and_not_disturbed(step):
    bench = enabled(BoardBench())
    exchange(bench, bench.targets_pa)
    bench.pass_time(0.4)  # this host is silent, as if suspended
    other = Host(bench.logic.write)
    assert other.claim() == 0
    with pytest.raises(HeldError, match="held by 'bench 17'"):
        if step == 'hold':
            run_to_end(bench.device.hold())
        else:
            exchange(bench, bench.targets_pa)
    assert not bench.device.enabled or step == 'hold'
    assert other.command([0] * 6) == 0


@pytest.mark.parametrize('accepted', [False, True])
def test_an_unverified_map_only_reads_from_another_machine(bench, accepted):
    good = load_map(bench.map).with_link('192.0.2.1')
    guess = good.model_copy(update={'device': good.device.model_copy(update={'verified': False})})
    far = type(bench)(register_map=guess, accept_unverified_map=bench.map if accepted else 'other')
    run_to_end(far.device.connect())
    assert far.device.read_only is not accepted and exchange(far).vented
    if accepted:
        run_to_end(far.device.enable())
        return
    writes = []
    far.logic.write = lambda address, values: writes.append(address) or 0
    for step in (far.device.enable, far.device.vent, far.cycle.arm):
        with pytest.raises(RefusedError, match=f'accept_unverified_map:={bench.map}'):
            run_to_end(step())
    far.cycle.ask_vent()
    far.do('clear_faults')
    far.run(5 * PERIOD_S)
    assert writes == [] and far.cycle.latest is not None


def test_the_gripper_follows_both_signs_and_reads_five_values_back(gripper_bench):
    enabled(gripper_bench)
    up, down, off = (exchange(gripper_bench, [pa], 0.6) for pa in (100e3, -80e3, 0.0))
    assert (up.positive_target_pa, up.positive_trigger, up.negative_trigger) == (100e3, True, False)
    assert (down.negative_target_pa, down.positive_trigger, down.negative_trigger) == (
        -80e3,
        False,
        True,
    )
    assert (off.pressures_pa, off.positive_trigger, off.negative_trigger) == (0.0, False, False)
    assert up.pressures_pa == 100e3 and down.pressures_pa == -80e3
    assert up.running and down.running and up.faults == down.faults == () and up.halted == ''


def test_triggers_of_the_gripper_break_before_they_make(gripper_bench):
    seen, logic = [], gripper_bench.logic
    write, read = logic.write, logic.read

    def recording_write(address, values):
        code = write(address, values)
        seen.append((logic.positive_trigger, logic.negative_trigger))
        return code

    logic.write = recording_write
    logic.read = lambda address, count: [seen.append('read'), read(address, count)][1]
    enabled(gripper_bench)
    for target_pa in (60e3, -60e3, 60e3, -60e3):
        exchange(gripper_bench, [target_pa], 0.4)
    assert (True, True) not in seen and {(True, False), (False, True)} <= set(seen)
    last, read_since = (False, False), False
    for event in seen:
        if event == 'read':
            read_since = True
        elif event != last:
            assert event == (False, False) or (last == (False, False) and read_since)
            last, read_since = event, False


def test_a_gripper_restarted_between_read_and_write_is_not_switched_on_again(gripper_bench):
    enabled(gripper_bench)
    exchange(gripper_bench, [60e3], 0.2)
    read = gripper_bench.logic.read

    def last_answer(address, count):
        words = read(address, count)
        gripper_bench.logic.vent()
        return words

    gripper_bench.logic.read = last_answer
    exchange(gripper_bench, [60e3])
    gripper_bench.logic.read = read
    assert not gripper_bench.runs
    result = exchange(gripper_bench, [60e3])
    assert 'it was restarted' in result.halted and result.faults == ()


def test_pressure_moves_within_the_slew_limit_of_the_map():
    bench = GripperBench(
        register_map=pcu2v_map(lambda content: content['limits'].update(slew_kpa_s=100.0))
    )
    enabled(bench)
    targets_pa = []
    for pause_s in [PERIOD_S] * 5 + [0.2] * 3:
        targets_pa.append(exchange(bench, [20e3]).targets_pa[0])
        bench.pass_time(pause_s - PERIOD_S)
    steps_pa = np.diff(targets_pa, prepend=0.0)
    assert steps_pa[2:5] == pytest.approx(2e3) and steps_pa.max() <= 10e3 + 100
    assert targets_pa[-1] == 20e3


class Memory(Pcu2vLogic):
    """Device that accepts everything: six words, without interlock or watchdog."""

    def __init__(self):
        self.words, self.history, self.refuse_code = [0] * 6, [], 0

    def tick(self, dt_ms, pressure):
        pass

    def read(self, address, count):
        return self.words[address : address + count]

    def write(self, address, values):
        if self.refuse_code:
            return self.refuse_code
        self.words[address : address + len(values)] = values
        self.history.append(self.words[1:3])
        return 0


class MemoryBench(GripperBench):
    make_logic = Memory

    def tick(self):
        pass


def test_a_device_without_interlock_never_gets_both_triggers_and_both_on_is_latched():
    bench = enabled(MemoryBench())
    for target_pa in (30e3, -30e3, 30e3):
        exchange(bench, [target_pa], 0.2)
    assert [1, 1] not in bench.logic.history
    bench.logic.words[1:3] = [1, 1]
    result = exchange(bench, [30e3])
    assert result.faults == ('both_triggers_on', 'foreign_master')
    assert result.targets_pa is None and not result.running
    run_to_end(bench.device.vent())
    assert bench.logic.words[1:5] == [0, 0, 0, 0]
    with pytest.raises(RefusedError, match='latched both_triggers_on, foreign_master'):
        run_to_end(bench.device.enable())
    run_to_end(bench.device.clear_faults())
    run_to_end(bench.device.enable())


def test_a_map_without_heartbeat_has_no_watchdog(gripper_bench):
    def without_heartbeat(content):
        del content['heartbeat'], content['registers']['heartbeat']
        content['polls'][0]['count'] = 5

    bench = enabled(GripperBench(register_map=pcu2v_map(without_heartbeat)))
    assert exchange(bench, [40e3], 0.2).pressures_pa == 40e3
    bench.pass_time(1.0)
    assert bench.runs  # as the header of the map warns


def test_a_refused_write_is_not_repeated():
    bench = enabled(MemoryBench())
    bench.logic.refuse_code, writes = 4, len(bench.logic.history)
    with pytest.raises(RefusedError, match=r'exception 4 \(device failure\); nothing was changed'):
        exchange(bench, [30e3])
    assert len(bench.logic.history) == writes


def slow_heartbeat(content):
    content['polls'][0]['count'] = 5
    content['polls'].append({'name': 'slow', 'start': 5, 'count': 1, 'rate_hz': 1.0})


@pytest.mark.parametrize(
    ('device', 'make_map', 'words'),
    [
        (Pcu2v, lambda: load_map('valve_board'), "does not read a register 'positive_target'"),
        (Board, lambda: load_map('pcu2v'), "does not read a register 'drive'"),
        (Pcu2v, lambda: pcu2v_map(slow_heartbeat), "does not read a register 'heartbeat'"),
        (
            Pcu2v,
            lambda: pcu2v_map(lambda c: c['limits'].update(pressure_kpa=[-90.0, 150.0])),
            r"allows 150 kPa, register 'positive_target' only \[0, 120000\] Pa",
        ),
    ],
)
def test_maps_that_do_not_fit_the_device_are_refused(device, make_map, words):
    with pytest.raises(RegisterMapError, match=words):
        device(make_map())


@pytest.mark.parametrize(
    ('link', 'words'),
    [({'port': 9}, 'no connection within'), ({'serial_device': '/dev/no_such'}, '/dev/no_such')],
)
def test_a_missing_device_is_reported(link, words):
    with pytest.raises(LinkError, match=words):
        asyncio.run(Board(load_map('valve_board').with_link(**link)).connect())
