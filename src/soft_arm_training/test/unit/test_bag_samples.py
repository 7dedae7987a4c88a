from pathlib import Path

import numpy as np

from soft_arm_calibration.bags.bag_frames import read_frames
from soft_arm_description.rig import load_rig
from soft_arm_training import coco
from soft_arm_training.cli import vision_extract
from soft_arm_vision.calibration.camera_correction import correction_of
from softarm_cli.bags.file import open_bag

BAG = Path(__file__).parents[3] / 'soft_arm_calibration/test/data/virtual_rig_bag'


def test_frames_of_a_bag_become_a_set_whose_labels_are_not_overwritten(tmp_path, capsys):
    arguments = [str(BAG), str(tmp_path / 'set'), '--every', '2']
    assert vision_extract.main(arguments) == 0
    assert 'softarm train ring-segmenter --data' in capsys.readouterr().out
    rig = load_rig('virtual')
    with open_bag(BAG) as bag:
        frames = list(read_frames(bag, rig.camera, correction=correction_of(rig)))[::2]
    samples = list(coco.read(tmp_path / 'set', ('ring',)))
    assert len(samples) == 3
    for sample, frame in zip(samples, frames, strict=True):
        np.testing.assert_array_equal(sample.rgb, frame.rgb)
        np.testing.assert_allclose(1e-3 * sample.depth, frame.depth_m, atol=0.51e-3)
        assert len(sample.masks) == 0
    assert vision_extract.main(arguments) == 2
    error = capsys.readouterr().err
    assert 'already holds a data set' in error and error.count('\n') == 1
