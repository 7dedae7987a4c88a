"""The Modbus TCP server of the emulated devices, byte for byte, and how a device ends."""

import asyncio
import itertools
import socket
import struct
import threading
import time
from contextlib import contextmanager

import pytest

from soft_arm_sim.devices.modbus_server import RELEASE_S, DeviceThread, ModbusDevice
from soft_arm_sim.devices.pcu2v import Pcu2vLogic
from soft_arm_sim.devices.valve_board import BoardLogic
from soft_arm_sim.errors import SimulationError

pytestmark = pytest.mark.steady_clock

FUNCTIONS = {'board': (3, 4, 6, 16, 23), 'gripper': (3, 4, 6, 16)}


class Device(ModbusDevice):
    """A device's registers, without a plant."""

    def __init__(self, kind: str = 'board'):
        self.logic = BoardLogic() if kind == 'board' else Pcu2vLogic()
        self.fails, self.powered, self.in_use = False, True, False
        super().__init__(kind, self.logic, FUNCTIONS[kind], '127.0.0.1', 0, 0.002)

    def tick(self, dt_s):
        if self.fails:
            raise IndexError('a bug')

    def power_off(self):
        self.powered = False

    @property
    def released(self):
        return not self.in_use


@contextmanager
def served(device):
    thread = DeviceThread(device)
    thread.start()
    try:
        yield thread
    finally:
        thread.stop()


@pytest.fixture(params=['board', 'gripper'])
def device(request):
    with served(Device(request.param)) as thread:
        yield thread.device


class Client:
    """A plain socket."""

    def __init__(self, device):
        self.socket = socket.create_connection(('127.0.0.1', device.port), timeout=5.0)
        self._file = self.socket.makefile('rb')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self.socket.close()

    def receive(self) -> tuple[int, int, bytes]:
        """Transaction, unit and PDU of the next answer.

        (0, 0, b'') when the connection has ended.
        """
        try:
            header = self._file.read(7)
        except ConnectionError:
            header = b''
        if not header:
            return 0, 0, b''
        transaction, protocol, length, unit = struct.unpack('>HHHB', header)
        assert protocol == 0
        return transaction, unit, self._file.read(length - 1)

    def ask(self, pdu: bytes, unit: int = 1) -> bytes:
        self.socket.sendall(frame(7, pdu, unit))
        transaction, answered, answer = self.receive()
        assert (transaction, answered) == (7, unit)
        return answer


def frame(transaction: int, pdu: bytes, unit: int = 1) -> bytes:
    return struct.pack('>HHHB', transaction, 0, len(pdu) + 1, unit) + pdu


def test_writes_are_echoed_as_modbus_demands(device):
    writes = {
        'board': ['06 006E A55A', '06 0064 0005', '06 006D 00FA'],
        'gripper': ['06 0003 0005', '06 0001 0001'],
    }[device.name]
    with Client(device) as client:
        for text in writes:
            assert client.ask(bytes.fromhex(text)) == bytes.fromhex(text)
        address = {'board': '0064', 'gripper': '0003'}[device.name]
        assert client.ask(bytes.fromhex(f'10 {address} 0001 02 0009')) == bytes.fromhex(
            f'10 {address} 0001'
        )
        assert client.ask(bytes.fromhex(f'03 {address} 0001')) == bytes.fromhex('03 02 0009')


def test_every_request_of_one_segment_is_answered_and_one_may_come_in_pieces(device):
    requests = [frame(k, bytes.fromhex('03 0000 0002')) for k in range(1, 60)]
    with Client(device) as client:
        client.socket.sendall(b''.join(requests))
        assert [client.receive()[0] for _ in requests] == list(range(1, 60))
        for byte in frame(99, bytes.fromhex('04 0000 0002')):
            client.socket.sendall(bytes([byte]))
        assert client.receive() == (99, 1, bytes.fromhex('04 04 0000 0000'))
        client.socket.sendall(requests[0] + requests[1])
        client.socket.shutdown(socket.SHUT_WR)  # the answers come also to one who says no more
        assert [client.receive()[0] for _ in range(3)] == [1, 2, 0]


class Writer:
    """Sink that takes every answer at once, as the socket of a client that reads all of them."""

    def __init__(self):
        self.answers = []
        self.write, self.close = self.answers.append, lambda: None

    async def drain(self):
        pass


def test_the_devices_loop_has_its_turn_after_every_one_of_many_waiting_requests():
    turns = []

    async def serve():
        device, reader, writer = Device(), asyncio.StreamReader(), Writer()
        for k in range(500):
            reader.feed_data(frame(k, bytes.fromhex('03 0000 0002')))
        reader.feed_eof()
        serving = asyncio.create_task(device._serve(reader, writer))
        while not serving.done():
            turns.append(len(writer.answers))
            await asyncio.sleep(0)
        assert len(writer.answers) == 500

    asyncio.run(serve())
    assert max(after - before for before, after in itertools.pairwise(turns)) <= 1


@pytest.mark.parametrize('function', [3, 4])
@pytest.mark.parametrize(
    ('rest', 'code'),
    [
        ('0000 0000', 3),
        ('0000 007E', 3),
        ('0000 FFFF', 3),
        ('0000', 3),
        ('0000 0001 00', 3),
        ('0000 007D', 2),
        ('FFFF 0001', 2),
        ('FFFF 007D', 2),
    ],
)
def test_wrong_reads_are_refused(device, function, rest, code):
    with Client(device) as client:
        assert client.ask(bytes([function]) + bytes.fromhex(rest)) == bytes([function | 0x80, code])


@pytest.mark.parametrize(
    ('request_', 'code'),
    [
        ('06 0064', 3),
        ('06 0064 0005 00', 3),
        ('10 0064 0000 00', 3),
        ('10 0064 0002 02 0001', 3),
        ('10 0064 0001 04 0001', 3),
        ('10 0064 0001 02 00', 3),
        pytest.param('10 0064 007C F8' + 124 * ' 0000', 3, id='124 words'),
        ('10 0064', 3),
        ('17 0000 0001 0064 0001 02', 3),
        ('17 0000 0000 0064 0001 02 0005', 3),
        ('17 0000 007E 0064 0001 02 0005', 3),
        ('17 0200 0001 0064 0001 02 0005', 2),
        ('17 0000 0001 0064 0001 02 7FFF', 3),
        pytest.param('17 0000 0001 0064 007A F4' + 122 * ' 0000', 3, id='122 words'),
    ],
)
def test_wrong_writes_are_refused_and_change_nothing(request_, code):
    with served(Device()) as thread, Client(thread.device) as client:
        pdu = bytes.fromhex(request_)
        assert client.ask(pdu) == bytes([pdu[0] | 0x80, code])
        assert thread.device.logic.read(100, 24) == BoardLogic().read(100, 24)


def test_functions_that_the_device_does_not_have_are_illegal(device):
    with Client(device) as client:
        for function in set(range(256)) - set(FUNCTIONS[device.name]):
            for rest in ('', '0000 0001', '0E 01 00'):
                assert client.ask(bytes([function]) + bytes.fromhex(rest)) == bytes(
                    [function | 0x80, 1]
                )


def test_units(device):
    with Client(device) as client:
        for unit, answer in (
            (0, '03 02 0000'),
            (1, '03 02 0000'),
            (255, '03 02 0000'),
            (2, '83 0B'),
            (247, '83 0B'),
        ):
            assert client.ask(bytes.fromhex('03 0000 0001'), unit) == bytes.fromhex(answer)


@pytest.mark.parametrize(
    'header',
    [
        '0001 0001 0006 01',
        '0001 0000 0001 01',
        '0001 0000 0000 01',
        '0001 0000 0200 01',
        '4745 5420 2F20 48',
    ],
)
def test_what_is_no_modbus_ends_its_connection_and_no_other(device, header):
    with Client(device) as other, Client(device) as client:
        client.socket.sendall(bytes.fromhex(header) + bytes(300))
        assert client.receive() == (0, 0, b'')
        assert other.ask(bytes.fromhex('03 0000 0001')) == bytes.fromhex('03 02 0000')


def test_a_loop_that_breaks_off_ends_the_device_loudly(caplog):
    with served(Device()) as thread, Client(thread.device) as client:
        thread.check()
        assert client.ask(bytes.fromhex('03 0000 0001'))
        thread.device.fails = True
        assert client.receive() == (0, 0, b'')  # no register is served any more
        end_s = time.monotonic() + 5.0
        while thread.device.powered and time.monotonic() < end_s:
            threading.Event().wait(0.005)
        assert not thread.device.powered
        with pytest.raises(ConnectionRefusedError):
            Client(thread.device)
        with pytest.raises(
            SimulationError,
            match=r"board: its loop failed, it serves no more: IndexError\('a bug'\)",
        ):
            thread.check()
    assert 'its loop failed' in caplog.text


@pytest.mark.parametrize('in_use', ['for a while', 'for ever', 'not'])
def test_a_device_that_is_told_to_end_serves_until_it_is_released(in_use):
    thread = DeviceThread(Device())
    thread.start()
    device, began_s = thread.device, time.monotonic()
    with Client(device) as client:
        device.in_use = in_use != 'not'
        stopping = threading.Thread(
            target=thread.stop, args=(RELEASE_S if in_use != 'for ever' else 0.2,)
        )
        stopping.start()
        if in_use == 'for a while':
            for _ in range(20):
                assert client.ask(bytes.fromhex('03 0000 0001')) and device.powered
            device.in_use = False
        assert client.receive() == (0, 0, b'')
        stopping.join(5.0)
    assert not device.powered and not stopping.is_alive()
    assert time.monotonic() - began_s < RELEASE_S
