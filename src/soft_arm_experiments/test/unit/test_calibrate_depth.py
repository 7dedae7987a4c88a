"""`softarm calibrate depth` on the virtual camera, and what it refuses."""

import json
from pathlib import Path

import pytest

from soft_arm_calibration.cli import calibrate_depth
from soft_arm_description.calibration import load_calibration, save_calibration
from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_sim.cameras.parameters import load_camera_parameters
from soft_arm_vision.calibration.camera_correction import CameraCorrection, correction_of

BAG = Path(__file__).parents[3] / 'soft_arm_calibration/test/data/virtual_rig_bag'


def test_it_saves_what_the_virtual_camera_is(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(calibrate_depth, 'VIEWS', 10)
    path = tmp_path / 'sensor.yaml'
    assert calibrate_depth.main(['--json', '--output', str(path)]) == 0
    said = json.loads(capsys.readouterr().out)
    found = load_calibration(load_rig('virtual'), DepthSensor, None, path)
    assert found.values == DepthSensor.model_validate(said['values'])
    noise = load_camera_parameters().noise
    assert found.values.sigma_m(0.7) == pytest.approx(0.49 * noise.depth_sigma_m_per_m2, rel=0.15)
    assert said['scale'] == pytest.approx(noise.depth_scale_error, abs=1e-3)
    assert found.values.depth_scale == pytest.approx(1 / (1 + noise.depth_scale_error), abs=1e-3)


def test_the_shipped_file_tells_the_noise_of_the_shipped_virtual_camera():
    rig, noise = load_rig('virtual'), load_camera_parameters().noise
    sensor = load_calibration(rig, DepthSensor, None).values
    assert sensor.sigma_m(0.5) == pytest.approx(0.25 * noise.depth_sigma_m_per_m2, rel=0.1)
    assert sensor.correlation_px == pytest.approx(noise.depth_correlation_px, rel=0.1)
    assert sensor.depth_scale == pytest.approx(1 / (1 + noise.depth_scale_error), abs=3e-4)


def test_the_scale_is_relative_to_the_correction_of_the_rig(tmp_path, monkeypatch):
    monkeypatch.setattr(calibrate_depth, 'VIEWS', 10)
    folder = tmp_path / 'bench'
    folder.mkdir()
    (folder / 'rig.yaml').write_text('devices: virtual\nrobot: two_module_arm\n')
    rig, robot = load_rig(str(folder)), load_robot('two_module_arm')
    how = load_calibration(load_rig('virtual'), DepthSensor, None).header.measurement
    correction = CameraCorrection(depth_scale=1.05, focal_length_scale=1.0, radial=0.0)
    save_calibration(rig, correction, robot, how)
    assert calibrate_depth.main(['--rig', str(folder)]) == 0
    true = 1 / (1 + load_camera_parameters().noise.depth_scale_error)
    assert correction_of(rig).depth_scale == pytest.approx(true, abs=1e-3)


def test_a_real_rig_needs_a_bag(capsys):
    assert calibrate_depth.main(['--rig', 'lab']) == 2
    error = capsys.readouterr().err
    assert 'softarm bag record --images' in error and error.count('\n') == 1


def test_a_bag_of_virtual_devices_calibrates_no_real_rig(tmp_path, capsys):
    path = tmp_path / 'sensor.yaml'
    assert calibrate_depth.main([str(BAG), '--rig', 'lab', '--output', str(path)]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert '/debug/tip_truth shows' in error and "rig 'lab' is real" in error and '--rig' in error
    assert not path.exists()
