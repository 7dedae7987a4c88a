"""Work that Dask's workers do ahead comes back in order; a lost worker is one line."""

import os
import threading

import pytest

from soft_arm_experiments.studies.cluster import connected, in_order
from soft_arm_experiments.studies.errors import StudyError


def test_results_come_in_the_order_of_the_arguments():
    def slowest_first(number):  # in here, because workers cannot import a test module
        threading.Event().wait(0.2 if number == 0 else 0.0)
        return number**2

    with connected(2, None) as client:
        assert list(in_order(client, slowest_first, range(12))) == [n**2 for n in range(12)]


def test_lost_worker_is_named():
    with connected(1, None) as client, pytest.raises(StudyError, match='worker.*lost'):
        list(in_order(client, os._exit, [1]))
