"""The driver with the oldest pymodbus that it supports; the other tests run with the newest."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
# From requirements/pymodbus_oldest.txt, by requirements/setup.sh.
OLDEST = Path(sys.prefix) / 'pymodbus_oldest'
TESTS = Path(__file__).with_name('test_driver.py')


def test_oldest_pymodbus_drives_notices_silence_and_reconnects():
    if not OLDEST.is_dir():
        pytest.skip(f'{OLDEST} is missing: make setup')
    environment = {k: v for k, v in os.environ.items() if not k.startswith(('PYTEST_', 'COV_'))}
    environment['PYTHONPATH'] = os.pathsep.join([str(OLDEST), os.environ.get('PYTHONPATH', '')])

    def run(*arguments):
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300.0
        )

    found = run('-c', 'import pymodbus; print(pymodbus.__version__)').stdout.strip()
    pins = (ROOT / 'requirements' / 'pymodbus_oldest.txt').read_text()
    assert found == re.search(r'pymodbus==(\S+)', pins)[1]
    wanted = 'tcp and (follows_commands or silent_device or reconnects)'
    done = run('-m', 'pytest', '-q', '-p', 'no:cacheprovider', str(TESTS), '-k', wanted)
    assert done.returncode == 0 and ' passed' in done.stdout, done.stdout[-3000:]
