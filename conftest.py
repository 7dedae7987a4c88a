"""Keeps tests that start nodes apart: each test file has a ROS domain of its own, also beside other runs on this machine."""

import fcntl
import os
import tempfile
from pathlib import Path

import pytest

_DOMAINS = range(1, 100)  # above 101 the ports run into the ephemeral ones of Linux


def _claim_domain():
    """A domain id that no other test run holds, and the lock that holds it."""
    for offset in range(len(_DOMAINS)):
        domain = _DOMAINS[(os.getpid() + offset) % len(_DOMAINS)]
        lock = (Path(tempfile.gettempdir()) / f'soft_arm_test_domain_{domain}.lock').open('w')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return domain, lock
    raise RuntimeError(f'all ROS domains {_DOMAINS.start}..{_DOMAINS.stop - 1} are claimed by running tests')


@pytest.fixture(scope='module', autouse=True)
def ros_domain():
    """Domain id of this test file, also in the environment of what it starts."""
    domain, lock = _claim_domain()
    before = os.environ.get('ROS_DOMAIN_ID')
    os.environ['ROS_DOMAIN_ID'] = str(domain)
    yield domain
    lock.close()
    if before is None:
        del os.environ['ROS_DOMAIN_ID']
    else:
        os.environ['ROS_DOMAIN_ID'] = before
