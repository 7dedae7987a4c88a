"""The board's firmware, built for this machine: its logic through ctypes, and as an RTU slave behind a pseudo terminal."""

import ctypes
import os
import select
import shutil
import subprocess
import threading
import time
import tty
from pathlib import Path

import pytest

FIRMWARE = Path(__file__).resolve().parents[3] / 'firmware'
CHANNELS, FRAME_MAX = 6, 256


def build_library(build: Path) -> ctypes.CDLL:
    if shutil.which('cc') is None or shutil.which('make') is None:
        pytest.skip('needs a C compiler (cc) and make: apt-get install build-essential')
    done = subprocess.run(['make', '-C', str(FIRMWARE), f'BUILD={build}', 'host'], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(build / 'libvalve_board.so'))
    library.board_read.restype = library.board_write.restype = ctypes.c_uint8
    library.rtu_answer.restype = ctypes.c_uint16
    return library


class CBoard:
    """`struct board` of the firmware, with the interface of soft_arm_sim's BoardLogic."""

    def __init__(self, library: ctypes.CDLL):
        self._library = library
        self._state = ctypes.create_string_buffer(1024)  # larger than struct board; only the C code looks inside
        library.board_init(self._state)

    def tick(self, dt_ms: int, pressures: list[int], supply: int) -> None:
        self._library.board_tick(self._state, ctypes.c_uint16(dt_ms), (ctypes.c_int16 * CHANNELS)(*pressures), ctypes.c_int16(supply))

    def read(self, address: int, count: int) -> list[int] | int:
        words = (ctypes.c_uint16 * 125)()
        code = self._library.board_read(self._state, ctypes.c_uint16(address), ctypes.c_uint16(count), words)
        return code if code else list(words[:count])

    def write(self, address: int, values: list[int]) -> int:
        words = (ctypes.c_uint16 * max(len(values), 1))(*values)
        return self._library.board_write(self._state, ctypes.c_uint16(address), ctypes.c_uint16(len(values)), words)

    def answer(self, frame: bytes, unit: int = 1) -> bytes:
        out = ctypes.create_string_buffer(FRAME_MAX)
        length = self._library.rtu_answer(self._state, ctypes.c_uint8(unit), frame, ctypes.c_uint16(len(frame)), out)
        return out.raw[:length]


class PtySlave:
    """Runs a CBoard behind a pseudo terminal: `device` is what a host opens as its serial port."""

    def __init__(self, board: CBoard, plant):
        self.board, self._plant = board, plant
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.device = os.ttyname(self._slave)
        self.frozen = False
        self.answers = None  # makes of every answer what is sent instead
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='pty_slave')
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._stop.set()
            self._thread.join(2.0)
            os.close(self._master)
            os.close(self._slave)

    def _run(self) -> None:
        last_s, frame = time.monotonic(), b''
        while not self._stop.is_set():
            ready, _, _ = select.select([self._master], [], [], 0.002)  # silence of a few characters ends a frame
            if ready:
                frame += os.read(self._master, FRAME_MAX)
            elif frame:
                self._answer(frame)
                frame = b''
            now_s = time.monotonic()
            if (dt_ms := int((now_s - last_s) * 1e3)) >= 1:
                last_s += dt_ms * 1e-3
                self._tick(min(dt_ms, 50))

    def _answer(self, frame: bytes) -> None:
        if self.frozen:
            return
        if answer := self.board.answer(frame):
            os.write(self._master, self.answers(answer) if self.answers else answer)

    def _tick(self, dt_ms: int) -> None:
        counts = [int(p / 10) for p in self._plant.sensor_pressures_pa()]
        self.board.tick(dt_ms, counts, 20_000)
        drives = self.board.read(6, CHANNELS)
        self._plant.set_valve_targets_pa([10.0 * (d - 10_000) for d in drives])
