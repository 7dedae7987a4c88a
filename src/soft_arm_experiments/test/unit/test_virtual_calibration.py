"""Virtual rigs for any bellows arm: which rig a launch uses, and what is refused."""

import shutil
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from soft_arm_control.errors import ExperimentError
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot, shipped_robots
from soft_arm_experiments.arm import virtual_calibration
from soft_arm_experiments.arm.reach import Move, reach_poses, summary
from soft_arm_experiments.cli import calibrate_virtual
from soft_arm_kinematics.arm import make_arm
from soft_arm_sim.cameras.placement import camera_for
from soft_arm_vision.calibration import extrinsics

LYING = Path(__file__).parents[4] / 'launch' / 'test' / 'robots' / 'one_lying.yaml'
CAMERA_M = np.array([0.25, -0.43, 0.2])


@pytest.mark.parametrize('robot', ['two_module_arm', 'squid_light'])
def test_the_template_serves_its_own_robot_and_those_without_bellows(robot, capsys):
    assert calibrate_virtual.virtual_rig_for(['virtual', robot]) == 0
    assert Path(capsys.readouterr().out) == load_rig('virtual').folder


def test_a_calibration_for_a_new_robot_shows_its_progress(monkeypatch, capsys):
    def rig_for(rig, robot_name, on_part, network):
        for _ in range(2):
            time.sleep(0.15)  # noqa: TID251  # a calibration takes time
            on_part()
        return rig

    monkeypatch.setattr(virtual_calibration, 'rig_for', rig_for)
    assert calibrate_virtual.calibrated_rig('virtual', str(LYING)) == load_rig('virtual')
    said = capsys.readouterr()
    assert said.out == '' and 'calibrating the virtual rig for one_lying, once:' in said.err


@pytest.mark.parametrize(('factor', 'calibrated'), [(1.0, False), (3.0, True)])
def test_a_heavier_copy_of_the_templates_robot_gets_a_rig_of_its_own(
    factor, calibrated, tmp_path, monkeypatch
):
    content = yaml.safe_load(shipped_robots()['two_module_arm'].read_text()) | {'name': 'copy'}
    for segment in content['segments']:
        segment['body_mass_kg'] *= factor
    (tmp_path / 'copy.yaml').write_text(yaml.safe_dump(content))
    made = []
    monkeypatch.setattr(virtual_calibration, 'rig_for', lambda *given: made.append(given))
    calibrate_virtual.calibrated_rig('virtual', str(tmp_path / 'copy.yaml'))
    assert bool(made) == calibrated


def test_another_network_or_template_is_another_cached_rig(tmp_path, monkeypatch):
    made = []

    def make(folder, *_):
        made.append(folder)
        folder.mkdir(parents=True)
        (folder / 'rig.yaml').write_text('devices: virtual\nrobot: two_module_arm\n')

    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.setattr(virtual_calibration, '_make', make)
    template = tmp_path / 'mine'
    shutil.copytree(load_rig('virtual').folder, template)
    network = tmp_path / 'network.onnx'

    def cached(network=None):
        return virtual_calibration.rig_for(load_rig(str(template)), str(LYING), network=network)

    without = cached()
    network.write_bytes(b'one')
    one = cached(network)
    network.write_bytes(b'two')
    two = cached(network)
    (parameters,) = template.glob('parameters/pneumatic_driver*')
    parameters.write_text(parameters.read_text() + '# changed\n')
    assert cached(network).folder not in (without.folder, one.folder, two.folder)
    assert len(made) == 4 and cached(network) and len(made) == 4


def test_an_arm_without_a_ring_is_calibrated_with_that_of_the_jig(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    for name in ('SETS', 'FRAMES'):
        monkeypatch.setattr(virtual_calibration, name, 2)
    bare = yaml.safe_load(LYING.read_text())
    del bare['ring']
    (tmp_path / 'bare.yaml').write_text(yaml.safe_dump(bare))
    rig = virtual_calibration.rig_for(load_rig('virtual'), str(tmp_path / 'bare.yaml'))
    robot = load_robot(tmp_path / 'bare.yaml')
    found = extrinsics.load(rig, robot).T_base_camera
    true = camera_for(robot).mounting.T_base_optical
    np.testing.assert_allclose(found, true, atol=3e-3)


def test_a_template_is_not_overwritten(capsys):
    assert calibrate_virtual.main(['--rig', 'virtual']) == 2
    assert 'give a virtual rig of your own' in capsys.readouterr().err


def test_targets_are_where_the_camera_sees_the_ring():
    arm = make_arm(load_robot(LYING))
    lengths_m = reach_poses(arm, CAMERA_M, 20, 5)
    low_m, high_m = arm.length_limits_m
    assert ((lengths_m >= low_m) & (lengths_m <= high_m)).all()
    assert (arm.at(lengths_m).tip_m[:, 2] > 0).all()
    with pytest.raises(ExperimentError, match='5000 are needed: give fewer --targets'):
        reach_poses(arm, CAMERA_M, 5000, 5)


def test_a_failed_move_counts_with_the_error_that_it_leaves():
    still, off = np.zeros(3), np.array([0.0, 0.003, 0.004])
    values = summary([Move(still, still, 1.0, ''), Move(still, off, 2.0, 'no ring')])
    assert values['mean_m'] == pytest.approx(0.0025) and values['max_m'] == pytest.approx(0.005)
    assert (values['moves'], values['reached']) == (2, 1)
