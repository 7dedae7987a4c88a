"""The virtual cell as a process: devices, camera, services, start and end."""

import asyncio
import math
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
import rclpy
from pymodbus.client import ModbusTcpClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, Image, JointState
from tf2_ros import Buffer, TransformListener
from visualization_msgs.msg import Marker

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.credentials import Credentials
from abb_rws_bridge.dialect import RWS1
from abb_rws_bridge.session import Endpoint
from soft_arm_msgs.msg import GripperState
from soft_arm_msgs.srv import PlaceObject
from soft_arm_node_kit import qos
from soft_arm_sim.devices.pcu2v import NEGATIVE_TRIGGER, POSITIVE_TARGET, POSITIVE_TRIGGER

pytestmark = pytest.mark.watchdogs

START = 'import sys; from soft_arm_sim.ros.virtual_cell_node import main; sys.exit(main())'
USER = Credentials('cell', 'secret')
LIMIT_S = 300.0
COLOUR, DEPTH = '/finger_camera/color', '/finger_camera/depth'
TRUTH, ANGLES = '/virtual_cell/debug/gripper_truth', '/virtual_cell/debug/piece_angles_truth'


def start(*parameters, **environment):
    command = [
        sys.executable,
        '-c',
        START,
        '--ros-args',
        *(word for p in parameters for word in ('-p', p)),
    ]
    known = {'ABB_RWS_USER': USER.user, 'ABB_RWS_PASSWORD': USER.password} | environment
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | known)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Cell:
    """The running node, its ports and the newest message of each of its topics."""

    def __init__(self):
        self.modbus_port, self.rws_port = free_port(), free_port()
        self.process = start(
            f'modbus_port:={self.modbus_port}', f'rws_port:={self.rws_port}', 'plant_seed:=3'
        )
        self.node = rclpy.create_node('listener')
        self.executor = SingleThreadedExecutor()
        self.latest = {}
        self.executor.add_node(self.node)
        topics = {
            f'{COLOUR}/image_raw': Image,
            f'{DEPTH}/image_raw': Image,
            f'{COLOUR}/camera_info': CameraInfo,
        }
        for name, kind in (topics | {TRUTH: GripperState, ANGLES: JointState}).items():
            self.node.create_subscription(
                kind,
                name,
                lambda message, name=name: self.latest.__setitem__(name, message),
                qos.SENSOR,
            )

    def until(self, condition):
        deadline = time.monotonic() + LIMIT_S
        while not condition() and time.monotonic() < deadline and self.process.poll() is None:
            self.executor.spin_once(timeout_sec=0.1)
        assert condition()

    def place(self, gap_m):
        client = self.node.create_client(PlaceObject, '/virtual_cell/place_object')
        self.until(client.service_is_ready)
        future = client.call_async(PlaceObject.Request(gap_m=gap_m))
        self.until(future.done)
        return future.result()


@pytest.fixture(scope='module')
def cell(ros_domain):
    rclpy.init()
    cell = Cell()
    try:
        cell.until(lambda: len(cell.latest) == 5)
        yield cell
    finally:
        cell.process.kill()
        cell.process.communicate()
        cell.executor.shutdown()
        cell.node.destroy_node()
        rclpy.shutdown()


def test_the_camera_has_a_lens_and_depth_in_the_colours_pixels(cell):
    colour, depth, info = (
        cell.latest[name]
        for name in (f'{COLOUR}/image_raw', f'{DEPTH}/image_raw', f'{COLOUR}/camera_info')
    )
    assert (colour.encoding, depth.encoding) == ('rgb8', '16UC1')
    assert (colour.width, colour.height) == (depth.width, depth.height) == (info.width, info.height)
    assert any(info.d)
    assert {m.header.frame_id for m in (colour, depth, info)} == {
        'finger_camera_color_optical_frame'
    }


def test_the_camera_stands_in_the_tree_of_the_finger(cell):
    buffer = Buffer()
    listener = TransformListener(buffer, cell.node)
    cell.until(
        lambda: buffer.can_transform(
            'soft_gripper_base_link', 'finger_camera_color_optical_frame', Time()
        )
    )
    listener.unregister()


def test_the_object_is_shown_where_it_stands(cell):
    objects = []
    heard = cell.node.create_subscription(
        Marker, '/virtual_cell/object', objects.append, qos.LATCHED
    )
    assert cell.place(0.008).success
    cell.until(lambda: objects)
    shown = objects[-1]
    assert (shown.header.frame_id, shown.action) == ('soft_gripper_base_link', Marker.ADD)
    assert shown.pose.position.x - shown.scale.x / 2 == pytest.approx(0.018, abs=1e-6)
    assert cell.place(math.nan).success
    cell.until(lambda: objects[-1].action == Marker.DELETE)
    cell.node.destroy_subscription(heard)


def test_the_finger_bends_behind_its_controller_and_stops_at_an_object(cell):
    with ModbusTcpClient('127.0.0.1', port=cell.modbus_port) as client:
        assert cell.place(0.008).success
        assert not client.write_register(POSITIVE_TARGET, 800).isError()  # 80 kPa
        assert not client.write_register(POSITIVE_TRIGGER, 1).isError()
        cell.until(lambda: cell.latest[TRUTH].true_pressure_pa > 75e3)
        assert cell.latest[TRUTH].positive_trigger and not cell.latest[TRUTH].negative_trigger
        held_rad = sum(cell.latest[ANGLES].position)
        assert cell.place(math.nan).success
        cell.until(lambda: sum(cell.latest[ANGLES].position) > held_rad + 0.2)
        assert client.write_register(NEGATIVE_TRIGGER, 1).isError(), 'supply and vacuum together'
        client.write_register(POSITIVE_TRIGGER, 0)
        cell.until(lambda: abs(cell.latest[TRUTH].true_pressure_pa) < 2e3)


def test_an_object_inside_the_finger_is_refused(cell):
    answer = cell.place(-0.01)
    assert not answer.success and '-0.01' in answer.message


def test_the_robots_controller_knows_whom_the_environment_names(cell):
    async def joints():
        async with Controller(Endpoint('127.0.0.1', cell.rws_port), USER, RWS1) as controller:
            return await controller.joints()

    assert np.isfinite(asyncio.run(joints()).value).all()


def test_sigterm_ends_it_clean(cell):
    cell.process.send_signal(signal.SIGTERM)
    assert cell.process.wait(LIMIT_S) == 0


@pytest.mark.parametrize(
    ('parameters', 'environment', 'words'),
    [
        (['robot:=two_module_arm'], {}, 'finger'),
        ([], {'ABB_RWS_PASSWORD': '', 'ABB_RWS_USER': ''}, 'credentials'),
    ],
)
def test_what_cannot_be_started_is_one_line_and_exit_code_2(parameters, environment, words):
    process = start(*parameters, **environment)
    stderr = process.communicate(timeout=LIMIT_S)[1]
    assert process.returncode == 2 and words in stderr.strip().splitlines()[-1]


def test_a_port_in_use_is_one_line_and_exit_code_2():
    with socket.create_server(
        ('127.0.0.1', 0)
    ) as taken:  # the second that is opened: the first is given back
        port = taken.getsockname()[1]
        process = start(f'modbus_port:={free_port()}', f'rws_port:={port}')
        stderr = process.communicate(timeout=LIMIT_S)[1]
    assert process.returncode == 2 and str(port) in stderr.strip().splitlines()[-1]
