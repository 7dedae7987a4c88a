"""Equivalence of the firmware and its emulation; compilation for the Mega."""

import ctypes
import shutil
import struct
import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pneumatic_driver.errors import RegisterMapError
from pneumatic_driver.hold import Hold, name_text
from pneumatic_driver.register_map import load_map
from pneumatic_driver.valve_board_map import with_channels
from soft_arm_sim.devices import modbus_pdu
from soft_arm_sim.devices.valve_board import FUNCTIONS, BoardLogic

from ..boards import Host
from ..firmware import FIRMWARE, CBoard, build_library, build_mega

NORMAL = [0] * 6
SUPPLY = 20_000
SUPPLIES = SUPPLY, 12_000, 11_999, 31_000, 31_001


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    return build_library(tmp_path_factory.mktemp('firmware'))


EDGES = [
    0,
    1,
    2,
    3,
    49,
    50,
    63,
    64,
    299,
    300,
    301,
    5000,
    5001,
    10_000,
    10_001,
    0xA55A,
    0x7FFF,
    0x8000,
    55_535,
    55_536,
    0xFFFF,
]
MEASURED = [0, 10_500, 10_501, -10_500, -10_501, 32_767, -32_768]


HOLD = Hold()
HOLD.key = [12_345, 54_321]


def code(board, ahead: int = 1) -> int:
    """The code so many steps after the board's heartbeat, by the driver's own arithmetic."""
    HOLD.code = board.read(106, 1)[0]
    return [HOLD.next_code() for _ in range(ahead)][-1]


def claim(board, random: Random) -> list[int]:
    return [board.write(112, [*HOLD.key, *(random.randint(0, 0xFFFF) for _ in range(10))])]


def traffic(random: Random, board) -> list:
    """One random piece of traffic, weighted towards a board that runs, applied to `board`.

    Returns its answers.
    """
    match random.choice(
        [
            'code',
            'code',
            'code',
            'tick',
            'tick',
            'tick',
            'targets',
            'run',
            'claim',
            'foreign',
            'edge',
            'wild',
            'measured',
        ]
    ):
        case 'foreign':
            rare = random.random() < 0.1
            return (
                [board.write(106, [random.randint(0, 3)])]
                if rare
                else [board.write(108, [0]), board.write(107, [0, random.randint(0, 1)])]
            )
        case 'claim':
            return claim(board, random)
        case 'code':
            return [board.write(106, [code(board, random.choice([1, 1, 1, 2, 6, 7]))])]
        case 'tick':
            return [board.tick(random.choice([1, 5, 10, 20, 21, 50]), NORMAL, SUPPLY)]
        case 'measured':
            pressures = random.choice([[random.choice(MEASURED) for _ in range(6)], NORMAL])
            supply, dt_ms = random.choice(SUPPLIES), random.choice([1, 5, 10])
            return [
                board.tick(dt_ms, pressures, supply) for _ in range(random.choice([1, 2, 4, 30]))
            ]
        case 'targets':
            return [
                board.write(
                    100,
                    [*(random.randint(-10_001, 10_001) & 0xFFFF for _ in range(6)), code(board)],
                )
            ]
        case 'run':
            answers = [
                board.write(
                    106,
                    [
                        code(board),
                        0,
                        0,
                        random.choice([50, 100, 300]),
                        0xA55A,
                        random.randint(1, 300),
                    ],
                )
            ]
            return [
                *answers,
                *claim(board, random),
                board.write(106, [code(board), random.randint(0, 63), random.choice([1, 2, 2, 2])]),
            ]
        case 'edge':
            return [board.write(random.randint(100, 111), [random.choice(EDGES)])]
        case 'wild':
            count = random.randint(0, 13)
            words = [random.choice(EDGES) for _ in range(count)]
            return [
                board.write(random.randint(95, 112), words),
                board.read(random.randint(0, 115), count),
            ]


def test_c_and_python_give_the_same_answers_to_the_same_traffic(library):
    ran = foreign = 0
    for seed in range(60):
        c_board, py_board = CBoard(library), BoardLogic()
        for step in range(250):
            given = f'{seed}/{step}'
            assert traffic(Random(given), c_board) == traffic(Random(given), py_board), given
            assert c_board.read(0, 19) == py_board.read(0, 19), given
            assert c_board.read(100, 24) == py_board.read(100, 24), given
            ran += py_board.mode == 2
            foreign += py_board.faults >> 14
    assert ran > 2000 and foreign > 200  # the traffic gets everywhere


def test_c_and_python_agree_on_every_edge_of_every_setting(library):
    for address in range(99, 125):
        for word in EDGES:
            assert CBoard(library).write(address, [word]) == BoardLogic().write(address, [word]), (
                address,
                word,
            )


def random_traffic(random: Random, board, channels: int) -> list:
    """Random traffic at and around the addresses of a board of any size, mostly its holder's."""
    heartbeat = 100 + channels
    HOLD.code = board.read(heartbeat, 1)[0]
    beat = HOLD.next_code()
    answers = [board.write(heartbeat + 6, [*HOLD.key, *range(10)])] if random.random() < 0.1 else []
    address = random.choice([100, heartbeat, random.randint(95, 120 + channels)])
    words = [random.choice([*EDGES, (1 << channels) - 1]) for _ in range(random.randint(0, 3))]
    if random.random() < 0.3:
        address, words = heartbeat, [beat, (1 << channels) - 1, 2]
    elif random.random() < 0.5:
        address, words = 100, [random.randint(0, 10_001) for _ in range(channels)] + [beat]
    answers += [board.write(address, words), board.write(heartbeat, [HOLD.next_code()])]
    if random.random() < 0.2:
        answers.append(board.write(heartbeat, [HOLD.next_code(), 0, 0, 250, 0xA55A, 5000]))
    pressures = [random.choice(MEASURED) if random.random() < 0.01 else 0 for _ in range(channels)]
    board.tick(random.choice([5, 20]), pressures, SUPPLY)
    return answers + [board.read(random.randint(0, 120), random.randint(1, 30))]


@pytest.mark.parametrize('channels', [6, 7, 9, 14])
def test_c_and_python_are_the_same_board_for_any_number_of_channels(tmp_path, channels):
    library = build_library(tmp_path, channels)
    state = 2 * channels + (8 if channels > 6 else 7)
    ran = 0
    for seed in range(10):
        c_board, py_board = CBoard(library), BoardLogic(channels)
        for step in range(200):
            given = f'{seed}/{step}'
            assert random_traffic(Random(given), c_board, channels) == random_traffic(
                Random(given), py_board, channels
            ), given
            assert c_board.read(0, state) == py_board.read(0, state), given
            assert c_board.read(100, channels + 18) == py_board.read(100, channels + 18), given
            ran += any(py_board.drives_pa)
    assert ran > 100 and c_board.read(0, state + 1) == py_board.read(0, state + 1) == 2


@pytest.mark.parametrize('channels', [6, 7, 9, 14])
def test_map_names_the_registers_that_the_firmware_has(tmp_path, channels):
    register_map = with_channels(load_map('valve_board'), channels)
    board = CBoard(build_library(tmp_path, channels))
    last = {r.addr + r.words for r in register_map.registers.values()}
    for name, register in register_map.registers.items():
        assert isinstance(board.read(register.addr, register.words), list), name
        if register.access == 'r':
            assert board.write(register.addr, [0] * register.words) == 2, name
    assert max(last) == 118 + channels and board.read(118 + channels, 1) == 2
    values = register_map.decode(0, board.read(0, register_map.polls[0].count))
    assert values['map_id'] == register_map.identity.value == 0x5B00 + channels
    board.tick(20, [0] * (channels - 1) + [-32_768], SUPPLY)
    faults = register_map.decode(0, board.read(0, register_map.polls[0].count))['faults']
    assert [name for name, latched in faults.items() if latched] == [f'sensor_{channels - 1}']
    enable = register_map.registers['enable']
    assert board.write(enable.addr, [int(enable.range[1])]) == 0
    assert board.write(enable.addr, [int(enable.range[1]) + 1]) == 3


def test_the_map_of_six_channels_is_the_shipped_one():
    shipped = load_map('valve_board')
    assert with_channels(shipped, 6) == shipped


def test_a_board_that_nobody_can_build_has_no_map():
    with pytest.raises(RegisterMapError, match='15 channels: a valve board has 6 to 14'):
        with_channels(load_map('valve_board'), 15)


@pytest.mark.parametrize('name', ['target', 'enable', 'mode', 'watchdog', 'slew', 'fault_clear'])
def test_firmware_refuses_just_beyond_the_ranges_of_the_map(library, name):
    register = load_map('valve_board').registers[name]
    low, high = (round((v - register.offset) / register.scale) for v in register.range)
    for value, answer in (
        (low, 0),
        (high, 4 if name == 'mode' else 0),
        (low - 1, 3),
        (high + 1, 3),
    ):  # run requires the hold
        assert CBoard(library).write(register.addr, [value & 0xFFFF]) == answer, value


def test_firmware_takes_every_range_of_the_map_from_its_holder(library):
    register_map = load_map('valve_board')
    for mode in range(3):
        board = CBoard(library)
        assert claim(board, Random(1)) == [0]
        for targets, enable, watchdog, slew in ((-10_000, 0, 50, 1), (10_000, 63, 300, 5000)):
            words = [targets & 0xFFFF] * 6 + [code(board), enable, mode, watchdog, 0xA55A, slew]
            assert board.write(100, words) == 0
    assert register_map.registers['mode'].range == (0, 2)


class RecordedHost(Host):
    """A host that keeps its requests."""

    def __init__(self, board):
        super().__init__(self._record)
        self.board, self.requests = board, []

    def _record(self, address, values):
        self.requests.append((address, values))
        return self.board.write(address, values)


def driven(board, seed) -> RecordedHost:
    """A board that a host drives since some time."""
    host = RecordedHost(board)
    host.hold.key = [Random(seed).randrange(0x10000), Random(-seed).randrange(0x10000)]
    assert host.claim() == host.run() == 0
    for _ in range(20):
        assert host.command([1000] * 6) == 0
        board.tick(20, NORMAL, SUPPLY)
    assert board.read(12, 2) == [0b1001, 0]
    return host


FOREIGN_WRITES = {
    'set point': lambda board, host, random: (
        100 + random.randrange(6),
        [random.randrange(10_000)],
    ),
    'set points': lambda board, host, random: (100, [random.randrange(10_000) for _ in range(6)]),
    'set points with a copied heartbeat': lambda board, host, random: (100, board.read(100, 7)),
    'everything that can be read': lambda board, host, random: (100, board.read(100, 24)),
    'copied heartbeat': lambda board, host, random: (106, board.read(random.choice([15, 106]), 1)),
    'heartbeat counted up': lambda board, host, random: (
        106,
        [board.read(106, 1)[0] + random.randrange(1, 4) & 0xFFFF],
    ),
    'any heartbeat': lambda board, host, random: (106, [random.randrange(0x10000)]),
    'replayed request': lambda board, host, random: random.choice(host.requests[1:]),
    'enable': lambda board, host, random: (107, [random.randrange(64)]),
    'run': lambda board, host, random: (107, [63, 2]),
    'hold': lambda board, host, random: (108, [1]),
    'vent': lambda board, host, random: (108, [0]),
    'watchdog': lambda board, host, random: (109, [300]),
    'key of faults': lambda board, host, random: (110, [0xA55A]),
    'slew': lambda board, host, random: (111, [5000]),
    'part of a claim': lambda board, host, random: (112, [1, 2]),
    'out of range': lambda board, host, random: (100, [20_000]),
    'no such register': lambda board, host, random: (200, [1]),
}


@pytest.mark.parametrize('name', FOREIGN_WRITES)
@pytest.mark.parametrize('kind', ['firmware', 'emulation'])
def test_a_write_that_is_not_the_holders_vents_and_latches_20_times_of_20(library, kind, name):
    for seed in range(1, 21):
        board = CBoard(library) if kind == 'firmware' else BoardLogic()
        host = driven(board, seed)
        assert board.read(6, 6) == [11_000] * 6
        answer = board.write(*FOREIGN_WRITES[name](board, host, Random(seed)))
        assert answer == (0 if name == 'vent' else 6)
        # At once, before the next pass of its loop.
        assert board.read(6, 6) == [10_000] * 6 and board.read(12, 2) == [0b1100, 1 << 14]
        # The holder still holds it; nothing moves.
        assert host.command([1000] * 6) == 0 and board.read(6, 6) == [10_000] * 6
        assert board.write(106, [host.hold.next_code(), 63, 2]) == 4
        assert board.write(106, [host.hold.next_code(), 0, 0, 250, 0xA55A]) == 0
        assert host.run() == host.command([500] * 6) == 0
        board.tick(20, NORMAL, SUPPLY)
        assert board.read(6, 6) == [10_500] * 6


@pytest.mark.parametrize('kind', ['firmware', 'emulation'])
def test_held_and_vented_it_refuses_others_and_changes_nothing(library, kind):
    board = CBoard(library) if kind == 'firmware' else BoardLogic()
    host = RecordedHost(board)
    assert host.claim() == 0
    before = board.read(100, 24)
    for address, values in (
        (100, [5]),
        (106, [7]),
        (107, [1, 2]),
        (108, [1]),
        (110, [0xA55A]),
        (112, [1] * 12),
        (112, [1, 2]),
    ):
        assert board.write(address, values) == 6, address
    assert board.write(108, [0]) == board.write(107, [0, 0]) == 0  # to vent is never refused
    assert (board.read(100, 24), board.read(13, 1)) == (before, [0])
    assert name_text(board.read(114, 10)) == 'bench 17' and board.read(112, 2) == [0, 0]
    for _ in range(15):
        board.tick(20, NORMAL, SUPPLY)
    # Silence ends the hold; a vented board latches no fault.
    assert board.read(12, 2) == [0, 0] and board.read(114, 10) == [0] * 10
    assert RecordedHost(board).claim() == 0


@pytest.mark.parametrize('kind', ['firmware', 'emulation'])
def test_a_few_lost_requests_do_no_harm(library, kind):
    board = CBoard(library) if kind == 'firmware' else BoardLogic()
    host = driven(board, 1)
    for lost in range(6):
        for _ in range(lost):
            host.hold.next_code()
        assert host.command([1000] * 6) == 0
    for _ in range(6):
        host.hold.next_code()
    assert host.command([1000] * 6) == 6 and board.read(13, 1) == [1 << 14]


def test_codes_of_one_key_come_round_after_every_number_once():
    hold = Hold()
    assert len({hold.next_code() for _ in range(0x10000)}) == 0x10000
    hold.key, hold.code = [0, 0], 0
    assert [hold.next_code() for _ in range(4)] == [1, 6, 31, 156]


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
    # The textbook's example.
    assert crc(bytes.fromhex('0103000000 0A'.replace(' ', ''))) == bytes.fromhex('C5CD')
    assert board.answer(frame('01 04 0012 0001')) == frame('01 04 02 5B06')
    assert board.answer(frame('01 03 0012 0001')) == frame('01 03 02 5B06')
    assert board.answer(frame('01 06 006D 00FA')) == frame('01 06 006D 00FA')
    assert board.answer(frame('01 10 0064 0002 04 0001 0002')) == frame('01 10 0064 0002')
    assert board.answer(frame('01 17 0064 0002 0064 0002 04 0005 0006')) == frame(
        '01 17 04 0005 0006'
    )


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


VOLTS = 1023 * 0.9 / 5  # of a sensor, in steps of the converter behind the divider


class Mega:
    """The whole program on a stand-in for its hardware; sensors at ambient, supply at 200 kPa."""

    def __init__(self, build: Path):
        self.library = build_mega(build)
        self.measure([3.0] * 6, 1.0 + 4 * 200 / 300)

    def __setattr__(self, name, value):
        if name == 'library':
            super().__setattr__(name, value)
        else:
            kind = ctypes.c_uint32 if name.endswith('_us') else ctypes.c_uint8
            kind.in_dll(self.library, name).value = value

    def measure(self, volts: list[float], supply_volts: float) -> None:
        words = (ctypes.c_uint16 * 16).in_dll(self.library, 'converted')
        words[:7] = [min(round(v * VOLTS), 1023) for v in (*volts, supply_volts)]

    def words_at(self, address: int, count: int = 1) -> tuple[int, ...]:
        """Boot, run for 0.1 s, and read registers meanwhile."""
        asked = frame(f'01 04 {address:04x} {count:04x}')
        (ctypes.c_uint8 * 256).in_dll(self.library, 'request')[: len(asked)] = asked
        ctypes.c_uint16.in_dll(self.library, 'request_length').value = len(asked)
        assert self.library.run(100_000) >= 100_000
        said = bytes((ctypes.c_uint8 * 256).in_dll(self.library, 'answer'))[: 5 + 2 * count]
        assert said[-2:] == crc(said[:-2])
        return struct.unpack(f'>{count}H', said[3:-2])


@pytest.fixture
def mega(tmp_path):
    return Mega(tmp_path)


def test_the_program_runs_while_it_ticks_and_measures(mega):
    assert mega.library.run(2_000_000) >= 2_000_000


@pytest.mark.parametrize('stopped', ['timer_stops_us', 'adc_stops_us'])
@pytest.mark.parametrize('at_us', [0, 500_000])
def test_without_ticks_or_measurements_the_hardware_watchdog_resets_the_board(mega, stopped, at_us):
    setattr(mega, stopped, at_us)
    assert mega.library.run(2_000_000) <= at_us + 85_000  # 60 ms after the last round of sensors


@pytest.mark.parametrize(
    ('fuse', 'faults'), [(0xFC, 0), (0xFD, 0), (0xFF, 1 << 15), (0xF7, 1 << 15)]
)
def test_the_program_checks_at_boot_that_brown_out_detection_is_on(mega, fuse, faults):
    mega.extended_fuse = fuse
    assert mega.words_at(13) == (faults,)


@pytest.mark.parametrize(
    ('volts', 'counts'), [(2.0, 7500), (5.0, 30_000), (5.4, 32_767), (5.55, 32_767)]
)
def test_a_supply_beyond_the_sensors_range_reads_as_the_largest_number(mega, volts, counts):
    mega.measure([3.0] * 6, volts)
    assert mega.words_at(17)[0] == pytest.approx(counts, abs=50 if counts < 32_767 else 0)


@pytest.mark.parametrize('kind', ['firmware', 'emulation'])
def test_without_brown_out_detection_the_board_stays_vented_whatever_is_cleared(library, kind):
    board = CBoard(library, False) if kind == 'firmware' else BoardLogic(6, False)
    host = RecordedHost(board)
    assert board.read(13, 1) == [1 << 15] and host.claim() == 0
    for _ in range(3):
        assert board.write(106, [host.hold.next_code(), 0, 0, 250, 0xA55A]) == 0
        assert host.run() == 4
        board.tick(1, NORMAL, SUPPLY)
        assert host.run() == 4 and board.read(13, 1) == [1 << 15]


@pytest.mark.parametrize('supply', [0, 11_999, 31_001, 32_767])
@pytest.mark.parametrize('kind', ['firmware', 'emulation'])
def test_a_supply_outside_its_range_vents_after_100_ms(library, kind, supply):
    board = CBoard(library) if kind == 'firmware' else BoardLogic()
    host = driven(board, 1)
    for _ in range(19):
        board.tick(5, NORMAL, supply)
    assert board.read(13, 1) == [0] and host.command([1000] * 6) == 0
    board.tick(5, NORMAL, supply)
    assert board.read(12, 2) == [0b1100, 1 << 13] and board.read(17, 1) == [supply]


OTHER_WRITES = {
    'coil': '05 0064 FF00',
    'coils': '0F 0064 0006 01 3F',
    'bits of a word': '16 006C 0000 0002',
    'words, and a read of none': '17 0200 0001 0064 0001 02 0005',
    'vent, and a read of none': '17 0200 0001 006C 0001 02 0000',
}


@pytest.mark.parametrize('name', OTHER_WRITES)
@pytest.mark.parametrize('kind', ['firmware', 'emulation'])
def test_a_foreign_write_that_is_refused_in_any_case_vents_and_latches(library, kind, name):
    board = CBoard(library) if kind == 'firmware' else BoardLogic()
    pdu = bytes.fromhex(OTHER_WRITES[name])

    def ask(pdu: bytes) -> bytes:
        if kind == 'firmware':
            data = b'\x01' + pdu
            return board.answer(data + crc(data))[1:-2]
        return modbus_pdu.answer(board, FUNCTIONS, pdu)

    refused = bytes([pdu[0] | 0x80, 2 if pdu[0] == 0x17 else 1])
    assert ask(pdu) == refused and board.read(13, 1) == [0]  # not held
    host = driven(board, 1)
    hold = bytes.fromhex('17 0200 0001 006A 0001 02') + struct.pack('>H', host.hold.next_code())
    assert ask(hold) == b'\x97\x02' and board.read(13, 1) == [0]  # the holder's own mistake
    assert ask(pdu) == refused
    assert board.read(12, 2) == [0b1100, 1 << 14] and board.read(6, 6) == [10_000] * 6
    before = board.read(0, 19)
    assert ask(pdu) == refused and board.read(0, 19) == before


@pytest.mark.skipif(
    shutil.which('avr-gcc') is None,
    reason='needs the AVR compiler: apt-get install gcc-avr avr-libc binutils-avr',
)
@pytest.mark.parametrize('channels', [6, 12])
def test_compiles_for_the_mega_without_warnings(tmp_path: Path, channels):
    done = subprocess.run(
        ['make', '-C', str(FIRMWARE), f'BUILD={tmp_path}', f'CHANNELS={channels}'],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    size = subprocess.run(
        ['avr-size', str(tmp_path / 'valve_board.elf')],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    text, data, bss = map(int, size.stdout.splitlines()[1].split()[:3])
    assert 2000 < text + data < 248 * 1024  # flash of the Mega without its boot loader
    assert data + bss < 6 * 1024  # of 8 KiB of memory: the rest is the stack's
