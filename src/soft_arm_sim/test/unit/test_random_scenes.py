from pathlib import Path

import numpy as np
import pytest

from soft_arm_description.robot import load_robot
from soft_arm_sim.cameras.placement import camera_for, scale_for
from soft_arm_sim.cameras.random_scenes import (
    DOMAINS,
    MIN_VIEW_ANGLE_DEG,
    RandomScenes,
    scaled_camera,
)

ROBOT = load_robot('two_module_arm')
ROBOTS = Path(__file__).parents[4] / 'launch' / 'test' / 'robots'
PARAMETERS = scaled_camera(ROBOT, 0.25)


@pytest.fixture(scope='module')
def scenes():
    scenes = RandomScenes(ROBOT, 'training', 5, PARAMETERS)
    yield scenes
    scenes.close()


def test_a_frame_does_not_depend_on_those_before(scenes):
    first = scenes.draw(3)
    scenes.draw(4)
    again = scenes.draw(3)
    np.testing.assert_array_equal(first.rgb, again.rgb)
    np.testing.assert_array_equal(first.ring_mask, again.ring_mask)
    np.testing.assert_allclose(first.T_optical_ring, again.T_optical_ring)
    assert (first.rgb != scenes.draw(4).rgb).any()


def test_mask_lies_where_the_pose_says(scenes):
    image, compared = PARAMETERS.image, 0
    for number in range(12):
        frame = scenes.draw(number)
        centre, axis = frame.T_optical_ring[:3, 3], frame.T_optical_ring[:3, 2]
        assert (
            abs(axis @ centre)
            <= np.cos(np.deg2rad(MIN_VIEW_ANGLE_DEG)) * np.linalg.norm(centre) + 1e-9
        )
        if frame.visible_share > 0.3:
            v, u = np.nonzero(frame.ring_mask)
            seen = np.array([u.mean(), v.mean()])
            expected = centre[:2] / centre[2] * (image.fx_px, image.fy_px) + (
                image.cx_px,
                image.cy_px,
            )
            assert np.linalg.norm(seen - expected) < 0.05 / centre[2] * image.fx_px
            depth_m = 1e-3 * frame.depth[frame.ring_mask].astype(float)
            assert abs(np.median(depth_m[depth_m > 0]) - centre[2]) < 0.06
            compared += 1
    assert compared >= 5


def test_room_and_camera_grow_with_the_arm(tmp_path):
    text = (ROBOTS / 'long_hanging.yaml').read_text().replace('[0.11, 0.27]', '[0.24, 0.6]')
    (tmp_path / 'longer.yaml').write_text(text.replace('[0.11, 0.16, 0.27]', '[0.24, 0.35, 0.6]'))
    robot = load_robot(tmp_path / 'longer.yaml')
    parameters = scaled_camera(robot, 0.25)
    assert parameters.mounting == camera_for(robot).mounting
    nearest_m, farthest_m = np.sqrt(scale_for(robot)) * np.array([0.3, 0.75])
    scenes = RandomScenes(robot, 'training', 5, parameters)
    depths_m = np.array([scenes.draw(number).T_optical_ring[2, 3] for number in range(30)])
    scenes.close()
    # The table, above which the camera stays, is as far below the arm as it is shown.
    assert ((depths_m > nearest_m) & (depths_m < farthest_m)).all()


def test_frames_without_a_ring_show_none(scenes):
    frame = scenes.draw(3, with_ring=False)
    assert not frame.ring_mask.any() and frame.visible_share == 0 and frame.T_optical_ring is None
    with_ring = scenes.draw(3)
    changed = (frame.rgb.astype(int) - with_ring.rgb != 0).any(axis=2)
    assert with_ring.ring_mask.any() and changed[with_ring.ring_mask].mean() > 0.5


def test_held_out_scenes_share_nothing_that_was_promised():
    training, held_out = DOMAINS['training'], DOMAINS['held_out']
    assert training.stream != held_out.stream and not set(training.textures) & set(
        held_out.textures
    )
    assert len(set(training.shapes) & set(held_out.shapes)) == 1  # boxes
    assert training.hues[1] <= held_out.hues[0] and training.light_side != held_out.light_side


def test_scaled_camera_sees_the_same_rays():
    image, whole = PARAMETERS.image, scaled_camera(ROBOT, 1.0).image
    assert (image.width_px, image.height_px) == (160, 120)
    assert (0 - 0.5 - image.cx_px) / image.fx_px == pytest.approx(
        (0 - 0.5 - whole.cx_px) / whole.fx_px
    )
