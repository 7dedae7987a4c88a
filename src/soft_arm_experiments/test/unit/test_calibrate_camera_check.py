"""`softarm calibrate camera-check` on a virtual camera with errors, and what it refuses."""

import json
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from soft_arm_calibration.cli import calibrate_camera_check
from soft_arm_description.calibration import load_calibration
from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import VIRTUAL, load_rig
from soft_arm_description.robot import load_robot
from soft_arm_experiments.arm.reach import reach_poses
from soft_arm_experiments.virtual_intrinsics import intrinsics_of
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_physics.pneumatic_arm import pneumatic_arm
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.placement import camera_for, jig_for
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.camera_correction import CameraCorrection
from soft_arm_vision.calibration.camera_monitor import EVERY_FRAMES
from soft_arm_vision.frames import Frame
from soft_arm_vision.ring_tracker import RingTracker
from soft_arm_vision.segmentation.colour_segmenter import ColourSegmenter

BAG = Path(__file__).parents[3] / 'soft_arm_calibration/test/data/virtual_rig_bag'
POSES, SCALE_ERROR = 13, 0.01


@pytest.fixture(scope='module')
def moving_ring():
    """Images of an arm that moves through its space, by a camera whose depth is 1 % too far."""
    arm, rig = load_bellows_arm(), load_rig('virtual')
    parameters = camera_for(arm.robot)
    noise = parameters.noise.model_copy(update={'depth_scale_error': SCALE_ERROR})
    parameters = parameters.model_copy(update={'noise': noise})
    from_m = extrinsics.load(rig, arm.robot).T_base_camera[:3, 3]
    plant, frames = pneumatic_arm(arm.robot, 5), []
    with closing(VirtualCamera(arm.robot, parameters, jig_for(arm.robot), 5)) as camera:
        for lengths_m in reach_poses(arm, from_m, POSES, 5):
            plant.robot.actuate(arm.clip_pressures(arm.pressures(lengths_m)))
            for _ in range(3):
                plant.step(0.2)
                frame = camera.capture(plant.robot.joint_positions())
                frames.append((frame.rgb, frame.depth, intrinsics_of(parameters)))
    return frames


@pytest.fixture
def camera(monkeypatch, moving_ring):
    @contextmanager
    def frames(options, rig, correction):
        yield (
            (
                (Frame(0, 'camera', rgb, correction.depth_m(depth), correction.intrinsics(stated)))
                for rgb, depth, stated in moving_ring
            ),
            VIRTUAL,
        )

    monkeypatch.setattr(calibrate_camera_check, '_frames', frames)


def test_a_wrong_depth_scale_is_named_and_saved_as_a_correction(camera, tmp_path, capsys):
    path = tmp_path / 'correction.yaml'
    assert (
        calibrate_camera_check.main(['--tip-source', 'colour', '--json', '--output', str(path)])
        == 0
    )
    said = json.loads(capsys.readouterr().out)
    assert said['explanation'].startswith('depth is stated')
    found = load_calibration(
        load_rig('virtual'), CameraCorrection, load_robot('two_module_arm'), path
    )
    assert found.values.model_dump() == said['correction']
    sensor, _ = sensor_of(load_rig('virtual'))
    whole = found.values.with_scale_of(sensor).depth_scale
    assert whole == pytest.approx(1 / (1 + SCALE_ERROR), abs=2e-3)
    assert found.values.focal_length_scale == 1 and found.values.radial == 0
    assert np.shape(said['covariance']) == (5, 5)
    assert 0.002 < said['unseen'][0] < SCALE_ERROR
    assert calibrate_camera_check.main(['--tip-source', 'colour']) == 0
    assert 'may not show: depth below' in capsys.readouterr().out


@pytest.mark.parametrize('is_wrong', [True, False])
def test_the_tracker_names_a_wrong_depth_scale_while_the_arm_moves(moving_ring, is_wrong):
    rig, robot = load_rig('virtual'), load_robot('two_module_arm')
    tracker = RingTracker(
        robot, extrinsics.load(rig, robot), ColourSegmenter(robot.ring), sensor_of(rig)[0]
    )
    unit_m = np.float32(1e-3 if is_wrong else 1e-3 / (1 + SCALE_ERROR))
    for rgb, depth, stated in moving_ring:
        tracker.track(rgb, unit_m * depth, stated)
        for _ in range(EVERY_FRAMES):
            trouble = tracker.check_camera()
    assert (trouble is not None) == is_wrong
    assert not is_wrong or 'depth is stated' in trouble


def test_what_emulated_devices_show_corrects_no_real_camera(camera, tmp_path, capsys):
    path = tmp_path / 'correction.yaml'
    arguments = ['--tip-source', 'colour', '--rig', 'lab', '--output', str(path)]
    assert calibrate_camera_check.main(arguments) == 2
    error = capsys.readouterr().err
    assert "measured on virtual devices, but rig 'lab' is real" in error and not path.exists()


def test_a_bag_of_virtual_devices_checks_no_real_camera(capsys):
    assert calibrate_camera_check.main([str(BAG), '--rig', 'lab', '--tip-source', 'colour']) == 2
    assert '/debug/tip_truth shows' in capsys.readouterr().err


def test_too_short_a_recording_is_refused(capsys):
    assert calibrate_camera_check.main([str(BAG)]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert 'the ring was seen in' in error and '30 are needed' in error
