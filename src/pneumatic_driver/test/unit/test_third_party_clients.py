"""Modbus clients that are not ours, against the emulated devices and the firmware: they must see and do what our driver does."""

import shutil
import subprocess

import pytest

from ..boards import wait_for
from ..conftest import RtuBoard

pytestmark = pytest.mark.real_time

PRESSURE, RUN = 0, 2


@pytest.fixture
def connect():
    """Opens pyModbusTCP clients, and closes them."""
    client_module = pytest.importorskip('pyModbusTCP.client', reason='pip install pyModbusTCP (requirements/python.in)')
    made = []

    def make(rig, **options):
        made.append(client_module.ModbusClient(host='127.0.0.1', port=rig.device.port, unit_id=1, timeout=2.0, auto_open=True, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


def test_pymodbustcp_drives_the_gripper(connect, gripper):
    client = connect(gripper)
    assert client.write_multiple_registers(1, [1, 0, 500, 0])
    wait_for(lambda: gripper.plant.follows([50e3]))
    wait_for(lambda: client.read_holding_registers(0, 5) == [500, 1, 0, 500, 0])
    assert client.read_input_registers(0, 5) == [500, 1, 0, 500, 0]
    assert not client.write_single_register(2, 1) and client.last_except == 3  # both triggers
    assert client.read_holding_registers(0, 7) is None and client.last_except == 2
    assert client.write_multiple_registers(1, [0, 0])
    wait_for(lambda: gripper.plant.vented)


def test_pymodbustcp_drives_the_board(connect, tcp_board):
    client = connect(tcp_board)
    assert client.read_input_registers(18, 1) == [0x5A06]
    assert client.write_multiple_registers(107, [63, RUN])
    for beat in range(1, 20):
        assert client.write_multiple_registers(100, [1000, 0x10000 - 1000, 0, 0, 0, 0, beat])
    wait_for(lambda: tcp_board.plant.follows([10e3, -10e3, 0, 0, 0, 0]))
    answer = client.write_read_multiple_registers(100, [0] * 6 + [99], 0, 19)
    assert answer[15] == 99
    assert not client.write_single_register(100, 20_000) and client.last_except == 3
    wait_for(lambda: tcp_board.plant.vented)  # it feeds the watchdog no more


def test_two_pymodbustcp_clients_share_the_gripper(connect, gripper):
    first, second = connect(gripper), connect(gripper)
    for k in range(50):
        assert first.write_single_register(3, k) and second.read_holding_registers(3, 1) == [k]


def test_minimalmodbus_drives_the_firmware(library):
    minimalmodbus = pytest.importorskip('minimalmodbus', reason='pip install minimalmodbus (requirements/python.in)')
    rig = RtuBoard(library)
    instrument = minimalmodbus.Instrument(rig.device, 1, close_port_after_each_call=True)
    try:
        instrument.serial.baudrate, instrument.serial.timeout = 250_000, 1.0
        assert instrument.read_register(18, functioncode=4) == 0x5A06
        instrument.write_registers(107, [63, RUN])
        instrument.write_registers(100, [500, 0x10000 - 500, 0, 0, 0, 0, 1])
        wait_for(lambda: rig.plant.follows([5e3, -5e3, 0, 0, 0, 0]))
        assert instrument.read_register(101, signed=True) == -500
        with pytest.raises(minimalmodbus.IllegalRequestError):
            instrument.write_register(100, 20_000, functioncode=6)
    finally:
        rig.stop()


def mbpoll(port: int, *arguments) -> str:
    command = ['mbpoll', '-m', 'tcp', '-p', str(port), '-a', '1', '-0', '-1', '-o', '2', *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout


@pytest.mark.skipif(shutil.which('mbpoll') is None, reason='apt-get install mbpoll')
def test_mbpoll_reads_and_writes_both(gripper, tcp_board):
    assert 'Written 4 references' in mbpoll(gripper.device.port, '-t', '4', '-r', '1', '127.0.0.1', '0', '1', '0', '65236')
    wait_for(lambda: gripper.plant.follows([-30e3]))
    wait_for(lambda: '65236 (-300)' in mbpoll(gripper.device.port, '-t', '4', '-r', '0', '-c', '1', '127.0.0.1'))
    assert '23046' in mbpoll(tcp_board.device.port, '-t', '3', '-r', '18', '-c', '1', '127.0.0.1')
    assert 'Written 2 references' in mbpoll(tcp_board.device.port, '-t', '4', '-r', '107', '127.0.0.1', '63', '2')
