"""`RunningFinger` beside a node that simulates the cell's plant and camera."""

import time

import numpy as np
import pytest
from sensor_msgs.msg import CameraInfo, Image

from soft_arm_calibration.ros import camera_session, running_finger
from soft_arm_calibration.ros.running_finger import RunningFinger
from soft_arm_description.rig import RigCamera
from soft_arm_description.robot import load_robot
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_msgs.srv import PlaceObject
from soft_arm_node_kit import qos
from soft_arm_physics.pneumatic_finger import PneumaticFinger
from soft_arm_sim.cameras.finger_camera import FingerCamera
from soft_arm_sim.cameras.parameters import load_finger_camera_parameters
from soft_arm_sim.ros.conversions import camera_info_message, image_message
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger.angles import FingerEstimator
from system_testing.probe import Probe

pytestmark = pytest.mark.watchdogs

ROBOT, PARAMETERS = load_robot('four_piece_finger'), load_finger_camera_parameters()
STALE_S = 0.5


class Cell(Probe):
    """Driver, plant and camera in one node; vents when commands stop."""

    def __init__(self):
        super().__init__('cell')
        self.plant = PneumaticFinger(ROBOT, 3)
        self.stuck = False
        self.commanded = None
        self._target_pa = 0.0
        self._when_s = 0.0
        self._pressures = self.create_publisher(ChamberPressures, '/gripper/pressures', qos.STATE)
        self._info = self.create_publisher(
            CameraInfo, '/finger_camera/color/camera_info', qos.STATE
        )
        self._images = [
            self.create_publisher(Image, f'/finger_camera/{kind}/image_raw', qos.IMAGE)
            for kind in ('color', 'depth')
        ]
        self.create_subscription(
            ChamberPressures, '/gripper/pressure_command', self._on_command, qos.COMMAND
        )
        self.create_timer(0.02, self._advance)
        self.create_timer(0.2, lambda: self._capture(self.get_clock().now().to_msg()))

    def _spin(self):
        self._camera = FingerCamera(ROBOT, PARAMETERS, 3)  # draws in the thread that makes it
        super()._spin()
        self._camera.close()

    def emulate(self):
        self.create_service(PlaceObject, '~/place_object', lambda _, answer: answer)

    def _on_command(self, message):
        self._target_pa = message.pressures_pa[0]
        self._when_s = time.monotonic()
        self.commanded = list(message.names)

    def _advance(self):
        target_pa = (
            self._target_pa if time.monotonic() - self._when_s < STALE_S and not self.stuck else 0.0
        )
        self.plant.advance(
            0.02, max(target_pa, 0.0), min(target_pa, 0.0), target_pa > 0, target_pa < 0
        )
        self._pressures.publish(
            ChamberPressures(names=['finger'], pressures_pa=[self.plant.sensor_pressure_pa()])
        )

    def _capture(self, stamp):
        frame = self._camera.capture(self.plant.T_base_backbone())
        self._info.publish(
            camera_info_message(PARAMETERS.image, stamp, distortion=PARAMETERS.distortion.opencv)
        )
        for publisher, image, encoding in zip(self._images, frame, ('rgb8', '16UC1'), strict=True):
            publisher.publish(image_message(image, encoding, stamp))


@pytest.fixture
def cell(ros_domain):
    with Cell() as cell:
        yield cell.spin()


def test_pressures_are_reached_and_pictures_are_of_them(cell):
    with RunningFinger(ROBOT, RigCamera(), 2) as finger:
        estimator = FingerEstimator(ROBOT, finger.intrinsics)
        for target_pa in (60e3, -40e3):
            assert finger.settle(target_pa) == pytest.approx(cell.plant.pressure_pa, abs=1e3)
            assert cell.plant.pressure_pa == pytest.approx(target_pa, abs=2.5e3)
            pictures = finger.pictures()
            measured = np.mean(
                [
                    estimator.estimate(estimator.update(*picture)).piece_angles_rad
                    for picture in pictures
                ],
                axis=0,
            )
            assert len(pictures) == 2
            assert np.rad2deg(measured - cell.plant.piece_angles_rad) == pytest.approx(
                np.zeros(4), abs=0.6
            )
        assert cell.commanded == ['finger']
    began_s = time.monotonic()
    cell.wait(lambda: abs(cell.plant.pressure_pa) <= 100.0, 'commands have stopped')
    assert time.monotonic() - began_s < 10.0


def test_emulated_devices_are_told_from_real_ones(cell):
    with RunningFinger(ROBOT, RigCamera(), 1) as finger:
        finger.check_devices('lab', 'real')
        with pytest.raises(VisionError, match="'virtual' is virtual, .* not emulated"):
            finger.check_devices('virtual', 'virtual')
        cell.called(cell.emulate)
        finger.wait_for(finger.watch.emulated, 10.0, 'the emulation')
        finger.check_devices('virtual', 'virtual')
        with pytest.raises(VisionError, match="'lab' is real, but /cell emulates its devices"):
            finger.check_devices('lab', 'real')


def test_a_pressure_that_does_not_come_is_told(cell, monkeypatch):
    monkeypatch.setattr(running_finger, 'SETTLE_S', 2.5)
    cell.stuck = True
    with (
        RunningFinger(ROBOT, RigCamera(), 1) as finger,
        pytest.raises(VisionError, match='within 3000 Pa of 60000 Pa'),
    ):
        finger.settle(60e3)


def test_without_a_cell_it_says_what_to_start(ros_domain, monkeypatch):
    monkeypatch.setattr(camera_session, 'FIRST_S', 0.5)
    with pytest.raises(VisionError, match='cell.launch.xml'), RunningFinger(ROBOT, RigCamera(), 1):
        pass
