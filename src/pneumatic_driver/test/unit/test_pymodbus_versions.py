"""The driver with the oldest pymodbus that it supports.

Every other test runs with the newest, which the lock pins.
"""

import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ..boards import carries_heartbeat, wait_for

pytestmark = [pytest.mark.steady_clock, pytest.mark.watchdogs]

ROOT = Path(__file__).resolve().parents[4]
# From requirements/pymodbus_oldest.txt, by requirements/setup.sh.
OLDEST = ROOT / '.venv' / 'pymodbus_oldest'
SCRIPT = Path(__file__).resolve().parents[1] / 'driver_session.py'


class Session:
    """Driver in a separate process."""

    def __init__(self, map_name: str, port: int):
        environment = os.environ | {
            'PYTHONPATH': os.pathsep.join([str(OLDEST), os.environ.get('PYTHONPATH', '')])
        }
        command = [sys.executable, str(SCRIPT), map_name, str(port)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._answers = queue.Queue()
        self.disarmed = []  # (monotonic time [s], reason)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.pymodbus = self._answers.get(timeout=20.0)['pymodbus']

    def _read(self):
        for line in self._process.stdout:
            answer = json.loads(line)
            if 'disarmed' in answer:
                self.disarmed.append((time.monotonic(), answer['disarmed']))
            else:
                self._answers.put(answer)

    def tell(self, *words) -> dict:
        self._process.stdin.write(' '.join(str(w) for w in words) + '\n')
        self._process.stdin.flush()
        return self._answers.get(timeout=10.0)

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(10.0)
        finally:
            self._process.kill()
            self._reader.join(5.0)
            self._process.stdout.close()


@pytest.fixture
def start(tcp_rig):
    if not OLDEST.is_dir():
        pytest.skip(f'{OLDEST} is missing: make setup')
    made = []

    def make(port):
        made.append(Session(tcp_rig.map, port))
        return made[-1]

    yield make
    for session in made:
        session.close()


def test_oldest_pymodbus_drives_notices_silence_and_reconnects(tcp_rig, proxy_to, start):
    proxy = proxy_to(tcp_rig)
    session = start(proxy.port)
    assert (
        session.pymodbus
        == re.search(
            r'pymodbus==(\S+)', (ROOT / 'requirements' / 'pymodbus_oldest.txt').read_text()
        )[1]
    )
    assert session.tell('connect')['error'] is None
    assert 'outside' in session.tell('command', *['nan'] * len(tcp_rig.targets_pa))['error']
    assert session.tell('arm')['error'] is None
    wait_for(
        lambda: [
            session.tell('command', *tcp_rig.targets_pa),
            tcp_rig.plant.follows(tcp_rig.targets_pa),
        ][1]
    )
    writes = [r for r in proxy.requests if carries_heartbeat(r)]
    assert writes and len(set(writes)) == len(writes)

    proxy.frozen, frozen_s, frozen_device_s = True, time.monotonic(), tcp_rig.plant.device_clock_s()
    wait_for(lambda: session.disarmed and tcp_rig.plant.vented)
    disarmed_s, reason = session.disarmed[0]
    # 0.42 s on a quiet machine; with pymodbus' own defaults 12 s
    assert reason.startswith('link lost') and disarmed_s - frozen_s <= 1.0
    assert tcp_rig.plant.changed_device_s - frozen_device_s <= 0.3

    proxy.frozen = False
    seen = session.tell('exchanges')['exchanges']
    wait_for(lambda: session.tell('exchanges')['exchanges'] > seen + 5)
    assert 'activate the driver' in session.tell('command', *tcp_rig.targets_pa)['error']
    assert tcp_rig.plant.vented
    assert session.tell('arm')['error'] is None
    wait_for(
        lambda: [
            session.tell('command', *tcp_rig.targets_pa),
            tcp_rig.plant.follows(tcp_rig.targets_pa),
        ][1]
    )
    assert session.tell('vent')['error'] is None
    wait_for(lambda: tcp_rig.plant.vented)


def test_oldest_pymodbus_reports_refusals(gripper):
    if not OLDEST.is_dir():
        pytest.skip(f'{OLDEST} is missing: make setup')
    session = Session('valve_board', gripper.device.port)  # the wrong map
    error = session.tell('connect')['error']
    session.close()
    assert 'exception 2 (illegal address)' in error
