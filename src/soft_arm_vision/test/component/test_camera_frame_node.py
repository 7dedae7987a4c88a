"""The node that attaches the frames of a camera which is not the source of the tip."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage
from tf2_ros import StaticTransformBroadcaster

from soft_arm_description.poses import pose_matrix
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_node_kit import diagnostics, qos
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.ros.camera_frame_node import CameraFrameNode
from system_testing.probe import Probe

OPTICAL = 'camera_color_optical_frame'


@pytest.fixture
def graph():
    with Probe('probe', '/soft_arm', [CameraFrameNode], rig='virtual') as graph:
        graph.listen(TFMessage, '/tf_static', qos.LATCHED)
        graph.listen(DiagnosticArray, '/diagnostics', qos.STATE)
        yield graph


def newest_status(graph):
    arrays = graph.heard['/diagnostics']
    return arrays[-1].status[0] if arrays else None


def test_the_camera_s_frames_are_attached_to_the_arm(graph):
    graph.wait(lambda: newest_status(graph))
    assert newest_status(graph).level == diagnostics.WARN
    assert f'no transform from camera_link to {OPTICAL}' in newest_status(graph).message
    link = TransformStamped(child_frame_id=OPTICAL)
    link.header.frame_id = 'camera_link'
    link.transform.translation.y = 0.015
    link.transform.rotation.w = 1.0
    StaticTransformBroadcaster(graph).sendTransform(link)
    graph.wait(lambda: newest_status(graph).level == diagnostics.OK)
    links = [t for m in graph.heard['/tf_static'] for t in m.transforms]
    [placed] = [t for t in links if t.child_frame_id == 'camera_link']
    assert placed.header.frame_id == 'soft_arm_base_link'
    T_base_root = pose_matrix(placed.transform.translation, placed.transform.rotation)
    T_root_camera = pose_matrix(link.transform.translation, link.transform.rotation)
    expected = extrinsics.load(load_rig('virtual'), load_robot('two_module_arm')).T_base_camera
    np.testing.assert_allclose(T_base_root @ T_root_camera, expected, atol=1e-6)
