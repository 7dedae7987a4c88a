"""The emulated PCU2-V.

Five values read, four written, never both triggers, and a watchdog for those who feed it.
"""

import asyncio
import itertools
import json
import os
import signal
import subprocess
import threading

import pytest
from pymodbus.client import AsyncModbusTcpClient

from soft_arm_sim.cli import pcu2v as command
from soft_arm_sim.devices.modbus_server import DeviceThread, PortInUseError
from soft_arm_sim.devices.pcu2v import WATCHDOG_MS, Pcu2v, Pcu2vLogic

pytestmark = pytest.mark.steady_clock

BOOT = [0, 0, 0, 0, 0]


def settings(logic: Pcu2vLogic) -> list[int]:
    return logic.read(1, 5)


def test_boots_with_everything_off():
    assert settings(Pcu2vLogic()) == BOOT


def test_set_points_are_read_back_with_signs():
    logic = Pcu2vLogic()
    assert logic.write(1, [0, 1, 1200, 0x10000 - 900]) == 0
    logic.tick(5, -899)
    assert logic.read(0, 5) == [0x10000 - 899, 0, 1, 1200, 0x10000 - 900]
    assert (logic.positive_target, logic.negative_target) == (1200, -900)


def test_never_both_triggers_by_any_sequence_of_writes():
    for values in itertools.product(range(2), repeat=8):
        logic = Pcu2vLogic()
        for address, value in zip((1, 2) * 4, values, strict=True):
            before, code = settings(logic), logic.write(address, [value])
            assert not (logic.positive_trigger and logic.negative_trigger)
            assert code == 0 or (code == 3 and settings(logic) == before)
    assert Pcu2vLogic().write(1, [1, 1]) == 3


@pytest.mark.parametrize(
    ('address', 'values', 'code'),
    [
        (0, [1], 2),
        (6, [1], 2),
        (5, [1, 1], 2),
        (3, [1201], 3),
        (3, [0xFFFF], 3),
        (4, [1], 3),
        (4, [0x10000 - 901], 3),
        (1, [2], 3),
        (2, [2], 3),
        (1, [0, 0, 100, 1], 3),
    ],
)
def test_refused_writes_change_nothing(address, values, code):
    logic = Pcu2vLogic()
    logic.write(1, [1, 0, 500, 0, 3])
    before = settings(logic)
    assert logic.write(address, values) == code
    assert settings(logic) == before


def test_silent_host_vents_and_a_heartbeat_that_stands_still_is_silence():
    logic = Pcu2vLogic()
    logic.write(1, [1, 0, 500, 0, 7])
    for _ in range(WATCHDOG_MS // 5 - 1):
        logic.write(1, [1, 0, 500, 0, 7])
        logic.tick(5, 0)
    assert logic.positive_trigger
    logic.tick(5, 0)
    assert settings(logic) == BOOT and logic.watchdog_trips == 1


def test_living_host_is_left_alone_and_one_without_heartbeat_has_no_watchdog():
    logic, plain = Pcu2vLogic(), Pcu2vLogic()
    plain.write(1, [1, 0, 500, 0])
    for beat in range(1, 200):
        assert logic.write(1, [1, 0, 500, 0, beat]) == 0
        logic.tick(10, 0)
        plain.tick(10, 0)
    assert logic.positive_trigger and plain.positive_trigger


class Plant:
    def __init__(self):
        self.calls, self.on = [], threading.Event()

    def advance(
        self, dt_s, positive_target_pa, negative_target_pa, positive_trigger, negative_trigger
    ):
        self.calls.append(
            (positive_target_pa, negative_target_pa, positive_trigger, negative_trigger)
        )
        if positive_trigger or negative_trigger:
            self.on.set()

    def sensor_pressure_pa(self):
        return 12_345.0


@pytest.fixture
def server():
    server = DeviceThread(Pcu2v(Plant(), port=0))
    server.start()
    yield server
    server.stop()
    assert not [t for t in threading.enumerate() if t.name == 'pcu2v']


def test_serves_the_registers_and_drives_the_plant(server):
    async def scenario():
        async with AsyncModbusTcpClient(
            '127.0.0.1', port=server.device.port, timeout=1, retries=0
        ) as client:
            await client.write_registers(1, [1, 0, 500, 0])
            await asyncio.to_thread(server.device.plant.on.wait, 2.0)
            words = [
                (await read(0, count=5)).registers
                for read in (client.read_holding_registers, client.read_input_registers)
            ]
            words.append((await client.read_holding_registers(0, count=5, device_id=255)).registers)
            refused = [
                await client.write_register(2, 1),
                await client.read_holding_registers(5, count=2),
                await client.read_coils(0, count=1),
                await client.readwrite_registers(
                    read_address=0, read_count=1, write_address=3, values=[0]
                ),
                await client.read_holding_registers(0, device_id=7),
            ]
            return words, [answer.exception_code for answer in refused]

    words, codes = asyncio.run(scenario())
    assert words == [[123, 1, 0, 500, 0]] * 3
    assert codes == [3, 2, 1, 1, 11]
    assert (50e3, 0.0, True, False) in server.device.plant.calls


def test_without_power_both_valves_are_shut(server):
    server.device.logic.write(1, [1, 0, 500, 0])
    assert server.device.plant.on.wait(2.0)
    server.stop()
    assert server.device.plant.calls[-1] == (0.0, 0.0, False, False)


def test_port_in_use_is_one_clear_line(server):
    with pytest.raises(PortInUseError, match='pcu2v: cannot listen on .* probably another program'):
        DeviceThread(Pcu2v(Plant(), port=server.device.port)).start()


def test_command_says_where_it_listens_and_ends_on_sigterm():
    process = subprocess.Popen(
        ['softarm', 'sim', 'pcu2v', '--port', '0', '--json'],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {'PYTHONUNBUFFERED': '1'},
    )
    try:
        where = json.loads(process.stdout.readline())
        assert where['host'] == '127.0.0.1'

        async def bend():
            async with AsyncModbusTcpClient(
                where['host'], port=where['port'], timeout=1, retries=0
            ) as client:
                await client.write_registers(1, [1, 0, 800, 0])
                while (
                    pressure := (await client.read_holding_registers(0, count=1)).registers[0]
                ) < 700:
                    await asyncio.sleep(0.02)
                return pressure

        assert asyncio.run(asyncio.wait_for(bend(), 5.0)) < 900
        process.send_signal(signal.SIGTERM)
        assert process.wait(20.0) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--port', '70000'], '--port: 70000'),
        (['--seed', '-1'], '--seed: -1'),
        (['--robot', 'two_module_arm'], 'not a finger'),
        (['--robot', 'nothing'], 'nothing'),
        (['--object-gap-m', '-1'], '--object-gap-m: -1.0'),
        (['--host', '203.0.113.1'], 'cannot listen on 203.0.113.1'),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, arguments, words):
    assert command.main(arguments) == 2
    stderr = capsys.readouterr().err
    assert words in stderr and len(stderr.splitlines()) == 1
