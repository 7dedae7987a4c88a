import functools
import logging
import threading
import time
from contextlib import ExitStack

import pytest

from pneumatic_driver import driver
from pneumatic_driver.device import Device
from pneumatic_driver.driver import Driver
from pneumatic_driver.register_map import load_map

from .boards import RecordingPlant, TcpBoard, TcpGripper, wait_for
from .firmware import CBoard, PtySlave, build_library
from .proxy import Proxy

logging.getLogger('pymodbus').setLevel(logging.CRITICAL)


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """Check that every test ends its threads."""
    before = set(threading.enumerate())
    yield
    wait_for(lambda: set(threading.enumerate()) <= before, 2.0, 'the end of all threads')


@pytest.fixture(autouse=True)
def patient_calls(monkeypatch):
    """Let calls of the driver's thread time out only after minutes of the wall clock."""
    monkeypatch.setattr(driver, '_CALL_TIMEOUT_S', 120.0)


@pytest.fixture(scope='session')
def library_for(tmp_path_factory):
    """Builder of the firmware for a number of channels."""
    return functools.cache(lambda n: build_library(tmp_path_factory.mktemp('firmware'), n))


@pytest.fixture(scope='session')
def library(library_for):
    return library_for(6)


class RtuBoard(PtySlave):
    """Firmware behind a serial line, with the interface of TcpBoard."""

    map, driver, targets_pa = TcpBoard.map, TcpBoard.driver, TcpBoard.targets_pa
    board_faults, watchdog_tripped = TcpBoard.board_faults, TcpBoard.watchdog_tripped

    def __init__(self, library):
        super().__init__(CBoard(library), RecordingPlant())
        self._plant.device_clock_s = lambda: 1e-3 * self.uptime_ms
        self.plant = self._plant
        self.link, self.second_link = ({'serial_device': device} for device in self.devices)


def rig_fixture(*kinds: str):
    """Return a fixture of these rigs: valve board on 'tcp' or 'rtu', 'gripper' on TCP."""

    @pytest.fixture(params=kinds)
    def rig(request):
        if request.param == 'rtu':
            made = RtuBoard(request.getfixturevalue('library'))
        else:
            made = {'tcp': TcpBoard, 'gripper': TcpGripper}[request.param]()
        yield made
        made.stop()

    return rig


tcp_board, gripper = rig_fixture('tcp'), rig_fixture('gripper')
tcp_rig, rig = rig_fixture('tcp', 'gripper'), rig_fixture('tcp', 'rtu', 'gripper')


@pytest.fixture
def proxy_to():
    """Maker of proxies between driver and device."""
    with ExitStack() as proxies:

        def make(rig) -> Proxy:
            proxy = Proxy(rig.device.port)
            proxies.callback(proxy.stop)
            return proxy

        yield make


def device_of(rig, link=None) -> Device:
    """Return the device of a rig on the patched `time.monotonic`."""
    return rig.driver(load_map(rig.map).with_link(**(link or rig.link)), clock=time.monotonic)


class DriverRecorder:
    """Driver that records exchanges and reasons of disarming."""

    def __init__(self, rig, link):
        self.exchanges, self.reasons = [], []
        self.driver = Driver(
            device_of(rig, link), 50.0, 0.5, self.exchanges.append, self._disarmed, time.monotonic
        )
        self.disarmed_s = None

    def _disarmed(self, reason):
        self.disarmed_s = time.monotonic()
        self.reasons.append(reason)


@pytest.fixture
def make_driver():
    with ExitStack() as drivers:

        def make(rig, link=None) -> DriverRecorder:
            recorder = DriverRecorder(rig, link)
            drivers.callback(recorder.driver.close)
            return recorder

        yield make
