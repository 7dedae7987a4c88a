import logging
import threading

import pytest

from pneumatic_driver.board import Board
from pneumatic_driver.driver import Driver
from pneumatic_driver.register_map import load_map

from .boards import RecordingPlant, TcpBoard, wait_for
from .firmware import CBoard, PtySlave, build_library

logging.getLogger('pymodbus').setLevel(logging.CRITICAL)


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """Every test gives back its threads."""
    before = set(threading.enumerate())
    yield
    wait_for(lambda: set(threading.enumerate()) <= before, 2.0, 'the end of all threads')


@pytest.fixture(scope='session')
def library(tmp_path_factory):
    return build_library(tmp_path_factory.mktemp('firmware'))


class RtuBoard(PtySlave):
    """The firmware behind a serial line, with the interface of TcpBoard."""

    def __init__(self, library):
        super().__init__(CBoard(library), RecordingPlant())
        self.plant, self.link = self._plant, {'serial_device': self.device}

    def write(self, address, values):
        return self.board.write(address, values)

    def board_faults(self) -> int:
        return self.board.read(13, 1)[0]


@pytest.fixture
def tcp_board():
    board = TcpBoard()
    yield board
    board.stop()


@pytest.fixture(params=['tcp', 'rtu'])
def rig(request):
    """A board on each kind of link: the same tests hold for both."""
    board = TcpBoard() if request.param == 'tcp' else RtuBoard(request.getfixturevalue('library'))
    yield board
    board.stop()


def board_of(rig) -> Board:
    return Board(load_map('valve_board').with_link(**rig.link))


class DriverRecorder:
    """A driver with what it reported."""

    def __init__(self, rig, command_timeout_s=0.5):
        self.exchanges, self.reasons = [], []
        self.driver = Driver(board_of(rig), 50.0, command_timeout_s, self.exchanges.append, self.reasons.append)


@pytest.fixture
def make_driver():
    made = []

    def make(rig, **options) -> DriverRecorder:
        made.append(DriverRecorder(rig, **options))
        return made[-1]

    yield make
    for recorder in made:
        recorder.driver.close()
