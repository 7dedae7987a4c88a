"""Public Modbus clients with the emulated devices and the firmware."""

import shutil
import subprocess
import time

import pytest
from pymodbus.client import ModbusTcpClient

from ..boards import Host, answered, keep_commanding, wait_for
from ..conftest import RtuBoard

pytestmark = pytest.mark.steady_clock

PRESSURE, RUN = 0, 2


@pytest.fixture
def connect():
    """Maker of pyModbusTCP clients."""
    client_module = pytest.importorskip(
        'pyModbusTCP.client', reason='pip install pyModbusTCP (requirements/python.in)'
    )
    made = []

    def make(rig, **options):
        made.append(
            client_module.ModbusClient(
                host='127.0.0.1',
                port=rig.device.port,
                unit_id=1,
                timeout=2.0,
                auto_open=True,
                **options,
            )
        )
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
    assert (
        not client.write_multiple_registers(100, [20_000] * 6 + [host.hold.next_code()])
        and client.last_except == 3
    )
    wait_for(lambda: tcp_board.plant.vented)  # it feeds the watchdog no more
    assert tcp_board.watchdog_tripped()


def instrument_of(device: str, timeout_s: float = 1.0):
    """Return a minimalmodbus instrument on a serial port."""
    minimalmodbus = pytest.importorskip(
        'minimalmodbus', reason='pip install minimalmodbus (requirements/python.in)'
    )
    instrument = minimalmodbus.Instrument(device, 1, close_port_after_each_call=True)
    instrument.serial.baudrate, instrument.serial.timeout = 250_000, timeout_s
    minimalmodbus.serial.serialutil.Timeout.TIME = lambda _self: time.monotonic()
    return instrument


def test_minimalmodbus_drives_the_firmware(library):
    minimalmodbus = pytest.importorskip(
        'minimalmodbus', reason='pip install minimalmodbus (requirements/python.in)'
    )
    rig = RtuBoard(library)
    instrument = instrument_of(rig.device)
    try:
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
    finally:
        rig.stop()


class Foreign:
    """Second client: pyModbusTCP on the emulated board, minimalmodbus on the firmware."""

    def __init__(self, rig, connect):
        self._client = connect(rig) if 'port' in rig.link else None
        # minimalmodbus waits for the rest of every refusal
        self._instrument = (
            None if self._client else instrument_of(rig.second_link['serial_device'], timeout_s=0.1)
        )

    def read(self, address: int) -> int:
        return (
            self._client.read_holding_registers(address, 1)[0]
            if self._client
            else self._instrument.read_register(address)
        )

    def write(self, address: int, value: int) -> bool:
        """Write one register with function 6; return True if accepted."""
        if self._client:
            return self._client.write_single_register(address, value)
        return self._tried(self._instrument.write_register, address, value, 0, 6)

    def write_many(self, address: int, values: list[int]) -> bool:
        """Write registers with function 16; return True if accepted."""
        if self._client:
            return self._client.write_multiple_registers(address, values)
        return self._tried(self._instrument.write_registers, address, values)

    def _tried(self, write, *arguments) -> bool:
        try:
            write(*arguments)
        except OSError:
            return False
        return True


FOREIGN = {
    'set points': lambda client: client.write_many(100, [9000] * 6),
    'one set point': lambda client: client.write(103, 9000),
    'vent': lambda client: client.write(108, 0),
    'heartbeat counted up': lambda client: client.write(106, client.read(15) + 1 & 0xFFFF),
}


def test_another_client_beside_the_driver_vents_the_board(connect, board_rig, make_driver):
    recorder, foreign = make_driver(board_rig), Foreign(board_rig, connect)
    driver = recorder.driver
    driver.connect()
    for name, write in FOREIGN.items():
        assert not answered(driver.arm)
        keep_commanding(driver, board_rig, lambda: board_rig.plant.follows(board_rig.targets_pa))
        written_s, written_device_s = time.monotonic(), board_rig.plant.device_clock_s()
        assert write(foreign) == (name == 'vent')
        wait_for(
            lambda: board_rig.plant.vented and recorder.reasons,
            2.0,
            f'vent and reason after {name}',
        )
        assert board_rig.plant.changed_device_s - written_device_s <= 0.3
        assert recorder.disarmed_s - written_s <= 0.5
        assert recorder.reasons[0].startswith('the board vented itself: foreign_master (')
        assert board_rig.board_faults() == 1 << 14
        assert 'latched foreign_master' in answered(driver.arm)
        changes = len(board_rig.plant.changes)
        foreign.write_many(100, [9000] * 6)  # repeated, and moves nothing
        assert not answered(driver.clear_faults)
        assert len(board_rig.plant.changes) == changes and board_rig.plant.vented
        recorder.reasons.clear()


WRITES_OF_PYMODBUS = {
    'coil': lambda client: client.write_coil(100, True),
    'coils': lambda client: client.write_coils(100, [True] * 6),
    'bits of a word': lambda client: client.mask_write_register(
        address=108, and_mask=0, or_mask=RUN
    ),
    'words and a read': lambda client: client.readwrite_registers(
        read_address=0, read_count=1, write_address=100, values=[9000]
    ),
    'words and a read of none': lambda client: client.readwrite_registers(
        read_address=200, read_count=1, write_address=100, values=[9000]
    ),
}


def test_every_kind_of_write_of_pymodbus_vents_a_held_board(connect, tcp_board):
    holder = connect(tcp_board)
    with ModbusTcpClient('127.0.0.1', port=tcp_board.device.port, timeout=2.0) as other:
        for write in WRITES_OF_PYMODBUS.values():
            host = Host(holder.write_multiple_registers)
            assert host.claim() and host.run()
            assert all(host.command([1000] * 6) for _ in range(3))
            assert tcp_board.board_faults() == 0
            assert write(other).isError()
            assert tcp_board.board_faults() == 1 << 14
            tcp_board.reset()


def mbpoll(port: int, *arguments) -> str:
    command = ['mbpoll', '-m', 'tcp', '-p', str(port), '-a', '1', '-0', '-1', '-o', '2', *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout


@pytest.mark.skipif(shutil.which('mbpoll') is None, reason='apt-get install mbpoll')
def test_mbpoll_reads_and_writes_both(gripper, tcp_board):
    assert 'Written 4 references' in mbpoll(
        gripper.device.port, '-t', '4', '-r', '1', '127.0.0.1', '0', '1', '0', '65236'
    )
    wait_for(lambda: gripper.plant.follows([-30e3]))
    wait_for(
        lambda: (
            '65236 (-300)'
            in mbpoll(gripper.device.port, '-t', '4', '-r', '0', '-c', '1', '127.0.0.1')
        )
    )
    assert '23302' in mbpoll(tcp_board.device.port, '-t', '3', '-r', '18', '-c', '1', '127.0.0.1')
    assert 'Written 1 references' in mbpoll(
        tcp_board.device.port, '-t', '4', '-r', '110', '127.0.0.1', str(0xA55A)
    )
    assert 'Written' not in mbpoll(
        tcp_board.device.port, '-t', '4', '-r', '107', '127.0.0.1', '63', '2'
    )
