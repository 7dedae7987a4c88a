"""Modbus RTU frames of the firmware."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..firmware import CBoard, frame


@pytest.fixture
def board(library):
    return CBoard(library)


@pytest.mark.parametrize(
    ('request_', 'answer'),
    [
        ('01 04 0012 0001', '01 04 02 5B06'),
        ('01 03 0012 0001', '01 03 02 5B06'),
        ('01 06 006D 00FA', '01 06 006D 00FA'),
        ('01 10 0064 0002 04 0001 0002', '01 10 0064 0002'),
        ('01 17 0064 0002 0064 0002 04 0005 0006', '01 17 04 0005 0006'),
        ('01 01 0000 0001', '01 81 01'),
        ('01 04 0013 0001', '01 84 02'),
        ('01 06 0064 7FFF', '01 86 03'),
        ('01 03 0000 0000', '01 83 03'),
        ('01 10 0064 0002 02 0001', '01 90 03'),
        ('01 17 0200 0001 0064 0001 02 0005', '01 97 02'),
        ('01 17 0000 0001 0064 0001 02 7FFF', '01 97 03'),
    ],
)
def test_frames_byte_for_byte_and_exceptions_change_nothing(board, request_, answer):
    before = board.read(100, 12)
    assert board.answer(frame(request_)) == frame(answer)
    if frame(answer)[1] & 0x80:
        assert board.read(100, 12) == before


def test_no_answer_to_broken_frames_and_other_units(board):
    good = frame('01 06 0064 0005')
    for broken in (b'', good[:3], good[:-1] + bytes([good[-1] ^ 1]), frame('02 06 0064 0005')):
        assert board.answer(broken) == b'' and board.read(100, 1) == [0]
    assert board.answer(frame('00 06 0064 0005')) == b''  # broadcast: executed, not answered
    assert board.read(100, 1) == [5]


@settings(max_examples=300)
@given(st.binary(max_size=300))
def test_any_bytes_are_survived(library, data):
    answer = CBoard(library).answer(frame(b'\x01' + data))
    assert answer == b'' or answer == frame(answer[:-2])
