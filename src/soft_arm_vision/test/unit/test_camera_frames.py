"""Parent of the camera frames in the tf tree, with and without calibrated extrinsics."""

import shutil

import pytest

from soft_arm_description.rig import load_rig
from soft_arm_vision.cli import camera_frames


@pytest.fixture
def rig(tmp_path):
    shutil.copytree(load_rig('virtual').folder, tmp_path / 'rig')
    return tmp_path / 'rig'


def answer(rig, capsys):
    assert camera_frames.main([str(rig), 'two_module_arm']) == 0
    out, err = capsys.readouterr()
    return out, err


def test_a_calibrated_camera_is_attached(capsys):
    assert answer('virtual', capsys) == ('attached', '')


def test_frames_of_unknown_pose_are_left_out_with_the_remedy(rig, capsys):
    (rig / 'calibration/extrinsics.yaml').unlink()
    kind, why = answer(rig, capsys)
    assert kind == 'none' and 'softarm calibrate extrinsics' in why


def test_frames_of_unknown_pose_by_which_depth_is_aligned_are_kept(rig, capsys):
    (rig / 'calibration/extrinsics.yaml').unlink()
    with (rig / 'rig.yaml').open('a') as file:
        file.write('camera: {align_depth: true}\n')
    assert answer(rig, capsys)[0] == 'separate'


def test_extrinsics_in_another_base_frame_attach_nothing(rig, capsys):
    path = rig / 'calibration/extrinsics.yaml'
    path.write_text(path.read_text().replace('soft_arm_base_link', 'left_base_link'))
    kind, why = answer(rig, capsys)
    assert kind == 'none' and 'left_base_link' in why and 'soft_arm_base_link' in why
