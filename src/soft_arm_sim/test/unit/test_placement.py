"""The camera, its lens and the jig stand so that the arm of any robot file is in the picture."""

from pathlib import Path

import numpy as np
import pytest

from soft_arm_description.robot import load_robot
from soft_arm_sim.cameras.parameters import CONFIG, load_calibration_jig, load_camera_parameters
from soft_arm_sim.cameras.placement import SHIPPED_CAMERAS, camera_for, camera_of, jig_for

ROBOTS = sorted((Path(__file__).parents[4] / 'launch' / 'test' / 'robots').glob('*.yaml'))


def pixels(parameters, points_m):
    T = np.linalg.inv(parameters.mounting.T_base_optical)
    optical = points_m @ T[:3, :3].T + T[:3, 3]
    return (optical @ parameters.image.camera_matrix.T)[:, :2] / optical[:, 2:], optical[:, 2]


def test_the_shipped_arm_has_the_shipped_camera_and_jig():
    robot = load_robot('two_module_arm')
    assert camera_for(robot) == load_camera_parameters() and jig_for(robot) == (
        load_calibration_jig()
    )


def test_a_camera_of_a_file_stands_as_it_says_and_may_state_a_wrong_focal_length(tmp_path):
    robot, file = load_robot('two_module_arm'), tmp_path / 'camera.yaml'
    file.write_text((CONFIG / 'stereo_camera.yaml').read_text() + '\nfocal_length_error: 0.01\n')
    found = camera_of(robot, str(file))
    assert found.image == load_camera_parameters(CONFIG / 'stereo_camera.yaml').image
    assert found.stated_image.fx_px == pytest.approx(1.01 * found.image.fx_px)
    assert camera_of(robot, 'virtual') == camera_for(robot)


@pytest.mark.parametrize('camera', SHIPPED_CAMERAS)
@pytest.mark.parametrize('path', ROBOTS, ids=lambda path: path.stem)
def test_the_straight_arm_and_every_peg_are_in_the_picture(path, camera):
    robot = load_robot(path)
    parameters = camera_for(robot, camera)
    longest_m = sum(s.arc_length_limits_m[1] + s.rigid_length_m for s in robot.segments)
    points_m = np.vstack(([0, 0, 0.1 * longest_m], [0, 0, 0.95 * longest_m], jig_for(robot).pegs_m))
    (u, v), depth_m = pixels(parameters, points_m)[0].T, pixels(parameters, points_m)[1]
    assert ((u > 0) & (u < parameters.image.width_px)).all()
    assert ((v > 0) & (v < parameters.image.height_px)).all()
    near_m, far_m = parameters.noise.depth_range_m
    assert ((depth_m > near_m) & (depth_m < far_m)).all()
