"""The whole program of the Mega on a stand-in for its hardware, and its compilation."""

import ctypes
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from ..firmware import FIRMWARE, build_mega, frame

VOLTS = 1023 * 0.9 / 5  # of a sensor, in steps of the converter behind the divider


class Mega:
    """The program after a reset, with sensors at ambient pressure and a supply of 200 kPa."""

    def __init__(self, build: Path):
        self.library = build_mega(build)
        self.measure(1.0 + 4 * 200 / 300)

    def set(self, name: str, value: int) -> None:
        """Set a variable of the hardware's stand-in."""
        kind = ctypes.c_uint32 if name.endswith('_us') else ctypes.c_uint8
        kind.in_dll(self.library, name).value = value

    def measure(self, supply_volts: float) -> None:
        words = (ctypes.c_uint16 * 16).in_dll(self.library, 'converted')
        words[:7] = [min(round(v * VOLTS), 1023) for v in (*[3.0] * 6, supply_volts)]

    def word_at(self, address: int) -> int:
        """Boot, run for 0.1 s, and read a register meanwhile."""
        asked = frame(f'01 04 {address:04x} 0001')
        (ctypes.c_uint8 * 256).in_dll(self.library, 'request')[: len(asked)] = asked
        ctypes.c_uint16.in_dll(self.library, 'request_length').value = len(asked)
        assert self.library.run(100_000) >= 100_000
        answer = bytes((ctypes.c_uint8 * 256).in_dll(self.library, 'answer'))[:7]
        assert answer == frame(answer[:-2])
        return struct.unpack('>H', answer[3:-2])[0]


@pytest.fixture
def mega(tmp_path):
    return Mega(tmp_path)


def test_the_program_runs_while_it_ticks_and_measures(mega):
    assert mega.library.run(2_000_000) >= 2_000_000


@pytest.mark.parametrize('stopped', ['timer_stops_us', 'adc_stops_us'])
@pytest.mark.parametrize('at_us', [0, 500_000])
def test_without_ticks_or_measurements_the_hardware_watchdog_resets_the_board(mega, stopped, at_us):
    mega.set(stopped, at_us)
    assert mega.library.run(2_000_000) <= at_us + 85_000  # 60 ms after the last round of sensors


@pytest.mark.parametrize(
    ('fuse', 'faults'), [(0xFC, 0), (0xFD, 0), (0xFF, 1 << 15), (0xF7, 1 << 15)]
)
def test_the_program_checks_at_boot_that_brown_out_detection_is_on(mega, fuse, faults):
    mega.set('extended_fuse', fuse)
    assert mega.word_at(13) == faults


@pytest.mark.parametrize(('volts', 'counts'), [(2.0, 7500), (5.0, 30_000), (5.55, 32_767)])
def test_a_supply_beyond_the_sensors_range_reads_as_the_largest_number(mega, volts, counts):
    mega.measure(volts)
    assert mega.word_at(17) == pytest.approx(counts, abs=50 if counts < 32_767 else 0)


@pytest.mark.skipif(
    shutil.which('avr-gcc') is None,
    reason='needs the AVR compiler: apt-get install gcc-avr avr-libc binutils-avr',
)
@pytest.mark.parametrize('channels', [6, 12])
def test_compiles_for_the_mega_without_warnings(tmp_path: Path, channels):
    command = ['make', '-C', str(FIRMWARE), f'BUILD={tmp_path}', f'CHANNELS={channels}']
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    command = ['avr-size', str(tmp_path / 'valve_board.elf')]
    size = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    text, data, bss = map(int, size.stdout.splitlines()[1].split()[:3])
    assert 2000 < text + data < 248 * 1024  # flash of the Mega without its boot loader
    assert data + bss < 6 * 1024  # of 8 KiB of memory: the rest is the stack's
