import json
from pathlib import Path

import numpy as np
import pytest

from soft_arm_vision.bag_frames import read_frames, read_truth
from soft_arm_vision.cli import vision

BAG = Path(__file__).parents[1] / 'data' / 'virtual_rig_bag'


def test_bag_is_read_whole():
    frames = list(read_frames(BAG))
    stamps_ns, T = read_truth(BAG)
    assert [f.stamp_ns for f in frames] == stamps_ns.tolist() and len(frames) == 6
    assert frames[0].rgb.shape == (240, 320, 3) and frames[0].depth.shape == (240, 320) and frames[0].depth.dtype == np.uint16
    assert 200 < np.median(frames[0].depth[frames[0].depth > 0]) < 2000
    assert frames[0].intrinsics.fx == pytest.approx(607.3 / 2)
    np.testing.assert_allclose(T[:, 3], np.tile([0, 0, 0, 1], (6, 1)))


def test_evaluation_finds_the_ring_and_is_the_same_again(capsys):
    answers = []
    for _ in range(2):
        assert vision.main(['evaluate', str(BAG), '--json']) == 0
        answers.append(json.loads(capsys.readouterr().out))
    first, second = answers
    assert first['frames'] == 6 and first['poses'] >= 5
    assert first['errors']['centre_mean_m'] < 2e-3  # with the error of the rig's extrinsics
    assert first['recorded_s'] == pytest.approx(5 / 30, abs=1e-3)
    for answer in answers:
        del answer['computed_s']
    assert first == second


def test_no_bag(tmp_path, capsys):
    assert vision.main(['evaluate', str(tmp_path / 'none')]) == 2
    error = capsys.readouterr().err
    assert 'No such file or folder' in error and error.count('\n') == 1
