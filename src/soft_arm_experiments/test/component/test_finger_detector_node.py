"""The node in this process, fed with pictures of the virtual finger over DDS by a probe."""

from contextlib import contextmanager

import numpy as np
import pytest
from cv_bridge import CvBridge
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, Image, JointState

from soft_arm_description.robot import load_robot
from soft_arm_node_kit import qos
from soft_arm_sim.cameras.finger_camera import FingerCamera
from soft_arm_sim.cameras.parameters import load_finger_camera_parameters
from soft_arm_sim.ros.conversions import camera_info_message, image_message
from soft_arm_vision.ros.finger_detector_node import FingerDetectorNode
from system_testing.finger import arc_backbone
from system_testing.probe import Probe

ROBOT, PARAMETERS = load_robot('four_piece_finger'), load_finger_camera_parameters()
ANGLES = np.array([0.21, 0.25, 0.19, 0.16])


class Graph(Probe):
    """The node, and a probe that plays the camera."""

    def __init__(self, rig='virtual'):
        super().__init__('probe', '/gripper', [FingerDetectorNode], rig=rig)
        (self.node,), self.status, self.sent = self.nodes, [], 0
        self.angles = self.listen(JointState, 'piece_angles', qos.STATE)
        self.create_subscription(
            DiagnosticArray, '/diagnostics', lambda m: self.status.extend(m.status), qos.STATE
        )
        self.info = self.create_publisher(CameraInfo, 'color/camera_info', qos.STATE)
        self.colour = self.create_publisher(Image, 'color/image_raw', qos.IMAGE)
        self.depth = self.create_publisher(Image, 'aligned_depth_to_color/image_raw', qos.IMAGE)

    def send(self, colour, depth):
        self.sent += 1
        stamp = Time(nanoseconds=self.sent * 100_000_000).to_msg()
        frame_id = 'finger_camera_optical_frame'
        lens = PARAMETERS.distortion.opencv
        self.info.publish(camera_info_message(PARAMETERS.image, stamp, frame_id, lens))
        self.colour.publish(image_message(colour, 'rgb8', stamp, frame_id))
        self.depth.publish(image_message(depth, '16UC1', stamp, frame_id))


@contextmanager
def running(*arguments):
    with Graph(*arguments) as graph:
        topics = graph.info, graph.colour, graph.depth
        graph.wait(lambda: all(topic.get_subscription_count() for topic in topics))
        yield graph


@pytest.fixture
def graph(ros_domain):
    with running() as graph:
        yield graph


@pytest.fixture(scope='module')
def frame():
    camera = FingerCamera(ROBOT, PARAMETERS, 6)
    taken = camera.capture(arc_backbone(ROBOT, ANGLES))
    camera.close()
    return taken


def test_bends_have_the_images_stamp_and_the_pieces_names(graph, frame):
    graph.wait(lambda: graph.angles, each=lambda: graph.send(*frame))
    message = graph.angles[0]
    assert list(message.name) == ['piece_1', 'piece_2', 'piece_3', 'piece_4']
    assert np.rad2deg(message.position) == pytest.approx(np.rad2deg(ANGLES), abs=0.6)
    assert message.header.frame_id == 'finger_camera_optical_frame'
    assert Time.from_msg(message.header.stamp).nanoseconds % 100_000_000 == 0


def test_depth_has_the_unit_of_the_rig_s_finger_camera(ros_domain, tmp_path, monkeypatch, frame):
    (tmp_path / 'rig.yaml').write_text(
        'devices: real\nrobot: two_module_arm\nfinger_camera: {depth_unit_m: 1.0e-4}\n'
    )
    colour, depth = frame
    seen = []
    monkeypatch.setattr(
        FingerDetectorNode, '_on_frame', lambda _, header, frame: seen.append(frame)
    )
    with running(tmp_path) as graph:
        graph.wait(lambda: seen, each=lambda: graph.send(colour, 10 * depth))
    np.testing.assert_allclose(seen[0].depth_m, 1e-3 * depth, atol=1e-6)


def test_hidden_lines_stop_the_bends_and_are_told_and_come_back(graph, frame):
    graph.wait(lambda: graph.angles, each=lambda: graph.send(*frame))
    hidden = np.full_like(frame[0], 90), frame[1]
    graph.wait(
        lambda: graph.status and 'reference line is not in view' in graph.status[-1].message,
        each=lambda: graph.send(*hidden),
    )
    before = len(graph.angles)
    graph.send(*hidden)
    graph.wait(
        lambda: graph.status[-1].message == 'finger in view', each=lambda: graph.send(*frame)
    )
    assert len(graph.angles) > before


def test_an_overlay_is_drawn_for_a_listener(graph, frame):
    overlays = graph.listen(Image, 'finger_detector/debug/overlay', qos.SENSOR)
    graph.wait(lambda: overlays, each=lambda: graph.send(*frame))
    assert (CvBridge().imgmsg_to_cv2(overlays[0], 'rgb8') != frame[0]).any()


@pytest.mark.parametrize(
    'setting, words',
    [({'camera_side': 'left'}, 'minus_y'), ({'robot': 'modal_bellows'}, 'cut_lines')],
)
def test_bad_parameters_stop_the_node(ros_domain, setting, words):
    with pytest.raises(ValueError, match=words):
        Probe(nodes=[FingerDetectorNode], rig='virtual', **setting)
