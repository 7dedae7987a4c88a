import gc
import os

import pytest

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
