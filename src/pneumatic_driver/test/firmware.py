"""The board's firmware, built for this machine.

Its logic through ctypes, and as an RTU slave behind a pseudo terminal.
"""

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
from pymodbus.framer.rtu import FramerRTU

from steady_clock import turns

FIRMWARE = Path(__file__).resolve().parents[3] / 'firmware'
FRAME_MAX = 256
MAX_SILENCE_S = 0.03  # within a frame
AVR_HEADERS = 'avr/boot.h', 'avr/interrupt.h', 'avr/io.h', 'avr/wdt.h', 'util/delay.h'


def frame(data: bytes | str) -> bytes:
    """Return an RTU frame: bytes, or their hexadecimal text, and the checksum."""
    data = bytes.fromhex(data) if isinstance(data, str) else data
    return data + FramerRTU.compute_CRC(data).to_bytes(2)


def _run(*command: str) -> None:
    if shutil.which('cc') is None or shutil.which('make') is None:
        pytest.skip('needs a C compiler (cc) and make: apt-get install build-essential')
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def build_library(build: Path, channels: int = 6) -> ctypes.CDLL:
    _run('make', '-C', str(FIRMWARE), f'BUILD={build}', f'CHANNELS={channels}', 'host')
    library = ctypes.CDLL(str(build / 'libvalve_board.so'))
    library.board_read.restype = library.board_write.restype = ctypes.c_uint8
    library.rtu_answer.restype = ctypes.c_uint16
    return library


def build_mega(build: Path) -> ctypes.CDLL:
    """The whole program of the Mega on the stand-in for its hardware, mega.h, as after a reset."""
    for header in AVR_HEADERS:
        path = build / header
        path.parent.mkdir(exist_ok=True)
        path.write_text('#include "mega.h"\n')
    sources = [
        str(FIRMWARE / name) for name in ('main_mega2560.c', 'board_logic.c', 'modbus_rtu.c')
    ]
    includes = ['-I', str(build), '-I', str(Path(__file__).parent)]
    flags = ['-std=gnu99', '-DF_CPU=16000000UL', *includes, '-shared', '-fPIC']
    _run('cc', *flags, '-o', str(build / 'mega.so'), *sources)
    mega = ctypes.CDLL(str(build / 'mega.so'))
    mega.run.restype = ctypes.c_uint32
    return mega


class CBoard:
    """`struct board` of the firmware, with the interface of soft_arm_sim's BoardLogic."""

    def __init__(self, library: ctypes.CDLL, brown_out_detection: bool = True):
        self._library, self._lock = library, threading.Lock()
        # Larger than struct board; only the C code looks inside.
        self._state = ctypes.create_string_buffer(1024)
        library.board_init(self._state, ctypes.c_uint8(brown_out_detection))

    def tick(self, dt_ms: int, pressures: list[int], supply: int) -> None:
        with self._lock:
            self._library.board_tick(
                self._state,
                ctypes.c_uint16(dt_ms),
                (ctypes.c_int16 * len(pressures))(*pressures),
                ctypes.c_int16(supply),
            )

    def read(self, address: int, count: int) -> list[int] | int:
        words = (ctypes.c_uint16 * 125)()
        with self._lock:
            code = self._library.board_read(
                self._state, ctypes.c_uint16(address), ctypes.c_uint16(count), words
            )
        return code if code else list(words[:count])

    def write(self, address: int, values: list[int]) -> int:
        words = (ctypes.c_uint16 * max(len(values), 1))(*values)
        with self._lock:
            return self._library.board_write(
                self._state, ctypes.c_uint16(address), ctypes.c_uint16(len(values)), words
            )

    def answer(self, frame: bytes, unit: int = 1) -> bytes:
        out = ctypes.create_string_buffer(FRAME_MAX)
        with self._lock:
            length = self._library.rtu_answer(
                self._state, ctypes.c_uint8(unit), frame, ctypes.c_uint16(len(frame)), out
            )
        return out.raw[:length]


class PtySlave:
    """Runs a CBoard behind pseudo terminals.

    `devices` are what hosts open as their serial ports, `device` is the first.
    """

    def __init__(self, board: CBoard, plant):
        self.board, self._plant = board, plant
        self._pairs = [os.openpty() for _ in range(2)]
        for _, slave in self._pairs:
            tty.setraw(slave)
        self.devices = [os.ttyname(slave) for _, slave in self._pairs]
        self.device = self.devices[0]
        self.frozen, self.uptime_ms = False, 0
        self._heard_s = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='pty_slave')
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._stop.set()
            self._thread.join(2.0)
            for end in [end for pair in self._pairs for end in pair]:
                os.close(end)

    close = stop

    def _run(self) -> None:
        self._last_s, frames = time.monotonic(), {master: b'' for master, _ in self._pairs}
        with turns() as own:
            while not self._stop.is_set():
                own.turn()
                self._pass(frames)

    def _pass(self, frames: dict[int, bytes]) -> None:
        # Silence of a few characters ends a frame; the kernel may still hold the rest of one that
        # has no answer.
        ready, _, _ = select.select(list(frames), [], [], 0.002)
        for master, frame in frames.items():
            if master in ready:
                frames[master] += os.read(master, FRAME_MAX)
                self._heard_s[master] = time.monotonic()
            elif frame and (
                self._answer(master, frame)
                or time.monotonic() - self._heard_s[master] > MAX_SILENCE_S
            ):
                frames[master] = b''
        if (dt_ms := int((time.monotonic() - self._last_s) * 1e3)) >= 1:
            self._last_s += dt_ms * 1e-3
            self._tick(min(dt_ms, 50))

    def _answer(self, master: int, frame: bytes) -> bool:
        """Answer a frame; return whether it is one for this device."""
        answer = b'' if self.frozen else self.board.answer(frame)
        if answer:
            os.write(master, answer)
        return bool(answer)

    def _tick(self, dt_ms: int) -> None:
        self.uptime_ms += dt_ms
        counts = [int(p / 10) for p in self._plant.sensor_pressures_pa()]
        self.board.tick(dt_ms, counts, 20_000)
        drives = self.board.read(6, 6)
        self._plant.set_valve_targets_pa([10.0 * (d - 10_000) for d in drives])
