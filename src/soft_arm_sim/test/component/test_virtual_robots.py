"""The node as a process, with an assembly and a world file of a user."""

import signal

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import CameraInfo, Image, JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures
from soft_arm_node_kit import qos
from system_testing.probe import Probe
from system_testing.processes import start_node

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


class Listener(Probe):
    """Keeps the messages of each topic and the newest frames."""

    def __init__(self):
        super().__init__('listener', '/lab')
        self.frames = {}
        self.listen(Image, 'top/image_raw', qos.SENSOR)
        self.listen(CameraInfo, 'top/camera_info', qos.SENSOR)
        self.listen(JointState, 'joint_states', qos.STATE)
        self.listen(MarkerArray, 'scene', qos.STATE)
        self.listen(DiagnosticArray, '/diagnostics', qos.STATE)
        self.create_subscription(TFMessage, '/tf', self.on_frames, qos.STATE)
        self.create_subscription(TFMessage, '/tf_static', self.on_frames, qos.LATCHED)
        self.arcs = self.create_publisher(ArmConfiguration, 'limb_configuration', 1)
        self.pressures = self.create_publisher(
            ChamberPressures, 'bellows/pressure_command', qos.COMMAND
        )

    def on_frames(self, message):
        for transform in message.transforms:
            t = transform.transform.translation
            self.frames[transform.child_frame_id] = transform.header.frame_id, (t.x, t.y, t.z)

    def joint(self, name):
        states = self.heard['joint_states'][-1]
        return states.position[states.name.index(name)]


def start(tmp_path, world=WORLD):
    (tmp_path / 'pair.yaml').write_text(ASSEMBLY)
    (tmp_path / 'room.yaml').write_text(world)
    parameters = f'assembly:={tmp_path}/pair.yaml', f'world:={tmp_path}/room.yaml'
    return start_node('soft_arm_sim.ros.virtual_robots_node', *parameters, namespace='/lab')


@pytest.fixture
def lab(tmp_path):
    with Listener().spin() as listener:
        process = start(tmp_path)
        yield listener, process
        process.kill()
        process.communicate()


def test_any_assembly_moves_is_seen_and_ends(lab):
    listener, process = lab
    listener.wait(lambda: all(listener.heard.values()), 'every topic')
    listener.wait(lambda: 'pair_limb_camera_1_tip' in listener.frames, 'frames')
    assert listener.frames['pair_limb_base_link'] == ('world', (0.3, 0.0, 0.2))
    assert listener.frames['pair_limb_camera_1_tip'][0] == 'pair_limb_base_link'
    assert listener.frames['pair_top_optical_frame'] == ('world', (0.0, 0.0, 2.0))

    image, info = (listener.heard[f'top/{name}'][-1] for name in ('image_raw', 'camera_info'))
    pixels = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 3)
    assert pixels.shape == (120, 160, 3) and image.header.frame_id == 'pair_top_optical_frame'
    red, green, _ = pixels[60, 80].astype(int)
    assert red > 150 and red > 2 * green  # the ball, lit from above
    ball_px = (pixels[60, :, 0] > 2 * pixels[60, :, 1].astype(int)).sum()
    assert ball_px == pytest.approx(2 * info.k[0] * 0.05 / np.sqrt(1.0 - 0.05**2), abs=2)
    assert [m.ns for m in listener.heard['scene'][-1].markers] == ['bodies', 'body', 'body']

    arc = ArmConfiguration(segments=['camera_1'], theta_rad=[0.8], phi_rad=[0.0], ell_m=[0.59])
    listener.wait(
        lambda: listener.joint('pair_limb_camera_1_005_bend') > 0.04,
        'the limb bends',
        lambda: listener.arcs.publish(arc),
    )
    command = ChamberPressures(names=['bellows'], pressures_pa=[50e3])
    before = listener.frames['pair_bellows_bellows_tip'][1]
    listener.wait(
        lambda: abs(listener.frames['pair_bellows_bellows_tip'][1][0] - before[0]) > 5e-3,
        'the bellows bends',
        lambda: listener.pressures.publish(command),
    )
    wrong = ArmConfiguration(segments=['tail'], theta_rad=[0.8], phi_rad=[0.0], ell_m=[0.59])
    listener.wait(
        lambda: "'tail'" in listener.heard['/diagnostics'][-1].status[0].message,
        'the refused command is reported',
        lambda: listener.arcs.publish(wrong),
    )
    process.send_signal(signal.SIGINT)
    assert process.wait(30.0) == 0


def test_a_world_that_does_not_fit_is_one_line(tmp_path):
    lights = WORLD.replace('direction: [0.0, 0.0, -1.0]', 'direction: [0, 0, 1], attach: tail')
    process = start(tmp_path, lights)
    _, error = process.communicate(timeout=60.0)
    assert process.returncode == 2 and "'tail'" in error and len(error.splitlines()) == 1, error
