"""Public Modbus clients with the emulated devices and the firmware."""

import contextlib
import time

import pytest

from ..boards import Host, answered, moving, wait_for
from ..conftest import RtuBoard

pytestmark = pytest.mark.steady_clock

RUN = 2


@pytest.fixture
def connect():
    """Maker of pyModbusTCP clients."""
    client_module = pytest.importorskip(
        'pyModbusTCP.client', reason='pip install pyModbusTCP (requirements/python.in)'
    )
    with contextlib.ExitStack() as clients:

        def make(rig):
            where = {'host': '127.0.0.1', 'port': rig.device.port, 'unit_id': 1}
            client = client_module.ModbusClient(**where, timeout=2.0, auto_open=True)
            clients.callback(client.close)
            return client

        yield make


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
    assert client.read_input_registers(18, 1) == [0x5B06]
    # Nobody runs it without holding it.
    assert not client.write_multiple_registers(107, [63, RUN]) and client.last_except == 4
    host = Host(client.write_multiple_registers)
    assert host.claim() and host.run()
    for _ in range(20):
        assert host.command([1000, 0x10000 - 1000, 0, 0, 0, 0])
    wait_for(lambda: tcp_board.plant.follows([10e3, -10e3, 0, 0, 0, 0]))
    code = host.hold.next_code()
    assert client.write_read_multiple_registers(106, [code], 0, 19)[15] == code
    assert not client.write_multiple_registers(100, [20_000] * 6 + [host.hold.next_code()])
    assert client.last_except == 3
    wait_for(lambda: tcp_board.plant.vented)  # it feeds the watchdog no more
    assert tcp_board.watchdog_tripped()


def test_minimalmodbus_drives_the_firmware(library):
    minimalmodbus = pytest.importorskip(
        'minimalmodbus', reason='pip install minimalmodbus (requirements/python.in)'
    )
    rig = RtuBoard(library)
    instrument = minimalmodbus.Instrument(rig.device, 1, close_port_after_each_call=True)
    instrument.serial.baudrate, instrument.serial.timeout = 250_000, 1.0
    minimalmodbus.serial.serialutil.Timeout.TIME = lambda _self: time.monotonic()
    with contextlib.closing(rig):
        assert instrument.read_register(18, functioncode=4) == 0x5B06
        with pytest.raises(minimalmodbus.SlaveReportedException, match='device failure'):
            instrument.write_registers(107, [63, RUN])
        host = Host(instrument.write_registers)
        host.claim()
        host.run()
        host.command([500, 0x10000 - 500, 0, 0, 0, 0])
        wait_for(lambda: rig.plant.follows([5e3, -5e3, 0, 0, 0, 0]))
        assert instrument.read_register(101, signed=True) == -500
        with pytest.raises(minimalmodbus.IllegalRequestError):
            instrument.write_registers(100, [20_000] * 6 + [host.hold.next_code()])


def test_another_client_beside_the_driver_vents_the_board(connect, tcp_board, make_driver):
    recorder, foreign = make_driver(tcp_board), connect(tcp_board)
    driver = moving(recorder, tcp_board)
    written_s, written_device_s = time.monotonic(), tcp_board.plant.device_clock_s()
    assert not foreign.write_single_register(103, 9000)
    wait_for(lambda: tcp_board.plant.vented and recorder.reasons, 2.0, 'vent and reason')
    assert tcp_board.plant.changed_device_s - written_device_s <= 0.3
    assert recorder.disarmed_s - written_s <= 0.5
    assert recorder.reasons[0].startswith('the board vented itself: foreign_master (')
    assert tcp_board.board_faults() == 1 << 14
    assert 'latched foreign_master' in answered(driver.arm)
    changes = len(tcp_board.plant.changes)
    foreign.write_multiple_registers(100, [9000] * 6)  # moves nothing
    assert not answered(driver.clear_faults)
    assert len(tcp_board.plant.changes) == changes and tcp_board.plant.vented
