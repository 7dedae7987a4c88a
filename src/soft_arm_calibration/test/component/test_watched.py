"""An experiment can be watched, and neither pages nor a twin that fails can harm it."""

import os
import sys
import threading
import urllib.request
from urllib.error import URLError

import pytest

from soft_arm_calibration.ros.watched import Watched


def ask(url, timeout_s=60.0):
    with urllib.request.urlopen(url, timeout=timeout_s) as answer:
        return answer.read().decode()


def ask_the_twin(watched):
    try:
        return ask(watched.url)
    except TimeoutError:
        if os.getloadavg()[0] < os.cpu_count():
            raise
        pytest.skip('other programs leave no core idle, and the twin runs on nothing else')


def test_the_first_page_starts_the_twin_when_the_cores_are_idle_and_the_end_ends_it(tmp_path):
    log = tmp_path / 'twin.log'
    with Watched(log) as watched:
        assert watched._process is None
        assert not log.exists()
        assert '<title>' in ask_the_twin(watched)
        process = watched._process
        assert os.sched_getscheduler(process.pid) == os.SCHED_IDLE
        assert process.poll() is None
        assert '<title>' in ask_the_twin(watched)
        assert watched._process is process
    assert process.poll() is not None
    with pytest.raises(URLError):
        ask(watched.url, 5.0)


def test_without_a_page_nothing_is_started(tmp_path):
    with Watched(tmp_path / 'twin.log') as watched:
        threads = threading.active_count()
    assert watched._process is None
    assert not watched._thread.is_alive()
    assert threading.active_count() < threads


@pytest.mark.parametrize(
    'command', [(sys.executable, '-c', 'raise SystemExit(3)'), ('/no/such/program',)]
)
def test_a_twin_that_fails_harms_nothing(tmp_path, command):
    with Watched(tmp_path / 'twin.log', command) as watched, pytest.raises(OSError):
        ask(watched.url)


def test_a_log_that_cannot_be_written_harms_nothing(tmp_path):
    (tmp_path / 'file').write_text('')
    with Watched(tmp_path / 'file' / 'twin.log') as watched, pytest.raises(OSError):
        ask(watched.url)
    assert watched._process is None
