"""Fixtures and rules for the tests of every package.

Each test file has a ROS domain of its own, so that nodes of different files, and of other test runs
on this machine, do not meet.

Real-time tests (`component/`, `system/`, and files marked `real_time`) talk to processes and
devices that vent, time out or latch when the machine stalls, as they should. A failure of such a
test may be the machine's, so it gets two more attempts, each with new processes.
"""

import fcntl
import os
import tempfile
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile(
    'any_machine', deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
# How long an example takes says nothing about the code on a machine that stalls.
hypothesis.settings.load_profile('any_machine')

REAL_TIME_FOLDERS, RERUNS = {'component', 'system'}, 2
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
    raise RuntimeError(
        f'all ROS domains {_DOMAINS.start}..{_DOMAINS.stop - 1} are claimed by running tests'
    )


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


def pytest_collection_modifyitems(items):
    """Give tests in real time more attempts."""
    for item in items:
        if REAL_TIME_FOLDERS.intersection(item.path.parts) or item.get_closest_marker('real_time'):
            item.add_marker(pytest.mark.flaky(reruns=RERUNS))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """End the fixtures that a file's tests share before another attempt: they may have latched."""
    if getattr(item, 'execution_count', 1) > 1:
        for name in reversed(item.fixturenames):
            for definition in item._fixtureinfo.name2fixturedefs.get(name, ()):
                if definition.scope == 'module':
                    definition.finish(item._request)
