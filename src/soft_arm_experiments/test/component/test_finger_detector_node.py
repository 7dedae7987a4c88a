"""The node in this process, fed with pictures of the virtual finger over DDS by a probe."""

import time
from contextlib import contextmanager

import numpy as np
import pytest
import rclpy
from cv_bridge import CvBridge
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, Image, JointState

from soft_arm_description.robot import load_robot
from soft_arm_node_kit import qos
from soft_arm_sim.cameras.finger_camera import FingerCamera
from soft_arm_sim.cameras.finger_scene import arc_backbone
from soft_arm_sim.cameras.parameters import load_finger_camera_parameters
from soft_arm_sim.ros.conversions import camera_info_message, image_message
from soft_arm_vision.ros.finger_detector_node import FingerDetectorNode

DEADLINE_S = 300.0
ROBOT, PARAMETERS = load_robot('four_piece_finger'), load_finger_camera_parameters()
ANGLES = np.array([0.21, 0.25, 0.19, 0.16])


class Graph:
    """The node, a probe that plays the camera, and what it heard."""

    def __init__(self, rig='virtual'):
        rclpy.init(args=['--ros-args', '-r', '__ns:=/gripper', '-p', f'rig:={rig}'])
        self.probe = rclpy.create_node('probe', use_global_arguments=False)
        self.node = FingerDetectorNode()
        self.executor = SingleThreadedExecutor()
        for node in (self.probe, self.node):
            self.executor.add_node(node)
        self.angles, self.status, self.overlays, self.sent = [], [], [], 0
        self.probe.create_subscription(
            JointState, '/gripper/piece_angles', self.angles.append, qos.STATE
        )
        self.probe.create_subscription(
            DiagnosticArray, '/diagnostics', lambda m: self.status.extend(m.status), qos.STATE
        )
        self.info = self.probe.create_publisher(CameraInfo, '/gripper/color/camera_info', qos.STATE)
        self.colour = self.probe.create_publisher(Image, '/gripper/color/image_raw', qos.IMAGE)
        self.depth = self.probe.create_publisher(
            Image, '/gripper/aligned_depth_to_color/image_raw', qos.IMAGE
        )

    def until(self, condition, each=lambda: None):
        end_s, next_s = time.monotonic() + DEADLINE_S, 0.0
        while not condition():
            assert time.monotonic() < end_s, (
                f'not within {DEADLINE_S} s: {[s.message for s in self.status[-2:]]}'
            )
            if time.monotonic() > next_s:
                next_s = time.monotonic() + 0.1
                each()
            self.executor.spin_once(timeout_sec=0.05)

    def send(
        self, colour, depth, colour_encoding='rgb8', depth_encoding='16UC1', image=PARAMETERS.image
    ):
        self.sent += 1
        stamp = Time(nanoseconds=self.sent * 100_000_000).to_msg()
        self.info.publish(
            camera_info_message(
                image, stamp, 'finger_camera_optical_frame', PARAMETERS.distortion.opencv
            )
        )
        self.colour.publish(
            image_message(
                np.ascontiguousarray(colour), colour_encoding, stamp, 'finger_camera_optical_frame'
            )
        )
        self.depth.publish(
            image_message(
                np.ascontiguousarray(depth), depth_encoding, stamp, 'finger_camera_optical_frame'
            )
        )

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.probe.destroy_node()
        rclpy.try_shutdown()


@contextmanager
def running(*arguments):
    graph = Graph(*arguments)
    try:
        graph.until(
            lambda: all(
                topic.get_subscription_count() for topic in (graph.info, graph.colour, graph.depth)
            )
        )
        yield graph
    finally:
        graph.close()


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
    graph.until(lambda: graph.angles, each=lambda: graph.send(*frame))
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
        graph.until(lambda: seen, each=lambda: graph.send(colour, 10 * depth))
    np.testing.assert_allclose(seen[0].depth_m, 1e-3 * depth, atol=1e-6)


def test_hidden_lines_stop_the_bends_and_are_told_and_come_back(graph, frame):
    graph.until(lambda: graph.angles, each=lambda: graph.send(*frame))
    hidden = np.full_like(frame[0], 90), frame[1]
    graph.until(
        lambda: graph.status and 'reference line is not in view' in graph.status[-1].message,
        each=lambda: graph.send(*hidden),
    )
    before = len(graph.angles)
    graph.send(*hidden)
    graph.until(
        lambda: graph.status[-1].message == 'finger in view', each=lambda: graph.send(*frame)
    )
    assert len(graph.angles) > before


def test_garbage_is_left_out_with_a_reason_and_survived(graph, frame):
    graph.until(lambda: graph.angles, each=lambda: graph.send(*frame))
    colour, depth = frame
    for bad in (
        (colour.astype(np.float32), depth, '32FC3', '16UC1'),
        (colour, depth[..., None].repeat(3, axis=2).astype(np.uint8), 'rgb8', 'rgb8'),
        (colour[:0], depth[:0], 'rgb8', '16UC1'),
        (colour, depth[::2], 'rgb8', '16UC1'),
    ):
        graph.node.trouble = None
        graph.until(lambda: graph.node.trouble, each=lambda bad=bad: graph.send(*bad))
        assert len(graph.node.trouble) <= 300
    for changes in ({'fx_px': np.nan}, {'cx_px': np.inf}, {'width_px': 0}):
        graph.node.trouble = None
        image = PARAMETERS.image.model_copy(update=changes)
        graph.until(
            lambda: graph.node.trouble, each=lambda image=image: graph.send(*frame, image=image)
        )
    graph.angles.clear()
    graph.until(lambda: graph.angles, each=lambda: graph.send(*frame))


def test_an_overlay_is_drawn_for_a_listener(graph, frame):
    graph.probe.create_subscription(
        Image, '/gripper/finger_detector/debug/overlay', graph.overlays.append, qos.SENSOR
    )
    graph.until(lambda: graph.overlays, each=lambda: graph.send(*frame))
    assert (CvBridge().imgmsg_to_cv2(graph.overlays[0], 'rgb8') != frame[0]).any()


@pytest.mark.parametrize(
    'setting, words', [('camera_side:=left', 'minus_y'), ('robot:=modal_bellows', 'cut_lines')]
)
def test_bad_parameters_stop_the_node(ros_domain, setting, words):
    rclpy.init(args=['--ros-args', '-p', 'rig:=virtual', '-p', setting])
    try:
        with pytest.raises(ValueError, match=words):
            FingerDetectorNode()
    finally:
        rclpy.try_shutdown()
