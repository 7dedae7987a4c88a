import gc
import logging
import os

import pytest

from ..bench import BoardBench, GripperBench
from ..boards import wait_for


@pytest.fixture(autouse=True)
def no_descriptors_left_behind(nothing_left_behind):
    """Every test gives back its sockets and files."""
    before = len(os.listdir('/proc/self/fd'))
    yield
    wait_for(
        lambda: [gc.collect(), len(os.listdir('/proc/self/fd')) <= before][1],
        2.0,
        'the end of all sockets and files',
    )


@pytest.fixture
def no_logs():
    """Log nothing: the faults of the test are intended."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(params=[BoardBench, GripperBench], ids=['board', 'gripper'])
def bench(request):
    """Each device with its cycle, without sockets."""
    return request.param()


@pytest.fixture
def board_bench():
    return BoardBench()


@pytest.fixture
def gripper_bench():
    return GripperBench()
