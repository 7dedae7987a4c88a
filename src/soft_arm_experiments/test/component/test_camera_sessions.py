"""Sessions beside a node that plays a camera: they see what the tip tracker would."""

import threading
from pathlib import Path

import numpy as np
import pytest
from sensor_msgs.msg import CameraInfo, Image

from soft_arm_calibration.bags.bag_frames import read_frames
from soft_arm_calibration.ros.camera_session import CameraSession
from soft_arm_calibration.ros.jig_session import ring_centre_m
from soft_arm_description.rig import RigCamera
from soft_arm_description.robot import load_robot
from soft_arm_msgs.srv import PlaceRing
from soft_arm_node_kit import qos
from soft_arm_sim.ros.conversions import image_message
from soft_arm_vision.calibration.camera_correction import CameraCorrection
from soft_arm_vision.errors import VisionError
from soft_arm_vision.ring.detector import RingDetector
from softarm_cli.bags.file import open_bag
from system_testing.probe import Probe

BAG = Path(__file__).parents[3] / 'soft_arm_calibration/test/data/virtual_rig_bag'
RING = load_robot('two_module_arm').ring
CORRECTION = CameraCorrection(depth_scale=1.02, focal_length_scale=0.99, radial=0.0)
UNIT_M = 1e-4


def recorded(**options):
    with open_bag(BAG) as bag:
        return next(read_frames(bag, RigCamera(), **options))


def play(frame, node):
    """Publish a frame again and again, its depth in tenths of a millimetre."""
    info = node.create_publisher(CameraInfo, '/camera/camera/color/camera_info', qos.STATE)
    colour, depth = (
        node.create_publisher(Image, f'/camera/camera/{topic}/image_raw', qos.IMAGE)
        for topic in ('color', 'aligned_depth_to_color')
    )
    k = frame.intrinsics
    depth_units = np.rint(frame.depth_m / UNIT_M).astype(np.uint16)

    def send():
        stamp = node.get_clock().now().to_msg()
        stated = CameraInfo(width=k.width, height=k.height, distortion_model='plumb_bob')
        stated.k = [k.fx, 0.0, k.cx, 0.0, k.fy, k.cy, 0.0, 0.0, 1.0]
        stated.header.frame_id = 'rgb'
        info.publish(stated)
        colour.publish(image_message(frame.rgb, 'rgb8', stamp, 'rgb'))
        depth.publish(image_message(depth_units, '16UC1', stamp, 'rgb'))

    node.create_timer(0.05, send)


@pytest.fixture
def camera(ros_domain):
    frame = recorded()
    with Probe('camera') as probe:
        play(frame, probe)
        probe.spin()
        yield frame


def test_the_ring_is_measured_as_the_rig_corrects_its_camera(camera):
    true = recorded(correction=CORRECTION)
    expected = RingDetector(RING).detect(true.rgb, true.depth_m, true.intrinsics).fit.centre
    with CameraSession(camera=RigCamera(depth_unit_m=UNIT_M), correction=CORRECTION) as session:
        found = ring_centre_m(session, RingDetector(RING), 3)
        assert session.camera_frame == 'rgb'
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_a_running_camera_is_read_in_its_unit(camera):
    with CameraSession(camera=RigCamera(depth_unit_m=UNIT_M)) as session:
        frame = next(session.frames(5.0))
    np.testing.assert_array_equal(frame.rgb, camera.rgb)
    np.testing.assert_allclose(frame.depth_m, camera.depth_m, atol=1e-6)


def test_devices_that_are_discovered_late_are_known(ros_domain):
    with Probe('camera') as probe:
        play(recorded(), probe)
        probe.spin()

        def emulate():
            probe.create_service(PlaceRing, 'place_ring', lambda _, answer: answer)

        with CameraSession(camera=RigCamera(depth_unit_m=UNIT_M)) as session:
            session.check_devices('lab', 'real')
            later = threading.Timer(0.5, probe.called, (emulate,))
            later.start()
            session.check_devices('virtual', 'virtual')
            later.join()
            with pytest.raises(VisionError, match='/camera emulates its devices'):
                session.check_devices('lab', 'real')
