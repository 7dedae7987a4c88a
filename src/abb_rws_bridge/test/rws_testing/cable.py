"""A controller behind a cable that is pulled and put back, all in a network namespace of its own.

Prints what it measured as JSON.

Run it by `unshare --user --map-root-user --net`. The controller's end of a pair of virtual Ethernet
interfaces stands in a second namespace; taking that end down leaves ours up without a carrier, so
that what we send vanishes: that is what pulling a cable does.
"""

import json
import subprocess
import sys
import threading
import time

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.link import Link
from abb_rws_bridge.monitor import LOST, UP
from abb_rws_bridge.rws1 import RWS1
from abb_rws_bridge.session import Endpoint
from rws_testing.cell import USER
from steady_clock import SteadyClock

PORT = 8080
OURS, THEIRS = '10.99.0.1', '10.99.0.2'
EMULATOR = 'echo here; read _; ip link set lo up; exec "$0" -m abb_rws_emulator.cli "$@"'


def ip(*words: str, inside: int | None = None) -> None:
    """Run `ip`, here or in the namespace of a process."""
    prefix = [] if inside is None else ['nsenter', '-t', str(inside), '-n']
    subprocess.run([*prefix, 'ip', *words], check=True, timeout=60)


def main() -> None:
    """Measure."""
    options = [
        '--host',
        THEIRS,
        '--port',
        str(PORT),
        '--json',
        '--user',
        USER.user,
        '--password',
        USER.password,
    ]
    command = ['unshare', '--net', 'sh', '-c', EMULATOR, sys.executable, *options]
    peer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        with SteadyClock():  # what is measured are the client's own time-outs
            told = _measure(peer)
        sys.stdout.write(json.dumps(told) + '\n')
    finally:
        peer.kill()
        peer.communicate(timeout=60)


def _measure(peer: subprocess.Popen) -> dict:
    ip('link', 'set', 'lo', 'up')
    ip('link', 'add', 'cable0', 'type', 'veth', 'peer', 'name', 'cable1')
    peer.stdout.readline()  # it is in its own namespace now
    ip('link', 'set', 'cable1', 'netns', str(peer.pid))
    ip('addr', 'add', f'{OURS}/24', 'dev', 'cable0')
    ip('link', 'set', 'cable0', 'up')
    ip('addr', 'add', f'{THEIRS}/24', 'dev', 'cable1', inside=peer.pid)
    ip('link', 'set', 'cable1', 'up', inside=peer.pid)
    peer.stdin.write('\n')
    peer.stdin.flush()
    peer.stdout.readline()
    changed = threading.Condition()

    def on_change(_name):
        with changed:
            changed.notify_all()

    link = Link(lambda: Controller(Endpoint(THEIRS, PORT), USER, RWS1), on_change)
    link.open(60.0)
    try:
        _until(changed, lambda: link.events_live, 30.0)
        ip('link', 'set', 'cable1', 'down', inside=peer.pid)
        lost_s = _until(changed, lambda: link.known.link == LOST, 30.0)
        events_lost_s = lost_s + _until(changed, lambda: not link.events_live, 30.0)
        age_s = link.known.joints.age_s
        ip('link', 'set', 'cable1', 'up', inside=peer.pid)
        _until(
            changed,
            lambda: link.known.link == UP and link.known.joints.age_s < 0.3 and link.events_live,
            60.0,
        )
        return {
            'lost_s': lost_s,
            'events_lost_s': events_lost_s,
            'age_s': age_s,
            'sessions': link.sessions_used,
        }
    finally:
        link.close()


def _until(changed: threading.Condition, condition, deadline_s: float) -> float:
    began_s = time.monotonic()
    with changed:
        while not condition():
            if time.monotonic() - began_s > deadline_s:
                raise TimeoutError(f'not within {deadline_s} s')
            changed.wait(0.01)
    return time.monotonic() - began_s


if __name__ == '__main__':
    main()
