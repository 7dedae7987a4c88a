"""Equivalence of firmware, emulation and register map, for any number of channels."""

from random import Random

import pytest

from pneumatic_driver.errors import RegisterMapError
from pneumatic_driver.hold import Hold
from pneumatic_driver.register_map import load_map
from pneumatic_driver.valve_board_map import with_channels
from soft_arm_sim.devices.valve_board import FAULT_CLEAR_KEY, BoardLogic

from ..firmware import CBoard

SUPPLY = 20_000
LIMITS = 0, 2, 50, 63, 300, 5000, 10_000, 0x8000, 55_536, FAULT_CLEAR_KEY  # of any setting
EDGES = sorted({limit + step & 0xFFFF for limit in LIMITS for step in (-1, 0, 1)})
PRESSURES = 0, 10_500, 10_501, -10_500, -10_501, 32_767, -32_768
SUPPLIES = SUPPLY, 12_000, 11_999, 31_000, 31_001
WEIGHTS = {
    'code': 3,
    'tick': 3,
    'readings': 1,
    'targets': 1,
    'run': 1,
    'claim': 1,
    'foreign': 1,
    'edge': 1,
    'wild': 1,
}
HOLD = Hold()
HOLD.key = [12_345, 54_321]


def traffic(random: Random, board, channels: int) -> list:
    """Apply random traffic, weighted towards a board that runs; return the board's answers."""
    heartbeat, end = 100 + channels, 118 + channels
    enable, mode, key = heartbeat + 1, heartbeat + 2, heartbeat + 6
    still = [0] * channels

    def code(ahead: int = 1) -> int:
        HOLD.code = board.read(heartbeat, 1)[0]
        return [HOLD.next_code() for _ in range(ahead)][-1]

    def claim() -> int:
        return board.write(key, [*HOLD.key, *(random.randint(0, 0xFFFF) for _ in range(10))])

    match random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]:
        case 'foreign' if random.random() < 0.1:
            return [board.write(heartbeat, [random.randint(0, 3)])]
        case 'foreign':
            return [board.write(mode, [0]), board.write(enable, [0, random.randint(0, 1)])]
        case 'claim':
            return [claim()]
        case 'code':
            return [board.write(heartbeat, [code(random.choice([1, 1, 1, 2, 6, 7]))])]
        case 'tick':
            return [board.tick(random.choice([1, 5, 10, 20, 21, 50]), still, SUPPLY)]
        case 'readings':
            pressures = random.choice([[random.choice(PRESSURES) for _ in still], still])
            supply, dt_ms = random.choice(SUPPLIES), random.choice([1, 5, 10])
            return [
                board.tick(dt_ms, pressures, supply) for _ in range(random.choice([1, 2, 4, 30]))
            ]
        case 'targets':
            targets = [random.randint(-10_001, 10_001) & 0xFFFF for _ in still]
            return [board.write(100, [*targets, code()])]
        case 'run':
            watchdog_ms, slew = random.choice([50, 100, 300]), random.randint(1, 300)
            settings = [code(), 0, 0, watchdog_ms, FAULT_CLEAR_KEY, slew]
            answers = [board.write(heartbeat, settings), claim()]
            on = [random.randrange(1 << channels), random.choice([1, 2, 2, 2])]
            return [*answers, board.write(heartbeat, [code(), *on])]
        case 'edge':
            return [board.write(random.randint(100, key - 1), [random.choice(EDGES)])]
        case 'wild':
            count = random.randint(0, 13)
            words = [random.choice(EDGES) for _ in range(count)]
            return [
                board.write(random.randint(95, key), words),
                board.read(random.randint(0, end - 3), count),
            ]


@pytest.mark.parametrize(('channels', 'runs'), [(6, 60), (7, 15), (9, 15), (14, 15)])
def test_firmware_and_emulation_answer_the_same_traffic_equally(library_for, channels, runs):
    state = 2 * channels + (8 if channels > 6 else 7)
    ran = foreign = 0
    for seed in range(runs):
        boards = CBoard(library_for(channels)), BoardLogic(channels)
        for step in range(250):
            given = f'{seed}/{step}'
            c_answers, py_answers = (traffic(Random(given), board, channels) for board in boards)
            assert c_answers == py_answers, given
            for block in ((0, state), (100, channels + 18)):
                assert boards[0].read(*block) == boards[1].read(*block), given
            ran += boards[1].mode == 2
            foreign += boards[1].faults >> 2 * channels + 2 & 1
    assert ran > 30 * runs and foreign > 3 * runs  # the traffic reaches both
    assert boards[0].read(0, state + 1) == boards[1].read(0, state + 1) == 2


def test_firmware_and_emulation_agree_on_every_edge_of_every_setting(library):
    for address in range(99, 125):
        for word in EDGES:
            answers = [b.write(address, [word]) for b in (CBoard(library), BoardLogic())]
            assert answers[0] == answers[1], (address, word)


@pytest.mark.parametrize('channels', [6, 7, 9, 14])
def test_map_names_the_registers_that_the_firmware_has(library_for, channels):
    register_map = with_channels(load_map('valve_board'), channels)
    board = CBoard(library_for(channels))
    for name, register in register_map.registers.items():
        assert isinstance(board.read(register.addr, register.words), list), name
        if register.access == 'r':
            assert board.write(register.addr, [0] * register.words) == 2, name
    last = max(r.addr + r.words for r in register_map.registers.values())
    assert last == 118 + channels and board.read(118 + channels, 1) == 2
    values = register_map.decode(0, board.read(0, register_map.polls[0].count))
    assert values['map_id'] == register_map.identity.value == 0x5B00 + channels
    board.tick(20, [0] * (channels - 1) + [-32_768], SUPPLY)
    faults = register_map.decode(0, board.read(0, register_map.polls[0].count))['faults']
    assert [name for name, latched in faults.items() if latched] == [f'sensor_{channels - 1}']


def test_firmware_accepts_the_ranges_of_the_map_and_nothing_beyond(library):
    registers = load_map('valve_board').registers
    for name in ('target', 'enable', 'mode', 'watchdog', 'slew', 'fault_clear'):
        register = registers[name]
        low, high = (round((v - register.offset) / register.scale) for v in register.range)
        run_without_hold = 4 if name == 'mode' else 0
        for value, answer in ((low, 0), (high, run_without_hold), (low - 1, 3), (high + 1, 3)):
            assert CBoard(library).write(register.addr, [value & 0xFFFF]) == answer, (name, value)


def test_a_valve_board_has_6_to_14_channels():
    shipped = load_map('valve_board')
    assert with_channels(shipped, 6) == shipped
    with pytest.raises(RegisterMapError, match='15 channels: a valve board has 6 to 14'):
        with_channels(shipped, 15)
