"""The virtual cell as a process: devices, camera, services, start and end."""

import asyncio
import math
import signal
import socket

import numpy as np
import pytest
from pymodbus.client import ModbusTcpClient
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
from system_testing.probe import DEADLINE_S, Probe
from system_testing.processes import free_port, start_node

pytestmark = pytest.mark.watchdogs

USER = Credentials('cell', 'secret')
COLOUR, DEPTH = '/finger_camera/color', '/finger_camera/depth'
TRUTH, ANGLES = '/virtual_cell/debug/gripper_truth', '/virtual_cell/debug/piece_angles_truth'


def start(*parameters, **environment):
    known = {'ABB_RWS_USER': USER.user, 'ABB_RWS_PASSWORD': USER.password} | environment
    return start_node('soft_arm_sim.ros.virtual_cell_node', *parameters, **known)


class Cell(Probe):
    """The running node, its ports and the newest message of each of its topics."""

    def __init__(self):
        super().__init__('listener')
        self.modbus_port, self.rws_port = free_port(), free_port()
        ports = f'modbus_port:={self.modbus_port}', f'rws_port:={self.rws_port}'
        self.process = start(*ports, 'plant_seed:=3')
        for kind, topic in (
            (Image, f'{COLOUR}/image_raw'),
            (Image, f'{DEPTH}/image_raw'),
            (CameraInfo, f'{COLOUR}/camera_info'),
            (GripperState, TRUTH),
            (JointState, ANGLES),
        ):
            self.listen(kind, topic, qos.SENSOR, newest=1)

    def close(self):
        self.process.kill()
        self.process.communicate()
        super().close()

    def wait(self, condition, *what):
        def holds():
            done = condition()
            assert done or self.process.poll() is None
            return done

        super().wait(holds, *what)

    def latest(self, topic):
        return self.heard[topic][-1]

    def place(self, gap_m):
        return self.call(PlaceObject, '/virtual_cell/place_object', gap_m=gap_m)


@pytest.fixture(scope='module')
def cell(ros_domain):
    with Cell() as cell:
        cell.wait(lambda: all(cell.heard.values()))
        yield cell


def test_the_camera_has_a_lens_and_depth_in_the_colours_pixels(cell):
    colour, depth, info = (
        cell.latest(name)
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
    listener = TransformListener(buffer, cell)
    cell.wait(
        lambda: buffer.can_transform(
            'soft_gripper_base_link', 'finger_camera_color_optical_frame', Time()
        )
    )
    listener.unregister()


def test_the_object_is_shown_where_it_stands(cell):
    objects = cell.listen(Marker, '/virtual_cell/object', qos.LATCHED)
    assert cell.place(0.008).success
    cell.wait(lambda: objects)
    shown = objects[-1]
    assert (shown.header.frame_id, shown.action) == ('soft_gripper_base_link', Marker.ADD)
    assert shown.pose.position.x - shown.scale.x / 2 == pytest.approx(0.018, abs=1e-6)
    assert cell.place(math.nan).success
    cell.wait(lambda: objects[-1].action == Marker.DELETE)


def test_the_finger_bends_behind_its_controller_and_stops_at_an_object(cell):
    with ModbusTcpClient('127.0.0.1', port=cell.modbus_port) as client:
        assert cell.place(0.008).success
        assert not client.write_register(POSITIVE_TARGET, 800).isError()  # 80 kPa
        assert not client.write_register(POSITIVE_TRIGGER, 1).isError()
        cell.wait(lambda: cell.latest(TRUTH).true_pressure_pa > 75e3)
        assert cell.latest(TRUTH).positive_trigger and not cell.latest(TRUTH).negative_trigger
        held_rad = sum(cell.latest(ANGLES).position)
        assert cell.place(math.nan).success
        cell.wait(lambda: sum(cell.latest(ANGLES).position) > held_rad + 0.2)
        assert client.write_register(NEGATIVE_TRIGGER, 1).isError(), 'supply and vacuum together'
        client.write_register(POSITIVE_TRIGGER, 0)
        cell.wait(lambda: abs(cell.latest(TRUTH).true_pressure_pa) < 2e3)


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
    assert cell.process.wait(DEADLINE_S) == 0


@pytest.mark.parametrize(
    ('parameters', 'environment', 'words'),
    [
        (['robot:=two_module_arm'], {}, 'finger'),
        ([], {'ABB_RWS_PASSWORD': '', 'ABB_RWS_USER': ''}, 'credentials'),
    ],
)
def test_what_cannot_be_started_is_one_line_and_exit_code_2(parameters, environment, words):
    process = start(*parameters, **environment)
    stderr = process.communicate(timeout=DEADLINE_S)[1]
    assert process.returncode == 2 and words in stderr.strip().splitlines()[-1]


def test_a_port_in_use_is_one_line_and_exit_code_2():
    with socket.create_server(
        ('127.0.0.1', 0)
    ) as taken:  # the second that is opened: the first is given back
        port = taken.getsockname()[1]
        process = start(f'modbus_port:={free_port()}', f'rws_port:={port}')
        stderr = process.communicate(timeout=DEADLINE_S)[1]
    assert process.returncode == 2 and str(port) in stderr.strip().splitlines()[-1]
