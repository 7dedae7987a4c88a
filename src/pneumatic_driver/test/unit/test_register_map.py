"""Register maps: schema, checks at load, codec."""

import math
import struct

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pneumatic_driver.errors import RegisterMapError
from pneumatic_driver.register_map import RegisterMap, load_map, shipped_maps
from pneumatic_driver.valve_board_map import map_for
from soft_arm_description.robot import load_robot

# A gripper's pressure unit with separate positive and negative channels, 4xxxx-style addresses and
# every type. Invented.
MAP = """
device: {name: two_sided, vendor: nobody, verified: false, source: invented for the tests}
link: {kind: tcp, host: 192.168.1.20, port: 502, unit_id: 1, timeout_s: 0.2}
conventions: {address_base: 1, word_order: big, read_fc: 3, write_fc: 16}
limits: {pressure_kpa: [-80.0, 100.0], slew_kpa_s: 200.0}
registers:
  pressure:   {addr: 1, type: int16, scale: 0.1, unit: kPa, access: r}
  flow:       {addr: 2, type: float32, access: r}
  total:      {addr: 4, type: int32, scale: -0.5, offset: 3.0, unit: mbar, access: r}
  pos_enable: {addr: 11, type: uint16, bit: 0, access: rw, range: [0.0, 1.0], safe: 0.0}
  neg_enable: {addr: 11, type: uint16, bit: 5, access: rw, range: [0.0, 1.0], safe: 0.0}
  pos_target: {addr: 12, type: int16, scale: 0.1, unit: kPa, access: rw, range: [0.0, 100.0],
               safe: 0.0}
  neg_target: {addr: 13, type: int16, scale: 0.1, unit: kPa, access: rw, range: [-80.0, 0.0],
               safe: 0.0}
  speed:      {addr: 20, type: float32, access: rw, range: [-1.0e+6, 1.0e+6], safe: 0.0}
polls:
  - {name: status, start: 1, count: 13, rate_hz: 50.0}
safe_sequence:
  - {pos_enable: 0.0, neg_enable: 0.0}
  - {pos_target: 0.0, neg_target: 0.0}
interlocks:
  - {never_both: [pos_enable, neg_enable]}
"""


def load(change=lambda m: None, tmp_path=None, text=None) -> RegisterMap:
    content = yaml.safe_load(MAP)
    change(content)
    path = tmp_path / 'map.yaml'
    path.write_text(text if text is not None else yaml.safe_dump(content, sort_keys=False))
    return load_map(path)


def put(*keys_and_value):
    *keys, last, value = keys_and_value

    def change(content):
        for key in keys:
            content = content[key]
        if value is None:
            del content[last]
        else:
            content[last] = value

    return change


@pytest.mark.parametrize('name', sorted(shipped_maps()))
def test_shipped_maps_load(name):
    assert load_map(name).device.name == name


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (put('device', None), 'device: key is missing: add it'),
        (put('registers', 'pressure', 'adr', 1), 'registers.pressure.adr: unknown key'),
        (put('registers', 'pressure', 'scale', 0.0), 'scale must not be 0'),
        (put('registers', 'pressure', 'unit', 'psi'), "unit 'psi' is unknown"),
        (
            put('registers', 'flow', 'addr', 1),
            "registers 'pressure' (addresses 1..1) and 'flow' (1..2) overlap",
        ),
        (
            put('registers', 'neg_enable', 'bit', 0),
            "'pos_enable' (addresses 11..11) and 'neg_enable' (11..11) overlap",
        ),
        (put('registers', 'pos_target', 'range', [100.0, 0.0]), 'the smaller limit must be first'),
        (
            put('registers', 'pos_target', 'range', [0.0, 4000.0]),
            '40000 counts: int16 holds [-32768, 32767]',
        ),
        (put('registers', 'pos_target', 'safe', -1.0), 'safe -1.0 kPa is outside the range'),
        (put('registers', 'pos_target', 'range', None), 'needs range and safe'),
        (put('registers', 'pos_enable', 'scale', 2.0), 'bits need'),
        (put('limits', 'pressure_kpa', [10.0, -10.0]), 'must be smaller'),
        (put('polls', 0, 'count', 3), "register 'total' (address 4) is in no poll"),
        (
            put('polls', [{'name': 'empty', 'start': 40, 'count': 2, 'rate_hz': 1.0}]),
            "poll 'empty' (40..41) covers no readable register",
        ),
        (put('safe_sequence', [{'pos_enabel': 0.0}]), "no register 'pos_enabel'"),
        (put('safe_sequence', [{'pos_target': 101.0}]), '101 kPa is outside [0, 100] kPa'),
        (
            put('safe_sequence', [{'pos_enable': 1.0, 'neg_enable': 1.0}]),
            'must never be active together',
        ),
        (put('interlocks', [{'never_both': ['pos_enable', 'nothing']}]), "no register 'nothing'"),
        (
            put('heartbeat', {'counter': 'beat', 'echo': 'flow', 'device_timeout_s': 0.5}),
            "no register 'beat'",
        ),
    ],
)
def test_wrong_maps_are_refused_in_one_line(tmp_path, change, words):
    with pytest.raises(RegisterMapError) as error:
        load(change, tmp_path)
    assert words in str(error.value)
    assert '\n' not in str(error.value) and 'map.yaml' in str(error.value)


def test_files_that_are_not_maps(tmp_path):
    with pytest.raises(RegisterMapError, match='must hold keys'):
        load(tmp_path=tmp_path, text='- 1')
    with pytest.raises(RegisterMapError, match="'nowhere': No such file .* one of .*valve_board"):
        load_map('nowhere')


@settings(max_examples=30)
@given(st.floats(-96.0, 96.0))
def test_int16_round_trip_to_half_a_step(pressure_kpa):
    register_map = load_map('valve_board')
    ((address, words),) = register_map.encode({'target': [pressure_kpa] * 6})
    assert address == 100
    assert register_map.decode(100, words + [0] * 6)['target'] == pytest.approx(
        [1e3 * pressure_kpa] * 6, abs=5.0 + 1e-6
    )


@pytest.mark.parametrize('word_order', ['big', 'little'])
@settings(max_examples=30)
@given(value=st.floats(-1e6, 1e6, width=32))
def test_float32_round_trip_in_both_word_orders(tmp_path_factory, word_order, value):
    content = yaml.safe_load(MAP)
    content['conventions']['word_order'] = word_order
    content['polls'].append({'name': 'speed', 'start': 20, 'count': 2, 'rate_hz': 1.0})
    register_map = RegisterMap.model_validate(content)
    ((address, words),) = register_map.encode({'speed': value})
    assert register_map.decode(address, words)['speed'] == value
    high, low = struct.unpack('>HH', struct.pack('>f', value))
    assert words == ([high, low] if word_order == 'big' else [low, high])


def test_decode_signs_scales_offsets_and_bits(tmp_path):
    flow = struct.unpack('>HH', struct.pack('>f', 1.5))
    total = struct.unpack('>HH', struct.pack('>i', -70000))
    words = [0xFFFF, *flow, *total, *[0] * 5, 0b100000, 10, 0xFFF6]
    assert load(tmp_path=tmp_path).decode(1, words) == pytest.approx(
        {
            'pressure': -100.0,
            'flow': 1.5,
            'total': (-70000 * -0.5 + 3.0) * 100.0,
            'pos_enable': 0.0,
            'neg_enable': 1.0,
            'pos_target': 1000.0,
            'neg_target': -1000.0,
        }
    )


def test_bits_share_a_word_and_interlocks_include_what_was_written_before(tmp_path):
    encode = load(tmp_path=tmp_path).encode
    assert encode({'neg_enable': 1.0}) == [(11, [0b100000])]
    assert encode({'pos_enable': 0.0}, last={'neg_enable': 1.0}) == [(11, [0b100000])]
    encode({'pos_enable': 1.0}, last={'neg_enable': 0.0})
    with pytest.raises(RegisterMapError, match='must never be active together'):
        encode({'pos_enable': 1.0}, last={'neg_enable': 1.0})


@pytest.mark.parametrize('value', [math.nan, math.inf, -0.1, 100.1])
def test_values_outside_the_range_are_refused(tmp_path, value):
    with pytest.raises(RegisterMapError, match='outside'):
        load(tmp_path=tmp_path).encode({'pos_target': value})


@pytest.mark.parametrize(
    ('write_fc', 'spans'), [(6, [(12, [10]), (13, [0xFFF6])]), (16, [(12, [10, 0xFFF6])])]
)
def test_only_function_16_writes_consecutive_registers_together(tmp_path, write_fc, spans):
    register_map = load(put('conventions', 'write_fc', write_fc), tmp_path)
    assert register_map.encode({'pos_target': 1.0, 'neg_target': -1.0}) == spans


def test_link_can_be_replaced():
    tcp = load_map('valve_board')
    assert tcp.with_link('10.0.0.1').link.port == 5020
    assert tcp.with_link(port=99).link.host == '127.0.0.1'
    serial = tcp.with_link(serial_device='/dev/ttyACM0')
    assert (serial.link.kind, serial.link.baudrate) == ('rtu', 250_000)
    assert serial.registers == tcp.registers
    # An RTU map keeps its serial settings.
    link = serial.link.model_copy(update={'baudrate': 19_200, 'parity': 'E', 'boot_s': 0.5})
    other = serial.model_copy(update={'link': link}).with_link(serial_device='/dev/ttyUSB0')
    assert other.link == link.model_copy(update={'device': '/dev/ttyUSB0'})
    with pytest.raises(RegisterMapError, match='give the serial device'):
        serial.with_link(host='10.0.0.1')


def test_only_loopback_is_local():
    register_map = load_map('valve_board')
    for host in ('127.0.0.1', '127.9.9.9', 'localhost', '::1'):
        assert register_map.with_link(host).link.local, host
    for host in ('10.0.0.1', 'localhost.evil.org', 'valves'):
        assert not register_map.with_link(host).link.local, host


@pytest.mark.parametrize(
    ('robot', 'valid_kpa'), [('two_module_arm', (-105.0, 105.0)), ('modal_bellows', (-14.5, 105.0))]
)
def test_readings_are_plausible_within_the_map_and_near_the_robots_limits(robot, valid_kpa):
    pressure = map_for('valve_board', load_robot(robot)).registers['pressure']
    assert pressure.valid == pytest.approx(valid_kpa, abs=0.1)
