"""The virtual rig as a process: topics, services, start and end."""

import signal
import socket

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from pymodbus.client import ModbusTcpClient
from rclpy.qos import QoSDurabilityPolicy, QoSReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image
from tf2_msgs.msg import TFMessage

from soft_arm_msgs.srv import PlaceRing
from soft_arm_node_kit import qos
from system_testing.probe import DEADLINE_S, Probe
from system_testing.processes import free_port, start_node

COLOUR, DEPTH = '/camera/camera/color', '/camera/camera/aligned_depth_to_color'
TRUTH = '/virtual_rig/debug/tip_truth'

pytestmark = pytest.mark.watchdogs  # of the board, between this process and the rig's


def start(*parameters):
    return start_node('soft_arm_sim.ros.virtual_rig_node', *parameters)


class Listener(Probe):
    """Keeps every message of the rig's topics."""

    def __init__(self):
        super().__init__('listener')
        for camera in (COLOUR, DEPTH):
            self.listen(Image, f'{camera}/image_raw', qos.SENSOR)
            self.listen(CameraInfo, f'{camera}/camera_info', qos.STATE)
        self.listen(PoseStamped, TRUTH, qos.STATE)
        self.listen(TFMessage, '/tf_static', qos.LATCHED)
        self.listen(DiagnosticArray, '/diagnostics', qos.STATE)

    def next(self, name, count=1):
        self.heard[name].clear()
        self.wait(lambda: len(self.heard[name]) >= count)
        return self.heard[name]


@pytest.fixture(scope='module')
def rig(ros_domain):
    """The running rig, a listener and the port of its valve board."""
    with Listener() as listener:
        port = free_port()
        process = start(f'modbus_port:={port}', 'plant_seed:=7')
        yield process, listener, port
        process.kill()
        process.communicate()


def seconds(stamp):
    return stamp.sec + stamp.nanosec * 1e-9


def test_colour_and_depth_are_as_realsense2_camera_publishes_them(rig):
    _, listener, _ = rig
    colour = listener.next(f'{COLOUR}/image_raw')[-1]
    depth = listener.next(f'{DEPTH}/image_raw')[-1]
    for image, encoding, step in ((colour, 'rgb8', 1920), (depth, '16UC1', 1280)):
        assert (image.encoding, image.width, image.height, image.step, image.is_bigendian) == (
            encoding,
            640,
            480,
            step,
            0,
        )
        assert image.header.frame_id == 'camera_color_optical_frame'
        assert len(image.data) == 480 * step
    depths = np.frombuffer(depth.data, '<u2')
    assert 300 < np.median(depths[depths > 0]) < 1500  # mm
    rgb = np.frombuffer(colour.data, np.uint8).reshape(-1, 3).astype(int)
    assert ((rgb[:, 0] > 150) & (rgb[:, 2] < 90)).sum() > 1000  # the ring


def test_infos_carry_the_intrinsics(rig):
    _, listener, _ = rig
    for name in (COLOUR, DEPTH):
        info = listener.next(f'{name}/camera_info')[-1]
        assert list(info.k) == [607.3, 0.0, 320.6, 0.0, 607.3, 241.2, 0.0, 0.0, 1.0]
        assert (info.distortion_model, list(info.d), info.width, info.height) == (
            'plumb_bob',
            [0.0] * 5,
            640,
            480,
        )
        assert list(info.p)[:4] == [607.3, 0.0, 320.6, 0.0]


def test_a_frameset_has_one_stamp_and_framesets_are_a_thirtieth_apart_at_least(rig):
    _, listener, _ = rig
    names = [
        f'{COLOUR}/camera_info',
        f'{DEPTH}/camera_info',
        f'{COLOUR}/image_raw',
        f'{DEPTH}/image_raw',
    ]
    listener.next(names[0], 30)
    stamps = [{seconds(m.header.stamp) for m in listener.heard[name]} for name in names]
    newest = [m.header.stamp for m in listener.heard[names[0]]]
    assert len(stamps[0] & stamps[1]) > 25
    assert stamps[2] & stamps[3] and stamps[2] & stamps[0]
    # on a busy machine they are further apart
    assert np.median(np.diff([seconds(s) for s in newest])) >= 0.9 / 30


def test_images_are_reliable_and_frames_latched(rig):
    _, listener, _ = rig
    for name in (f'{COLOUR}/image_raw', f'{DEPTH}/image_raw'):
        (publisher,) = listener.get_publishers_info_by_topic(name)
        assert publisher.qos_profile.reliability == QoSReliabilityPolicy.RELIABLE
        assert (publisher.node_namespace, publisher.node_name) == ('/camera', 'camera')
    (publisher,) = listener.get_publishers_info_by_topic('/tf_static')
    assert publisher.qos_profile.durability == QoSDurabilityPolicy.TRANSIENT_LOCAL
    listener.wait(lambda: listener.heard['/tf_static'])
    frames = {t.child_frame_id: t for m in listener.heard['/tf_static'] for t in m.transforms}
    assert frames['camera_color_frame'].header.frame_id == 'camera_link'
    optical = frames['camera_color_optical_frame']
    assert optical.header.frame_id == 'camera_color_frame'
    rotation = optical.transform.rotation
    assert [rotation.x, rotation.y, rotation.z, rotation.w] == [-0.5, 0.5, -0.5, 0.5]


def test_diagnostics_report_the_real_time_factor_and_the_rate(rig):
    _, listener, _ = rig
    listener.wait(
        lambda: any(
            s.name == 'virtual_rig' for m in listener.heard['/diagnostics'] for s in m.status
        )
    )
    values = {v.key: v.value for v in listener.next('/diagnostics')[-1].status[0].values}
    assert float(values['real_time_factor']) > 0.1 and float(values['camera_hz']) > 3


def test_the_valve_board_moves_the_arm_and_its_watchdog_vents(rig):
    _, listener, port = rig

    def height_m():
        return listener.next(TRUTH)[-1].pose.position.z

    with ModbusTcpClient('127.0.0.1', port=port, timeout=2) as client:
        rest_m = height_m()
        assert listener.heard[TRUTH][-1].header.frame_id == 'soft_arm_base_link'
        # With this key the codes are 1, 6, 31..
        client.write_registers(112, [0, 0] + [0x7465] * 10, device_id=1)
        code = 0

        def write(address, values, after=()):
            nonlocal code
            code = (5 * code + 1) % 65536
            assert not client.write_registers(
                address, [*values, code, *after], device_id=1
            ).isError()

        write(106, [], [0x3F, 2])  # enable, run; targets before that would be dropped
        write(100, [-9000 & 0xFFFF] * 6)

        def contracted():
            write(106, [])  # more often than true tips come on a busy machine
            truths = listener.heard[TRUTH]
            return truths[-1].pose.position.z < rest_m - 0.03

        listener.wait(contracted)
    listener.wait(lambda: height_m() > rest_m - 0.01)  # no heartbeat any more


def test_the_ring_goes_to_a_peg_and_back(rig):
    _, listener, _ = rig

    def place(peg):
        return listener.call(PlaceRing, '/virtual_rig/place_ring', peg=peg)

    def ring_row():
        image = listener.next(f'{COLOUR}/image_raw', 2)[-1]
        rgb = np.frombuffer(image.data, np.uint8).reshape(480, 640, 3).astype(int)
        return np.mean(np.nonzero((rgb[..., 0] > 150) & (rgb[..., 2] < 90))[0])

    truths = listener.heard[TRUTH]
    truths.clear()  # the test before has moved the arm
    listener.wait(
        lambda: len(truths) > 25 and np.ptp([t.pose.position.z for t in truths[-25:]]) < 2e-4
    )
    on_arm = ring_row()
    assert place(7).success
    assert ring_row() > on_arm + 20
    refused = place(9)
    assert not refused.success and '0..8' in refused.message
    assert ring_row() > on_arm + 20
    assert place(-1).success
    assert ring_row() == pytest.approx(on_arm, abs=5)


def test_a_port_in_use_is_one_line_and_exit_code_2(rig):
    *_, port = rig
    second = start(f'modbus_port:={port}')
    _, errors = second.communicate(timeout=DEADLINE_S)
    assert second.returncode == 2
    assert f'127.0.0.1:{port}' in errors and len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    'parameter, words',
    [
        ('robot:=nothing', ['nothing']),
        ('plant_seed:=-1', ['plant_seed', '-1']),
        ('camera_file:=/nowhere.yaml', ['/nowhere.yaml']),
    ],
)
def test_bad_parameters_are_one_line_and_exit_code_2(rig, parameter, words):
    process = start(parameter, 'modbus_port:=0')
    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2
    assert all(word in errors for word in words) and len(errors.splitlines()) == 1


def test_sigterm_ends_it_cleanly_and_frees_the_port(rig):
    process, _, port = rig
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert 'Traceback' not in errors and 'Exception' not in errors
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(('127.0.0.1', port))
