"""The firmware's C logic and its Python emulation are the same board; and the firmware compiles for the Mega."""

import shutil
import struct
import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pneumatic_driver.register_map import load_map
from soft_arm_sim.valve_board import BoardLogic

from ..firmware import FIRMWARE, CBoard, build_library

NORMAL = [0] * 6
SUPPLY = 20_000


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    return build_library(tmp_path_factory.mktemp('firmware'))


EDGES = [0, 1, 2, 3, 49, 50, 63, 64, 299, 300, 301, 5000, 5001, 10_000, 10_001, 0xA55A, 0x7FFF, 0x8000, 55_535, 55_536, 0xFFFF]
MEASURED = [0, 10_500, 10_501, -10_500, -10_501, 32_767, -32_768]


def traffic(random: Random, board) -> list:
    """One random piece of traffic, weighted towards a board that runs, applied to `board`; returns its answers."""
    match random.choice(['heartbeat', 'heartbeat', 'tick', 'tick', 'tick', 'targets', 'run', 'edge', 'wild', 'measured']):
        case 'heartbeat':
            return [board.write(106, [random.randint(0, 3)])]
        case 'tick':
            return [board.tick(random.choice([1, 5, 10, 20, 21, 50]), NORMAL, SUPPLY)]
        case 'measured':
            pressures = random.choice([[random.choice(MEASURED) for _ in range(6)], NORMAL])
            supply, dt_ms = random.choice([SUPPLY, 12_000, 11_999]), random.choice([1, 5, 10])
            return [board.tick(dt_ms, pressures, supply) for _ in range(random.choice([1, 2, 4, 30]))]
        case 'targets':
            return [board.write(100, [random.randint(-10_001, 10_001) & 0xFFFF for _ in range(6)])]
        case 'run':
            answers = [board.write(110, [0xA55A]), board.write(109, [random.choice([50, 100, 300])])]
            answers.append(board.write(111, [random.randint(1, 300)]))
            return [*answers, board.write(107, [random.randint(0, 63), random.choice([1, 2, 2, 2])])]
        case 'edge':
            return [board.write(random.randint(100, 111), [random.choice(EDGES)])]
        case 'wild':
            count = random.randint(0, 13)
            words = [random.choice(EDGES) for _ in range(count)]
            return [board.write(random.randint(95, 112), words), board.read(random.randint(0, 115), count)]


def test_c_and_python_give_the_same_answers_to_the_same_traffic(library):
    for seed in range(60):
        c_board, py_board = CBoard(library), BoardLogic()
        for step in range(250):
            given = f'{seed}/{step}'
            assert traffic(Random(given), c_board) == traffic(Random(given), py_board), given
            assert c_board.read(0, 19) == py_board.read(0, 19), given
            assert c_board.read(100, 12) == py_board.read(100, 12), given


def test_c_and_python_agree_on_every_edge_of_every_setting(library):
    for address in range(99, 113):
        for word in EDGES:
            assert CBoard(library).write(address, [word]) == BoardLogic().write(address, [word]), (address, word)


def test_map_names_the_registers_that_the_firmware_has(library):
    register_map = load_map('valve_board')
    board = CBoard(library)
    last = {r.addr + r.words for r in register_map.registers.values()}
    for name, register in register_map.registers.items():
        assert isinstance(board.read(register.addr, register.words), list), name
        if register.access == 'r':
            assert board.write(register.addr, [0] * register.words) == 2, name
    assert max(last) == 112 and board.read(112, 1) == 2
    values = register_map.decode(0, board.read(0, 19))
    assert values['map_id'] == register_map.identity.value


@pytest.mark.parametrize('name', ['target', 'enable', 'mode', 'watchdog', 'slew', 'fault_clear'])
def test_firmware_refuses_just_beyond_the_ranges_of_the_map(library, name):
    register = load_map('valve_board').registers[name]
    low, high = (round((v - register.offset) / register.scale) for v in register.range)
    for value, code in ((low, 0), (high, 0), (low - 1, 3), (high + 1, 3)):
        assert CBoard(library).write(register.addr, [value & 0xFFFF]) == code, value


def crc(data: bytes) -> bytes:
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ 0xA001 if value & 1 else value >> 1
    return struct.pack('<H', value)


def frame(text: str) -> bytes:
    data = bytes.fromhex(text)
    return data + crc(data)


def test_rtu_frames_byte_for_byte(library):
    board = CBoard(library)
    assert crc(bytes.fromhex('0103000000 0A'.replace(' ', ''))) == bytes.fromhex('C5CD')  # the textbook's example
    assert board.answer(frame('01 04 0012 0001')) == frame('01 04 02 5A06')
    assert board.answer(frame('01 03 0012 0001')) == frame('01 03 02 5A06')
    assert board.answer(frame('01 06 006D 00FA')) == frame('01 06 006D 00FA')
    assert board.answer(frame('01 10 0064 0002 04 0001 0002')) == frame('01 10 0064 0002')
    assert board.answer(frame('01 17 0064 0002 0064 0002 04 0005 0006')) == frame('01 17 04 0005 0006')


@pytest.mark.parametrize(
    ('request_frame', 'code'),
    [
        ('01 01 0000 0001', 1),
        ('01 04 0013 0001', 2),
        ('01 06 0064 7FFF', 3),
        ('01 03 0000 0000', 3),
        ('01 10 0064 0002 02 0001', 3),
        ('01 17 0200 0001 0064 0001 02 0005', 2),
        ('01 17 0000 0001 0064 0001 02 7FFF', 3),
    ],
)
def test_rtu_exceptions_change_nothing(library, request_frame, code):
    board = CBoard(library)
    before = board.read(100, 12)
    request = frame(request_frame)
    assert board.answer(request) == frame(f'01 {request[1] | 0x80:02x} {code:02x}')
    assert board.read(100, 12) == before


def test_rtu_stays_silent_on_broken_frames_and_other_units(library):
    board = CBoard(library)
    good = frame('01 06 0064 0005')
    assert board.answer(good[:-1] + bytes([good[-1] ^ 1])) == b''
    assert board.answer(b'') == board.answer(good[:3]) == b''
    assert board.answer(frame('02 06 0064 0005')) == b''
    assert board.read(100, 1) == [0]
    assert board.answer(frame('00 06 0064 0005')) == b''  # broadcast: done, not answered
    assert board.read(100, 1) == [5]


@settings(max_examples=300)
@given(st.binary(max_size=300))
def test_rtu_survives_any_bytes(library, data):
    board = CBoard(library)
    answered = board.answer(b'\x01' + data + crc(b'\x01' + data))
    assert answered == b'' or answered[-2:] == crc(answered[:-2])


@pytest.mark.skipif(shutil.which('avr-gcc') is None, reason='needs the AVR compiler: apt-get install gcc-avr avr-libc binutils-avr')
def test_compiles_for_the_mega_without_warnings(tmp_path: Path):
    done = subprocess.run(['make', '-C', str(FIRMWARE), f'BUILD={tmp_path}'], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    size = int((tmp_path / 'valve_board.hex').stat().st_size)
    assert size > 4000
