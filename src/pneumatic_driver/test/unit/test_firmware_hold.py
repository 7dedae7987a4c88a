"""Holder, foreign writes and faults, of the firmware and of its emulation."""

import struct
from random import Random

import pytest

from pneumatic_driver.hold import Hold, name_text
from soft_arm_sim.devices import modbus_pdu
from soft_arm_sim.devices.valve_board import FUNCTIONS, BoardLogic

from ..boards import Host
from ..firmware import CBoard, frame

NORMAL, SUPPLY = [0] * 6, 20_000
VENT, RUN = 0, 2
RUNS, FAULT, FOREIGN = 0b1001, 0b1100, 1 << 14


@pytest.fixture(params=['firmware', 'emulation'])
def make_board(request, library):
    """Maker of boards, without arguments or with whether brown-out detection is on."""
    if request.param == 'firmware':
        return lambda brown_out=True: CBoard(library, brown_out)
    return lambda brown_out=True: BoardLogic(6, brown_out)


class RecordedHost(Host):
    """A host that keeps its requests."""

    def __init__(self, board):
        super().__init__(self._record)
        self.board, self.requests = board, []

    def _record(self, address, values):
        self.requests.append((address, values))
        return self.board.write(address, values)


def driven(board, seed: int = 1) -> RecordedHost:
    """Return the host of a board after it has driven it for some time."""
    host = RecordedHost(board)
    host.hold.key = [Random(seed).randrange(0x10000), Random(-seed).randrange(0x10000)]
    assert host.claim() == host.run() == 0
    for _ in range(20):
        assert host.command([1000] * 6) == 0
        board.tick(20, NORMAL, SUPPLY)
    assert board.read(12, 2) == [RUNS, 0] and board.read(6, 6) == [11_000] * 6
    return host


def foreign_writes(board, host, random: Random) -> dict[str, tuple[int, list[int]]]:
    """Return writes of another client, which reads and records the traffic of the holder."""
    heartbeat, words = board.read(106, 1)[0], [random.randrange(10_000) for _ in range(6)]
    return {
        'set point': (100 + random.randrange(6), words[:1]),
        'set points': (100, words),
        'everything that can be read': (100, board.read(100, random.choice([7, 24]))),
        'copied heartbeat': (106, [heartbeat]),
        'heartbeat counted up': (106, [heartbeat + random.randrange(1, 4) & 0xFFFF]),
        'any heartbeat': (106, [random.randrange(0x10000)]),
        'replayed request': random.choice(host.requests[1:]),
        'enable and run': (107, [random.randrange(64), RUN][: random.choice([1, 2])]),
        'vent': (108, [VENT]),
        'another setting': random.choice(
            [(108, [1]), (109, [300]), (110, [0xA55A]), (111, [5000])]
        ),
        'part of a claim': (112, [1, 2]),
        'out of range': (100, [20_000]),
        'missing register': (200, [1]),
    }


def test_a_write_that_is_not_the_holders_vents_and_latches_20_times_of_20(make_board):
    for name in foreign_writes(board := make_board(), driven(board), Random(0)):
        for seed in range(1, 21):
            board = make_board()
            host = driven(board, seed)
            answer = board.write(*foreign_writes(board, host, Random(seed))[name])
            assert answer == (0 if name == 'vent' else 6), name
            # At once, before the next pass of its loop.
            assert board.read(6, 6) == [10_000] * 6 and board.read(12, 2) == [FAULT, FOREIGN]
            # The holder still holds it; nothing moves before the fault is cleared.
            assert host.command([1000] * 6) == 0 and board.read(6, 6) == [10_000] * 6
            assert board.write(106, [host.hold.next_code(), 63, RUN]) == 4
            assert board.write(106, [host.hold.next_code(), 0, 0, 250, 0xA55A]) == 0
            assert host.run() == host.command([500] * 6) == 0
            board.tick(20, NORMAL, SUPPLY)
            assert board.read(6, 6) == [10_500] * 6


OTHER_WRITES = {
    'coil': '05 0064 FF00',
    'coils': '0F 0064 0006 01 3F',
    'bits of a word': '16 006C 0000 0002',
    'words, and a read of none': '17 0200 0001 0064 0001 02 0005',
    'vent, and a read of none': '17 0200 0001 006C 0001 02 0000',
}


@pytest.mark.parametrize('name', OTHER_WRITES)
def test_a_foreign_write_that_is_refused_in_any_case_vents_and_latches(make_board, name):
    board = make_board()
    pdu = bytes.fromhex(OTHER_WRITES[name])

    def ask(pdu: bytes) -> bytes:
        if isinstance(board, CBoard):
            return board.answer(frame(b'\x01' + pdu))[1:-2]
        return modbus_pdu.answer(board, FUNCTIONS, pdu)

    refused = bytes([pdu[0] | 0x80, 2 if pdu[0] == 0x17 else 1])
    assert ask(pdu) == refused and board.read(13, 1) == [0]  # not held
    host = driven(board)
    hold = bytes.fromhex('17 0200 0001 006A 0001 02') + struct.pack('>H', host.hold.next_code())
    assert ask(hold) == b'\x97\x02' and board.read(13, 1) == [0]  # the holder's own mistake
    assert ask(pdu) == refused
    assert board.read(12, 2) == [FAULT, FOREIGN] and board.read(6, 6) == [10_000] * 6
    before = board.read(0, 19)
    assert ask(pdu) == refused and board.read(0, 19) == before


def test_held_and_vented_it_refuses_others_and_changes_nothing(make_board):
    board = make_board()
    host = RecordedHost(board)
    assert host.claim() == 0
    before = board.read(100, 24)
    for address, values in (
        (100, [5]),
        (106, [7]),
        (107, [1, RUN]),
        (110, [0xA55A]),
        (112, [1] * 12),
        (112, [1, 2]),
    ):
        assert board.write(address, values) == 6, address
    assert board.write(108, [VENT]) == board.write(107, [0, VENT]) == 0  # never refused
    assert (board.read(100, 24), board.read(13, 1)) == (before, [0])
    assert name_text(board.read(114, 10)) == 'bench 17' and board.read(112, 2) == [0, 0]
    for _ in range(15):
        board.tick(20, NORMAL, SUPPLY)
    # Silence ends the hold; a vented board latches no fault.
    assert board.read(12, 2) == [0, 0] and board.read(114, 10) == [0] * 10
    assert RecordedHost(board).claim() == 0


def test_a_few_lost_requests_do_no_harm(make_board):
    board = make_board()
    host = driven(board)
    for lost in range(7):
        for _ in range(lost):
            host.hold.next_code()
        assert host.command([1000] * 6) == (0 if lost < 6 else 6)
    assert board.read(13, 1) == [FOREIGN]


def test_codes_of_one_key_repeat_after_all_numbers():
    hold = Hold()
    assert len({hold.next_code() for _ in range(0x10000)}) == 0x10000
    hold.key, hold.code = [0, 0], 0
    assert [hold.next_code() for _ in range(4)] == [1, 6, 31, 156]


def test_without_brown_out_detection_the_board_stays_vented_whatever_is_cleared(make_board):
    board = make_board(False)
    host = RecordedHost(board)
    assert board.read(13, 1) == [1 << 15] and host.claim() == 0
    for _ in range(3):
        assert board.write(106, [host.hold.next_code(), 0, 0, 250, 0xA55A]) == 0
        assert host.run() == 4
        board.tick(1, NORMAL, SUPPLY)
        assert host.run() == 4 and board.read(13, 1) == [1 << 15]


@pytest.mark.parametrize('supply', [11_999, 31_001])
def test_a_supply_outside_its_range_vents_after_100_ms(make_board, supply):
    board = make_board()
    host = driven(board)
    for _ in range(19):
        board.tick(5, NORMAL, supply)
    assert board.read(13, 1) == [0] and host.command([1000] * 6) == 0
    board.tick(5, NORMAL, supply)
    assert board.read(12, 2) == [FAULT, 1 << 13] and board.read(17, 1) == [supply]
