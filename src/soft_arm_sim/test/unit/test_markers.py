import cv2
import numpy as np
import pytest

from soft_arm_description.fiducial import Fiducial
from soft_arm_description.robot import load_robot
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.placement import camera_for, jig_for
from soft_arm_sim.errors import SimulationError

ARM = load_robot('two_module_arm')


@pytest.mark.parametrize('robot', [ARM, ARM.model_copy(update={'ring': None})])
def test_the_camera_sees_the_marker_that_looks_at_it(robot):
    parameters = camera_for(robot)
    x, y, _ = parameters.mounting.position_m
    yaw_deg = float(np.rad2deg(np.arctan2(y, x)))
    place = 0.06 * np.array([x, y]) / np.hypot(x, y)
    marker = {'id': 11, 'position_m': (*place, 0.0), 'rpy_deg': (90.0, 0.0, yaw_deg + 90.0)}
    marked = robot.model_copy(
        update={'fiducial': Fiducial(dictionary='DICT_5X5_50', size_m=0.04, markers=(marker,))}
    )
    camera = VirtualCamera(marked, parameters, jig_for(robot), 1)
    try:
        rgb = camera.capture(np.zeros(camera.joints)).rgb
    finally:
        camera.close()
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_5X5_50)
    _, ids, _ = cv2.aruco.ArucoDetector(dictionary).detectMarkers(rgb)
    assert ids.ravel().tolist() == [11]


def test_a_robot_without_a_ring_has_none_in_the_picture_nor_on_a_peg():
    bare = ARM.model_copy(update={'ring': None})
    camera = VirtualCamera(bare, camera_for(bare), jig_for(bare), 1)
    try:
        assert not camera.capture_truth(np.zeros(camera.joints)).ring_mask.any()
        with pytest.raises(SimulationError, match='no ring'):
            camera.place_ring(0)
    finally:
        camera.close()
