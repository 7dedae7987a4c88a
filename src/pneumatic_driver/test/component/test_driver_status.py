"""Diagnostics of a driver and an emulated device in this process."""

import time

import pytest

from pneumatic_driver.ros.conversions import driver_status
from soft_arm_node_kit import diagnostics

from ..boards import moving

pytestmark = pytest.mark.steady_clock


def test_a_shutdown_from_active_blames_no_other_client(tcp_rig, make_driver):
    recorder = make_driver(tcp_rig)
    for _ in range(20):
        driver = moving(recorder, tcp_rig)
        driver.disconnect()
        level, message, values = driver_status(driver, '/driver', 'finalized', '', time.monotonic())
        assert (level, message) == (diagnostics.OK, 'finalized')
        assert values['remedy'] == 'start the node again'
    assert recorder.reasons == []
