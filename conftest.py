"""Fixtures and rules for the tests of every package.

Each test file has a ROS domain of its own, so that nodes of different files, and of other test runs
on this machine, do not meet.

No test is run again, and none may fail because the machine is busy. Files marked `steady_clock`
hold both ends of a link with watchdogs in one process; its clock does not count stalls. Where a
watchdog stands between real processes (files marked `watchdogs`), a test that fails while this
machine stalls for longer than a watchdog allows is skipped, and says so.
"""

import asyncio
import fcntl
import inspect
import os
import signal
import tempfile
from pathlib import Path

import hypothesis
import pytest

from stall_meter import StallMeter
from steady_clock import SteadyClock

hypothesis.settings.register_profile(
    'any_machine', deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
# How long an example takes says nothing about the code on a machine that stalls.
hypothesis.settings.load_profile('any_machine')

# A shell starts what runs in the background, and all that this starts, with Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

STALL_S = 0.2  # a request to a device times out
_METER = pytest.StashKey[StallMeter]()
_DOMAINS = range(1, 50)  # above, programs choose free ones for the rigs that they start


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


@pytest.fixture(scope='module', autouse=True)
def steady_time(request):
    """Time of a file marked `steady_clock`: a stall of this process does not count."""
    if request.node.get_closest_marker('steady_clock') is None:
        yield
    else:
        with SteadyClock():
            yield


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a coroutine test in an event loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Measure stalls during a test with watchdogs, its fixtures included."""
    if item.get_closest_marker('watchdogs') is None:
        return (yield)
    item.stash[_METER] = StallMeter()
    try:
        return (yield)
    finally:
        item.stash[_METER].stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Skip what failed while the machine stalled: its watchdogs have done what they are for."""
    report = yield
    meter = item.stash.get(_METER, None)
    if report.failed and meter is not None and meter.longest_s > STALL_S:
        why = (
            f'this machine stalled for {meter.longest_s:.2f} s, a watchdog allows {STALL_S:g} s; '
            f'it failed with {call.excinfo.typename}: {str(call.excinfo.value)[:200]}'
        )
        report.outcome, report.longrepr = 'skipped', (str(item.path), item.location[1] or 0, why)
    return report
