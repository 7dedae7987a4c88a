"""The node as a process, with an assembly and a world file of a user."""

import signal
import subprocess
import sys

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import CameraInfo, Image, JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures
from soft_arm_node_kit import qos
from soft_arm_node_kit.testing import SpinningNode

START = 'import sys; from soft_arm_sim.ros.virtual_robots_node import main; sys.exit(main())'
ASSEMBLY = """
schema_version: 1
name: pair
description: A limb and a bellows side by side.
robots:
  - {name: limb, robot: squid_camera, position_m: [0.3, 0.0, 0.2]}
  - {name: bellows, robot: modal_bellows, position_m: [-0.3, 0.0, 0.2]}
"""
WORLD = """
schema_version: 1
name: room
description: A ball before a lit camera.
gravity_m_s2: [0.0, 0.0, 0.0]
objects:
  - name: ball
    shape: sphere
    size_m: [0.05]
    fixed: true
    position_m: [0.0, 0.0, 1.0]
    colour_rgb: [1.0, 0.2, 0.2]
lights:
  - {name: lamp, position_m: [0.0, 0.0, 3.0], direction: [0.0, 0.0, -1.0]}
cameras:
  - name: top
    position_m: [0.0, 0.0, 2.0]
    look_at_m: [0.0, 0.0, 0.0]
    fovy_deg: 30.0
    width_px: 160
    height_px: 120
"""


class Listener(SpinningNode):
    """Keeps the newest message of each topic."""

    def __init__(self):
        super().__init__('listener', '/lab')
        self.heard, self.frames = {}, {}
        for name, kind, profile in (
            ('top/image_raw', Image, qos.SENSOR),
            ('top/camera_info', CameraInfo, qos.SENSOR),
            ('joint_states', JointState, qos.STATE),
            ('scene', MarkerArray, qos.STATE),
        ):
            self.create_subscription(kind, name, self.keep(name), profile)
        self.create_subscription(TFMessage, '/tf', self.on_frames, qos.STATE)
        self.create_subscription(TFMessage, '/tf_static', self.on_frames, qos.LATCHED)
        self.create_subscription(DiagnosticArray, '/diagnostics', self.on_diagnostics, qos.STATE)
        self.arcs = self.create_publisher(ArmConfiguration, 'limb_configuration', 1)
        self.pressures = self.create_publisher(
            ChamberPressures, 'bellows/pressure_command', qos.COMMAND
        )
        self.spin()

    def keep(self, name):
        return lambda message: self.heard.update({name: message})

    def on_frames(self, message):
        for transform in message.transforms:
            t = transform.transform.translation
            self.frames[transform.child_frame_id] = transform.header.frame_id, (t.x, t.y, t.z)

    def on_diagnostics(self, message):
        self.heard['diagnostics'] = message.status[0]

    def joint(self, name):
        states = self.heard['joint_states']
        return states.position[states.name.index(name)]

    def push(self, what, until, send):
        timer = self.create_timer(0.05, send)
        self.wait(until, what)
        self.destroy_timer(timer)


def start(tmp_path, world=WORLD):
    (tmp_path / 'pair.yaml').write_text(ASSEMBLY)
    (tmp_path / 'room.yaml').write_text(world)
    parameters = f'assembly:={tmp_path}/pair.yaml', f'world:={tmp_path}/room.yaml'
    arguments = ['-r', '__ns:=/lab', *(word for p in parameters for word in ('-p', p))]
    return subprocess.Popen(
        [sys.executable, '-c', START, '--ros-args', *arguments], stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def lab(tmp_path):
    rclpy.init()
    listener, process = Listener(), start(tmp_path)
    yield listener, process
    process.kill()
    process.communicate()
    listener.close()
    rclpy.shutdown()


def test_any_assembly_moves_is_seen_and_ends(lab):
    listener, process = lab
    topics = {'top/image_raw', 'top/camera_info', 'joint_states', 'scene', 'diagnostics'}
    listener.wait(lambda: topics <= set(listener.heard), 'every topic')
    listener.wait(lambda: 'pair_limb_camera_1_tip' in listener.frames, 'frames')
    assert listener.frames['pair_limb_base_link'] == ('world', (0.3, 0.0, 0.2))
    assert listener.frames['pair_limb_camera_1_tip'][0] == 'pair_limb_base_link'
    assert listener.frames['pair_top_optical_frame'] == ('world', (0.0, 0.0, 2.0))

    image, info = listener.heard['top/image_raw'], listener.heard['top/camera_info']
    pixels = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 3)
    assert pixels.shape == (120, 160, 3) and image.header.frame_id == 'pair_top_optical_frame'
    red, green, _ = pixels[60, 80].astype(int)
    assert red > 150 and red > 2 * green  # the ball, lit from above
    ball_px = (pixels[60, :, 0] > 2 * pixels[60, :, 1].astype(int)).sum()
    assert ball_px == pytest.approx(2 * info.k[0] * 0.05 / np.sqrt(1.0 - 0.05**2), abs=2)
    assert [m.ns for m in listener.heard['scene'].markers] == ['bodies', 'body', 'body']

    arc = ArmConfiguration(segments=['camera_1'], theta_rad=[0.8], phi_rad=[0.0], ell_m=[0.59])
    listener.push(
        'the limb bends',
        lambda: listener.joint('pair_limb_camera_1_005_bend') > 0.04,
        lambda: listener.arcs.publish(arc),
    )
    command = ChamberPressures(names=['bellows'], pressures_pa=[50e3])
    before = listener.frames['pair_bellows_bellows_tip'][1]
    listener.push(
        'the bellows bends',
        lambda: abs(listener.frames['pair_bellows_bellows_tip'][1][0] - before[0]) > 5e-3,
        lambda: listener.pressures.publish(command),
    )
    wrong = ArmConfiguration(segments=['tail'], theta_rad=[0.8], phi_rad=[0.0], ell_m=[0.59])
    listener.push(
        'the refused command is reported',
        lambda: "'tail'" in listener.heard['diagnostics'].message,
        lambda: listener.arcs.publish(wrong),
    )
    process.send_signal(signal.SIGINT)
    assert process.wait(30.0) == 0


def test_a_world_that_does_not_fit_is_one_line(tmp_path):
    lights = WORLD.replace('direction: [0.0, 0.0, -1.0]', 'direction: [0, 0, 1], attach: tail')
    process = start(tmp_path, lights)
    _, error = process.communicate(timeout=60.0)
    assert process.returncode == 2 and "'tail'" in error and len(error.splitlines()) == 1, error
