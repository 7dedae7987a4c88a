"""The frames of a rig are corrected by both calibrations of its camera."""

import numpy as np
import pytest

from soft_arm_description.calibration import Measurement, save_calibration
from soft_arm_description.depth_sensor import D435I
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_vision.calibration.camera_correction import (
    NO_CORRECTION,
    CameraCorrection,
    correction_of,
)

HOW = Measurement(
    devices='virtual', method='test', residuals={'scale_share': 1e-3}, limits={'depth_m': (0.3, 1)}
)


@pytest.fixture
def rig(tmp_path):
    (tmp_path / 'rig.yaml').write_text('devices: virtual\nrobot: two_module_arm\n')
    return load_rig(str(tmp_path))


def save(rig, values):
    save_calibration(rig, values, load_robot('two_module_arm'), HOW)


def test_the_depth_scale_of_the_sensor_corrects_the_frames(rig):
    assert correction_of(rig) == NO_CORRECTION
    save(rig, D435I.model_copy(update={'depth_scale': 1.02}))
    depth_m = correction_of(rig).depth_m(np.array([[500, 0]], np.uint16))
    np.testing.assert_allclose(depth_m, [[0.51, 0.0]], rtol=1e-6)


def test_a_correction_is_relative_to_the_sensor(rig):
    save(rig, D435I.model_copy(update={'depth_scale': 1.02}))
    save(rig, CameraCorrection(depth_scale=0.99, focal_length_scale=1.01, radial=0.0))
    found = correction_of(rig)
    assert found.depth_scale == pytest.approx(1.02 * 0.99)
    assert found.focal_length_scale == 1.01
