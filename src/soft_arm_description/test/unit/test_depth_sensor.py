"""The model of a depth camera: its formulas, and which file a rig's camera has."""

import numpy as np
import pytest

from soft_arm_description.calibration import CalibrationError, load_calibration
from soft_arm_description.depth_sensor import D435I, DepthSensor, sensor_of
from soft_arm_description.rig import load_rig


def test_noise_grows_with_the_square_of_depth_above_a_floor():
    sensor = D435I.model_copy(update={'noise_floor_m': 3e-4, 'noise_m_per_m2': 4e-3})
    assert np.allclose(sensor.sigma_m(np.array([0.0, 0.3162278, 10.0])), [3e-4, 5e-4, 0.4], 1e-3)


def test_correlated_noise_is_worth_as_many_pixels_as_its_covariance_says():
    n = 60
    v, u = np.mgrid[:n, :n].reshape(2, -1)
    middle = n * n // 2 + n // 2
    apart_px = np.hypot(u - u[middle], v - v[middle])
    assert D435I.correlation(apart_px).sum() == pytest.approx(D435I.independent_px2, rel=1e-3)


def test_a_larger_image_shows_the_same_camera_larger():
    double = D435I.at(2 * D435I.focal_length_px)
    assert double.correlation_px == 2 * D435I.correlation_px
    assert double.sigma_m(0.5) == D435I.sigma_m(0.5) and double.edge_sd_px == D435I.edge_sd_px


def test_a_rig_without_a_measured_camera_gets_the_usual_one_with_a_caution():
    sensor, caution = sensor_of(load_rig('lab'))
    assert sensor == D435I and '`softarm calibrate depth --rig lab`' in caution


def test_the_virtual_rig_has_a_measured_camera():
    sensor, caution = sensor_of(load_rig('virtual'))
    assert (
        caution is None
        and sensor == load_calibration(load_rig('virtual'), DepthSensor, None).values
    )


def test_a_range_that_ends_before_it_begins_is_refused(tmp_path):
    path, shipped = tmp_path / 'sensor.yaml', load_rig('virtual').calibration_file('depth_sensor')
    path.write_text(shipped.read_text().replace('range_m: [0.2', 'range_m: [5.0'))
    with pytest.raises(CalibrationError, match='range_m .*first must be smaller'):
        load_calibration(load_rig('virtual'), DepthSensor, None, path)
