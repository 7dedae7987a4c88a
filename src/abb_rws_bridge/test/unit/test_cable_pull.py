"""The cable is pulled: nothing comes back, not even a reset (T7).

Real TCP over a pair of virtual interfaces.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rws_testing import cable

ISOLATED = ['unshare', '--user', '--map-root-user', '--net']


def may_have_a_network_of_its_own() -> str:
    """Why a test may not, or nothing."""
    missing = [name for name in ('unshare', 'nsenter', 'ip') if shutil.which(name) is None]
    if missing:
        return f'needs {" and ".join(missing)}'
    tried = subprocess.run(
        [*ISOLATED, 'ip', 'link', 'add', 'cable0', 'type', 'veth', 'peer', 'name', 'cable1'],
        capture_output=True,
        text=True,
    )
    return (
        ''
        if tried.returncode == 0
        else f'the kernel allows no network namespace: {tried.stderr.strip()}'
    )


def test_a_pulled_cable_is_reported_within_a_second_and_one_put_back_is_found():
    why_not = may_have_a_network_of_its_own()
    if why_not:
        pytest.skip(why_not)
    path = ':'.join([str(Path(cable.__file__).parents[1]), *filter(None, sys.path)])
    done = subprocess.run(
        [*ISOLATED, sys.executable, cable.__file__],
        capture_output=True,
        text=True,
        timeout=200,
        env={'PYTHONPATH': path, 'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told['lost_s'] < 1.0
    assert told['events_lost_s'] < 4.5  # a ping every 2 s, given up after 1 s more
    assert told['age_s'] > 0.5  # the last joint angles say how old they are
    assert told['sessions'] <= 2
