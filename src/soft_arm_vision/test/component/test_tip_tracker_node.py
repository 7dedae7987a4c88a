"""The node in this process, fed with synthetic images over DDS by a probe."""

import dataclasses
import re
import shutil
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from cv_bridge import CvBridge
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
from rclpy.time import Time
from ros_frames import FRAME, garbage, info_of
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import CameraInfo, Image
from tf2_msgs.msg import TFMessage
from tf2_ros import StaticTransformBroadcaster

from soft_arm_description.calibration import Measurement, save_calibration
from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_node_kit import diagnostics, qos
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.ros.tip_from_pose_node import TipFromPoseNode
from soft_arm_vision.ros.tip_tracker_node import TipTrackerNode
from system_testing.probe import Probe

T_BASE_CAMERA = np.array([[0, 0, 1, -0.45], [1, 0, 0, 0.01], [0, 1, 0, 0.2], [0, 0, 0, 1.0]])
SCALE = sensor_of(load_rig('virtual'))[0].depth_scale
CENTRE, AXIS = np.array([0.03, -0.01, 0.45]), np.array([0.3, 1, 0.1])


def measured(frame, scale=SCALE, per_mm=1):
    """Return the depth image of a camera of this true over measured depth."""
    return np.rint(frame.depth * per_mm / scale).astype(np.uint16)


class Graph(Probe):
    """The node, and a probe that plays the camera and hears the node."""

    def __init__(self, extrinsics_file, rig='virtual', depth='aligned_depth_to_color/image_raw'):
        parameters = {'rig': rig, 'extrinsics_file': extrinsics_file}
        super().__init__('probe', '/soft_arm', [TipTrackerNode], **parameters)
        (self.node,) = self.nodes
        self.poses = self.listen(PoseWithCovarianceStamped, '/soft_arm/tip_pose', qos.STATE)
        self.tf = self.listen(TFMessage, '/tf', qos.STATE)
        self.tf_static = self.listen(TFMessage, '/tf_static', qos.LATCHED)
        self.listen(DiagnosticArray, '/diagnostics', qos.STATE)
        self.info = self.create_publisher(CameraInfo, '/soft_arm/color/camera_info', qos.STATE)
        self.colour = self.create_publisher(Image, '/soft_arm/color/image_raw', qos.IMAGE)
        self.depth = self.create_publisher(Image, f'/soft_arm/{depth}', qos.IMAGE)
        self.bridge, self.sent = CvBridge(), 0

    @property
    def status(self):
        return [status for array in self.heard['/diagnostics'] for status in array.status]

    def send(self, frame, depth_delay_s=0.0, frame_id=FRAME, depth=None, depth_frame=None):
        """Publish one frameset; its stamp [ns]."""
        self.sent += 1
        stamp_ns = self.sent * 100_000_000
        info = info_of(frame)
        depth = measured(frame) if depth is None else depth
        colour = self.bridge.cv2_to_imgmsg(frame.colour, 'rgb8')
        depth = self.bridge.cv2_to_imgmsg(depth, '16UC1' if depth.dtype == np.uint16 else '32FC1')
        for message, delay_s in ((info, 0.0), (colour, 0.0), (depth, depth_delay_s)):
            message.header.frame_id = frame_id
            message.header.stamp = Time(nanoseconds=stamp_ns + int(1e9 * delay_s)).to_msg()
        depth.header.frame_id = depth_frame or frame_id
        self.info.publish(info)
        self.colour.publish(colour)
        self.depth.publish(depth)
        return stamp_ns


def extrinsics_file(folder):
    points = np.random.default_rng(0).uniform(-0.1, 0.1, (20, 3)) + CENTRE
    solved = extrinsics.solve(points, extrinsics.transform(T_BASE_CAMERA, points))
    measured = Measurement(
        devices='virtual', method='test', residuals={'rms_m': 1e-4}, limits={'x_m': (-0.1, 0.1)}
    )
    values = extrinsics.values_of(solved, 'soft_arm_base_link', FRAME)
    robot = load_robot('two_module_arm')
    return save_calibration(load_rig('virtual'), values, robot, measured, folder / 'e.yaml')


@contextmanager
def running(*arguments, **options):
    with Graph(*arguments, **options) as graph:
        graph.wait(
            lambda: all(
                topic.get_subscription_count() for topic in (graph.info, graph.colour, graph.depth)
            )
        )
        yield graph


@pytest.fixture
def graph(tmp_path):
    with running(extrinsics_file(tmp_path)) as graph:
        yield graph


def test_pose_is_in_the_base_frame_with_the_images_stamp(graph, render_ring):
    frame = render_ring(CENTRE, AXIS)
    graph.wait(lambda: graph.poses and graph.tf, each=lambda: graph.send(frame))
    message = graph.poses[0]
    assert message.header.frame_id == 'soft_arm_base_link'
    assert Time.from_msg(message.header.stamp).nanoseconds % 100_000_000 == 0
    truth = T_BASE_CAMERA[:3, :3] @ frame.centre + T_BASE_CAMERA[:3, 3]
    position = message.pose.pose.position
    np.testing.assert_allclose([position.x, position.y, position.z], truth, atol=1e-3)
    orientation = message.pose.pose.orientation
    axis = Rotation.from_quat([orientation.x, orientation.y, orientation.z, orientation.w]).apply(
        [0, 0, 1]
    )
    assert axis @ T_BASE_CAMERA[:3, :3] @ frame.axis > 0.999
    covariance = np.reshape(message.pose.covariance, (6, 6))
    assert np.all(np.linalg.eigvalsh(covariance) > 0)
    assert axis @ covariance[3:, 3:] @ axis > 1  # the rotation about the axis is not known
    transform = graph.tf[0].transforms[0]
    assert (transform.header.frame_id, transform.child_frame_id) == (
        'soft_arm_base_link',
        'soft_arm_tip_by_vision',
    )
    np.testing.assert_allclose(transform.transform.translation.x, position.x)


def test_depth_is_corrected_by_the_scale_of_the_rig(tmp_path, render_ring):
    frame = render_ring(CENTRE, AXIS)
    rig = shutil.copytree(load_rig('virtual').folder, tmp_path / 'bench')
    file = rig / 'calibration' / 'depth_sensor.yaml'
    file.write_text(re.sub('depth_scale: .*', 'depth_scale: 1.02', file.read_text()))
    with running(extrinsics_file(tmp_path), rig=rig) as graph:
        graph.wait(lambda: graph.poses, each=lambda: graph.send(frame, depth=measured(frame, 1.02)))
        position = graph.poses[0].pose.pose.position
    truth = T_BASE_CAMERA[:3, :3] @ frame.centre + T_BASE_CAMERA[:3, 3]
    np.testing.assert_allclose([position.x, position.y, position.z], truth, atol=1e-3)


@pytest.mark.parametrize('topic', ['/tf_static', '/soft_arm/tf_static'])
def test_depth_from_its_own_camera_is_aligned_here(topic, tmp_path, render_ring):
    beside_m = np.array([0.015, 0.002, -0.001])  # the depth camera in the colour camera's frame
    frame, seen_beside = render_ring(CENTRE, AXIS), render_ring(CENTRE - beside_m, AXIS)
    # A tenth of a millimetre per step, as cameras for short distances have.
    depth = measured(seen_beside, per_mm=10)
    rig = shutil.copytree(load_rig('virtual').folder, tmp_path / 'bench')
    with (rig / 'rig.yaml').open('a') as file:
        file.write('camera: {depth_unit_m: 1.0e-4, align_depth: true}\n')
    with running(extrinsics_file(tmp_path), rig=rig, depth='depth/image_rect_raw') as graph:
        depth_info = graph.create_publisher(CameraInfo, '/soft_arm/depth/camera_info', qos.STATE)

        def send():
            depth_info.publish(info_of(frame))
            graph.send(frame, depth=depth, depth_frame='camera_depth_optical_frame')

        graph.wait(
            lambda: graph.status and 'no transform from' in graph.status[-1].message, each=send
        )
        assert not graph.poses
        beside = TransformStamped(child_frame_id='camera_depth_optical_frame')
        beside.header.frame_id = FRAME
        beside.transform.translation.x, beside.transform.translation.y = beside_m[:2]
        beside.transform.translation.z = beside_m[2]
        beside.transform.rotation.w = 1.0
        frames = graph.create_publisher(TFMessage, topic, qos.LATCHED)
        frames.publish(TFMessage(transforms=[beside]))
        graph.wait(lambda: graph.poses, each=send)
        position = graph.poses[-1].pose.pose.position
    truth = T_BASE_CAMERA[:3, :3] @ frame.centre + T_BASE_CAMERA[:3, 3]
    np.testing.assert_allclose([position.x, position.y, position.z], truth, atol=1.5e-3)


def test_lost_ring_stops_the_pose_says_why_and_comes_back(graph, render_ring):
    seen, lost = render_ring(CENTRE, AXIS), render_ring(CENTRE, AXIS, ring_present=False)
    graph.wait(lambda: graph.poses, each=lambda: graph.send(seen))
    first_lost_ns = graph.send(lost)
    graph.wait(
        lambda: graph.status and graph.status[-1].message == 'ring lost: no ring in view',
        each=lambda: graph.send(lost),
    )
    assert all(Time.from_msg(pose.header.stamp).nanoseconds < first_lost_ns for pose in graph.poses)
    graph.wait(lambda: graph.status[-1].message == 'ring in view', each=lambda: graph.send(seen))


def test_colour_and_depth_of_different_times_are_never_paired(graph, render_ring):
    frame = render_ring(CENTRE, AXIS)
    for late_ms in (30, 130):
        words = f'stamps of colour and depth differ by {late_ms} ms'
        graph.wait(
            lambda words=words: graph.status and words in graph.status[-1].message,
            each=lambda late_ms=late_ms: graph.send(frame, depth_delay_s=1e-3 * late_ms),
        )
        assert late_ms == 130 or not graph.poses  # frames in flight may still give poses
        graph.poses.clear()
        graph.wait(
            lambda: graph.poses and graph.status[-1].message == 'ring in view',
            each=lambda: graph.send(frame),
        )


def test_camera_that_restarts_is_missed_and_found_again(graph, render_ring):
    frame = render_ring(CENTRE, AXIS)
    graph.wait(lambda: graph.poses and graph.status, each=lambda: graph.send(frame))
    graph.wait(lambda: 'is the camera running' in graph.status[-1].message)
    graph.sent = 0  # its clock restarts
    graph.poses.clear()
    graph.wait(
        lambda: graph.poses and graph.status[-1].message == 'ring in view',
        each=lambda: graph.send(frame),
    )


def test_garbage_is_left_out_with_a_reason_and_survived(graph, render_ring):
    frame = render_ring(CENTRE, AXIS)
    graph.wait(lambda: graph.poses, each=lambda: graph.send(frame))
    for number, (info, (colour, depth)) in enumerate(garbage(frame)):
        graph.node.trouble = None

        def send(sent=(info, colour, depth)):
            for publisher, message in zip(
                (graph.info, graph.colour, graph.depth), sent, strict=True
            ):
                publisher.publish(message)

        graph.wait(lambda: graph.node.trouble, each=send)
        if number:  # the first may meet the camera info before
            assert colour.header.stamp not in [pose.header.stamp for pose in graph.poses], (
                f'{number}: {graph.node.trouble}'
            )
        assert graph.node.trouble.count('\n') == 0 and len(graph.node.trouble) <= 300
    graph.poses.clear()
    graph.wait(lambda: graph.poses and not graph.node.trouble, each=lambda: graph.send(frame))


def test_camera_that_was_moved_is_named_and_gives_no_pose(graph, render_ring):
    rng = np.random.default_rng(0)
    frame = render_ring(CENTRE, AXIS)
    for _ in range(80):
        x, y = rng.integers(0, 600), rng.integers(0, 440)
        box = np.zeros(frame.visible.shape, bool)
        box[y : y + rng.integers(20, 80), x : x + rng.integers(20, 80)] = True
        frame.colour[box & ~frame.visible] = rng.integers(30, 200)
    graph.node._watch.update(frame.colour)
    moved = dataclasses.replace(
        frame, colour=np.roll(frame.colour, 6, axis=1), depth=np.roll(frame.depth, 6, axis=1)
    )
    for _ in range(5):
        graph.node._watch.update(moved.colour)
    assert graph.node._watch.moved
    graph.wait(
        lambda: graph.status and 'the camera has moved' in graph.status[-1].message,
        each=lambda: graph.send(moved),
    )
    assert not graph.poses


def test_cameras_frames_hang_in_the_base_frame(graph):
    broadcaster = StaticTransformBroadcaster(graph)
    link = TransformStamped(child_frame_id=FRAME)
    link.header.frame_id = 'camera_link'
    link.transform.translation.y = 0.015
    link.transform.rotation.x = link.transform.rotation.z = -0.5
    link.transform.rotation.y = link.transform.rotation.w = 0.5
    broadcaster.sendTransform(link)

    def placed():
        transforms = (t for message in graph.tf_static for t in message.transforms)
        return next((t for t in transforms if t.child_frame_id == 'camera_link'), None)

    graph.wait(placed)
    placed = placed()
    assert placed.header.frame_id == 'soft_arm_base_link'
    turn = Rotation.from_quat([getattr(placed.transform.rotation, i) for i in 'xyzw'])
    origin = np.array([getattr(placed.transform.translation, i) for i in 'xyz'])
    np.testing.assert_allclose(origin + turn.apply([0, 0.015, 0]), T_BASE_CAMERA[:3, 3], atol=1e-6)


def test_overlay_is_drawn_on_demand(graph, render_ring):
    frame = render_ring(CENTRE, AXIS)
    overlays = graph.listen(Image, '/soft_arm/tip_tracker/debug/overlay', qos.SENSOR)
    graph.wait(lambda: overlays, each=lambda: graph.send(frame))
    assert (overlays[0].width, overlays[0].encoding) == (640, 'rgb8')


def test_first_picture_that_takes_long_is_told_as_compiling(graph, monkeypatch):
    node = graph.node
    for busy_s, level in ((0.0, diagnostics.OK), (1.0, diagnostics.OK), (30.0, diagnostics.WARN)):
        pair = SimpleNamespace(alive=True, busy_s=busy_s, skipped=0, trouble=None)
        monkeypatch.setattr(node._input, 'pair', pair)
        node.found.tick()
        node.frames.tick()
        found = node.status()
        assert found[0] == level, found
    assert 'compiling' in found[1] and '30 s so far' in found[1]


@pytest.mark.parametrize(
    ('node', 'parameters', 'message'),
    [
        (TipTrackerNode, {}, 'rig'),
        (TipFromPoseNode, {}, 'rig'),
        (TipTrackerNode, {'rig': 'virtual', 'robot': 'modal_bellows'}, 'modal_bellows has no ring'),
        (
            TipTrackerNode,
            {'rig': 'virtual', 'extrinsics_file': '/none.yaml'},
            'softarm calibrate extrinsics',
        ),
    ],
)
def test_node_refuses_to_start(node, parameters, message):
    with pytest.raises(ValueError, match=message):
        Probe(nodes=[node], **parameters)
