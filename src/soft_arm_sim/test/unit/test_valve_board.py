"""The emulated valve board: what its logic promises, and that it serves it on a port."""

import asyncio
import threading

import numpy as np
import pytest
from pymodbus.client import AsyncModbusTcpClient

from soft_arm_sim.devices.modbus_server import RELEASE_S, DeviceThread, PortInUseError
from soft_arm_sim.devices.valve_board import FAULT_CLEAR_KEY as KEY_OF_FAULTS
from soft_arm_sim.devices.valve_board import (
    HOLD,
    RUN,
    VENT,
    BoardLogic,
    BoardLoop,
    ValveBoard,
)

pytestmark = pytest.mark.steady_clock

FAULT_WATCHDOG, MAP_ID = 1 << 12, 0x5B06  # of six channels
SUPPLY = 20_000
STILL = [0] * 6
ENABLE, MODE, WATCHDOG, KEY, SLEW = 107, 108, 109, 110, 111


KEYS = 4_711, 12_345
HOLDER = [ord('l') << 8 | ord('a'), ord('b') << 8] + [0] * 8


def code(logic: BoardLogic) -> int:
    """The holder's next code."""
    return (logic.heartbeat * (KEYS[0] & ~7 | 5) + (KEYS[1] | 1)) % 65536


def write(logic: BoardLogic, address: int, values: list[int]) -> int:
    """A write of the holder, from the heartbeat at the latest.

    Settings in between stay as they are.
    """
    if address <= 106:
        return logic.write(
            address, [*values, *logic.read(address, 7)[len(values) : 106 - address], code(logic)]
        )
    between = [KEY_OF_FAULTS if at == KEY else logic.read(at, 1)[0] for at in range(107, address)]
    return logic.write(106, [code(logic), *between, *values])


def running(targets=(1000, -2000, 3000, -4000, 5000, -6000), slew_kpa_s=5000) -> BoardLogic:
    logic = BoardLogic()
    assert logic.write(SLEW, [slew_kpa_s]) == 0
    assert logic.write(112, [*KEYS, *HOLDER]) == 0
    assert write(logic, ENABLE, [63, RUN]) == 0
    assert write(logic, 100, [t & 0xFFFF for t in targets]) == 0
    return logic


def beat(logic: BoardLogic) -> None:
    assert logic.write(106, [code(logic)]) == 0


def run_for(
    logic: BoardLogic, duration_ms: int, pressures=STILL, supply=SUPPLY, alive=True
) -> None:
    for _ in range(0, duration_ms, 5):
        if alive:
            beat(logic)
        logic.tick(5, list(pressures), supply)


def test_boots_vented_and_says_who_it_is():
    logic = BoardLogic()
    logic.tick(5, STILL, SUPPLY)
    assert logic.drives_pa == [0] * 6
    words = logic.read(0, 19)
    assert words[6:12] == [10_000] * 6 and words[12] == 0 and words[13] == 0 and words[18] == MAP_ID
    assert logic.read(109, 1) == [300]


def test_follows_targets_within_its_slew_limit():
    logic = running(slew_kpa_s=100)
    run_for(logic, 50)
    assert logic.drives_pa == [5000, -5000, 5000, -5000, 5000, -5000]
    run_for(logic, 600)
    assert logic.drives_pa == [10_000, -20_000, 30_000, -40_000, 50_000, -60_000]


def test_only_enabled_channels_are_driven():
    logic = running()
    write(logic, ENABLE, [0b000101])
    run_for(logic, 50)
    assert logic.drives_pa == [10_000, 0, 30_000, 0, 0, 0]


def test_hold_freezes_and_vent_lets_go_at_once():
    logic = running()
    run_for(logic, 50)
    write(logic, MODE, [HOLD])
    write(logic, 100, [0] * 6)
    run_for(logic, 50)
    assert logic.drives_pa == [10_000, -20_000, 30_000, -40_000, 50_000, -60_000]
    write(logic, MODE, [VENT])
    logic.tick(5, STILL, SUPPLY)
    assert logic.drives_pa == [0] * 6


@pytest.mark.parametrize('timeout_ms', [50, 250, 300])
def test_silent_host_vents_in_time_and_latches(timeout_ms):
    logic = running()
    write(logic, WATCHDOG, [timeout_ms])
    beat(logic)
    run_for(logic, timeout_ms - 5, alive=False)
    assert logic.mode == RUN
    run_for(logic, 5, alive=False)
    assert (logic.mode, logic.drives_pa, logic.faults) == (VENT, [0] * 6, FAULT_WATCHDOG)
    assert logic.write(112, [*KEYS, *HOLDER]) == 0  # its hold has ended with its silence
    assert write(logic, MODE, [RUN]) == 4 and logic.mode == VENT


def test_leaving_vent_starts_from_ambient():
    logic = running()
    run_for(logic, 100)
    write(logic, MODE, [VENT])
    write(logic, 100, [5000] * 6)
    write(logic, ENABLE, [63, RUN])
    run_for(logic, 100)
    assert logic.drives_pa == [0] * 6


@pytest.mark.parametrize(('pressure', 'bit'), [(10_501, 4), (-10_501, 10)])
def test_measured_pressure_beyond_the_limit_vents_everything_and_needs_the_key(pressure, bit):
    logic = running()
    run_for(logic, 10, [0, 0, 0, 0, pressure, 0])
    run_for(logic, 5)
    run_for(logic, 10, [0, 0, 0, 0, pressure, 0])
    assert logic.faults == 0  # shorter than 15 ms at a time: a spike
    run_for(logic, 5, [0, 0, 0, 0, pressure, 0])
    assert (logic.faults, logic.drives_pa) == (1 << bit, [0] * 6)
    run_for(logic, 500)
    assert logic.faults == 1 << bit
    assert [write(logic, KEY, [k]) for k in (0, 1, 0x5AA5)] == [3, 3, 3] and logic.faults
    assert write(logic, KEY, [KEY_OF_FAULTS]) == 0
    logic.tick(5, STILL, SUPPLY)
    assert (logic.faults, logic.mode) == (0, VENT)


def test_fault_that_still_holds_comes_back_after_the_key():
    logic = running()
    run_for(logic, 50, [11_000] * 6)
    write(logic, KEY, [KEY_OF_FAULTS])
    logic.tick(5, [11_000] * 6, SUPPLY)
    assert logic.faults == 0b111111


@pytest.mark.parametrize(('supply_pa', 'word'), [(300e3, 30_000), (400e3, 32_767), (1e9, 32_767)])
def test_a_supply_beyond_the_sensors_range_reads_as_the_largest_number(supply_pa, word):
    board = BoardLoop(Plant(), supply_pa)
    board.tick(0.005)
    assert board.logic.read(17, 1) == [word]


@pytest.mark.parametrize(
    ('address', 'values', 'code'),
    [
        (100, [10_001], 3),
        (100, [55_535], 3),
        (105, [10_001, 1], 3),
        (107, [64], 3),
        (108, [3], 3),
        (109, [0], 3),
        (109, [301], 3),
        (111, [0], 3),
        (0, [1], 2),
        (18, [1], 2),
        (108, [RUN], 4),
        (112, [1], 2),
        (111, [1, 1], 2),
        (99, [1], 2),
        (124, [1], 2),
    ],
)
def test_refused_writes_change_nothing(address, values, code):
    logic = BoardLogic()
    before = logic.read(100, 24)
    assert logic.write(address, values) == code
    assert logic.read(100, 24) == before


class Plant:
    def __init__(self):
        self.targets_pa, self.moved = np.zeros(6), threading.Event()
        self.readings_pa = np.zeros(6)

    def set_valve_targets_pa(self, targets_pa):
        self.targets_pa = targets_pa
        if targets_pa.any():
            self.moved.set()

    def sensor_pressures_pa(self):
        return self.readings_pa


@pytest.fixture
def server():
    server = DeviceThread(ValveBoard(Plant(), port=0))
    server.start()
    yield server
    server.stop()
    assert not [t for t in threading.enumerate() if t.name == 'valve_board']


def test_serves_the_registers_and_moves_the_plant(server):
    async def scenario():
        async with AsyncModbusTcpClient(
            '127.0.0.1', port=server.device.port, timeout=1, retries=0
        ) as client:
            assert (await client.read_input_registers(18, count=1)).registers == [MAP_ID]
            assert (await client.write_registers(112, [*KEYS, *HOLDER])).isError() is False
            logic = server.device.logic
            assert (await client.write_registers(106, [code(logic), 1, RUN])).isError() is False
            beat = code(logic)
            answer = await client.readwrite_registers(
                read_address=0, read_count=19, write_address=100, values=[500, 0, 0, 0, 0, 0, beat]
            )
            refused = [
                await client.write_registers(100, [20_000, 0, 0, 0, 0, 0, code(logic)]),
                await client.read_holding_registers(50, count=1),
                await client.read_coils(0, count=1),
                await client.read_holding_registers(0, device_id=7),
            ]
            return answer.registers, beat, [answer.exception_code for answer in refused]

    words, beat, codes = asyncio.run(scenario())
    assert words[15] == beat and words[12] & 1
    assert codes == [3, 2, 1, 11]
    assert server.device.plant.moved.wait(1.0)


def test_sensor_values_beyond_a_register_are_limited_not_wrapped():
    board = ValveBoard(Plant())
    board.plant.readings_pa = np.array([0.0, 14.9, -14.9, 1e3, -1e3, 1e9])
    board.tick(0.005)
    assert board.logic.pressures == [0, 1, -1, 100, -100, 0x7FFF]


def test_ticks_shorter_than_a_millisecond_add_up():
    board = ValveBoard(Plant())
    for _ in range(100):
        board.tick(0.0004)
    assert 39 <= board.logic.uptime_ms <= 40


def test_stopped_board_vents(server):
    server.device.logic.write(112, [*KEYS, *HOLDER])
    write(server.device.logic, ENABLE, [63, RUN])
    write(server.device.logic, 100, [100] * 6)
    assert server.device.plant.moved.wait(1.0)
    server.stop()
    assert not server.device.plant.targets_pa.any()


def test_a_held_board_that_is_told_to_end_serves_until_the_hold_has_ended(server):
    server.device.logic.write(112, [*KEYS, *HOLDER])
    write(server.device.logic, ENABLE, [63, RUN])
    write(server.device.logic, 100, [100] * 6)
    assert server.device.plant.moved.wait(1.0)
    # The host is dead: the watchdog vents, and nobody holds the board any more.
    server.stop(RELEASE_S)
    assert server.device.logic.faults == FAULT_WATCHDOG and not server.device.plant.targets_pa.any()


def test_port_in_use_is_one_clear_line(server):
    second = DeviceThread(ValveBoard(Plant(), port=server.device.port))
    with pytest.raises(
        PortInUseError,
        match=f'cannot listen on 127.0.0.1:{server.device.port}, probably another program',
    ) as error:
        second.start()
    assert '\n' not in str(error.value)
