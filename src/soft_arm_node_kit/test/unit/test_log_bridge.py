"""Records of a Python logger reach a node's logger, and nothing that is logged can raise."""

import logging
from pathlib import Path

import pytest

from soft_arm_node_kit.log_bridge import LogBridge


class Sink:
    """Stands in for the logger of a node."""

    def __init__(self):
        self.records = []

    def __getattr__(self, level):
        return lambda text: self.records.append((level, text.encode()))


@pytest.fixture
def log_folder(tmp_path, monkeypatch):
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path))
    return tmp_path


def test_every_level_goes_to_its_place_until_the_bridge_is_closed(log_folder, monkeypatch):
    sink, log = Sink(), logging.getLogger('example.part')
    # pytest-xdist cannot send captured lone surrogates to the main process.
    monkeypatch.setattr(logging.getLogger('example'), 'propagate', False)
    bridge = LogBridge('example', sink)
    log.info('link %s', 'up')
    log.warning('late')
    log.error('mode %s', '\ud800')
    log.debug('frame 01 02')
    bridge.close()
    log.error('after the end')
    assert sink.records == [('info', b'link up'), ('warning', b'late'), ('error', b'mode ?')]
    (details,) = Path(log_folder).glob('example_*.log')
    assert 'frame 01 02' in details.read_text() and 'late' not in details.read_text()
