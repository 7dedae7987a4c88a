"""A labelled bag is a test that the detector passes, and fails where it became worse."""

import json
import shutil
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import yaml

from soft_arm_calibration.cli import bag_evaluate
from soft_arm_description.calibration import Measurement, save_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_training import coco
from soft_arm_training.cli import train_ring_segmenter, vision_label
from soft_arm_vision.calibration.camera_correction import CameraCorrection

BAG = Path(__file__).parents[3] / 'soft_arm_calibration/test/data/virtual_rig_bag'


@pytest.fixture
def bag(tmp_path):
    return Path(shutil.copytree(BAG, tmp_path / 'bag'))


@pytest.fixture
def labelled(bag):
    assert vision_label.main([str(bag), '--tip-source', 'colour', '--every', '2']) == 0
    return bag


def evaluated(capsys, *bags):
    capsys.readouterr()
    arguments = [*map(str, bags), '--tip-source', 'colour', '--json']
    status = bag_evaluate.main(arguments)
    answer = capsys.readouterr()
    found = [bag['detector']['labelled'] for bag in json.loads(answer.out)['bags']]
    return status, found, answer.err


def test_a_bag_passes_its_own_labels(labelled, capsys):
    pictures = sorted((labelled / 'labels' / 'ring').iterdir())
    assert len(pictures) == 3
    status, (result,), _ = evaluated(capsys, labelled)
    assert status == 0
    assert result['rings'] == result['found'] == 3
    assert result['masks_matching'] == 1 and result['faults'] == []
    assert result['moved_mean_m'] < 5e-4


def test_the_pictures_decide(labelled, capsys):
    first, second, _ = sorted((labelled / 'labels' / 'ring').iterdir())
    first.unlink()
    (labelled / 'labels' / 'no_ring').mkdir(exist_ok=True)
    second.rename(labelled / 'labels' / 'no_ring' / second.name)
    status, (result,), error = evaluated(capsys, labelled)
    assert status == 1 and 'poses in 1 of 1 frames without a ring' in error
    assert result['rings'] == 1


def test_a_centre_that_moved_fails(labelled, capsys):
    file = labelled / 'labels' / 'labels.json'
    content = json.loads(file.read_text())
    for proposal in content['proposals']:
        proposal['centre_m'][2] += 3e-3
    file.write_text(json.dumps(content))
    status, _, error = evaluated(capsys, labelled)
    assert status == 1 and 'mm from the labelled ones' in error and error.count('\n') == 1


def test_several_bags_are_evaluated_in_one_command(labelled, capsys):
    status, results, _ = evaluated(capsys, labelled, BAG)
    assert status == 0
    assert [result is None for result in results] == [False, True]


def test_labels_are_never_overwritten_and_bad_ones_are_named(labelled, capsys):
    assert vision_label.main([str(labelled), '--tip-source', 'colour']) == 2
    assert 'so that no labels are lost' in capsys.readouterr().err
    (labelled / 'labels' / 'labels.json').write_text('{"proposals": 3}')
    assert bag_evaluate.main([str(labelled), '--tip-source', 'colour']) == 2
    error = capsys.readouterr().err
    assert 'labels' in error and error.count('\n') == 1


def test_depth_to_train_on_is_corrected_as_the_rig_says(labelled, tmp_path):
    rig, robot = tmp_path / 'bench', load_robot('two_module_arm')
    shutil.copytree(load_rig('virtual').folder, rig)
    measured = Measurement(
        devices='virtual',
        method='test',
        residuals={'scale_share': 1e-3},
        limits={'depth_m': (0.3, 0.6)},
    )
    correction = CameraCorrection(depth_scale=1.1, focal_length_scale=1.0, radial=0.0)
    save_calibration(load_rig(str(rig)), correction, robot, measured, None)
    depths = []
    for name in ('virtual', str(rig)):
        topics = {'colour_topic': None, 'depth_topic': None, 'info_topic': None}
        given = {'output': tmp_path / 'run', 'robot': robot.name, 'rig': name}
        options = Namespace(aligned_depth=False, **topics, **given)
        (first, *_) = coco.read(train_ring_segmenter.of_bag(labelled, options), ('ring',))
        depths.append(first.depth[first.depth > 0].astype(float))
    np.testing.assert_allclose(depths[1], 1.1 * depths[0], atol=1.06)  # mm, both rounded


def test_the_depth_camera_is_that_of_the_rig(bag, tmp_path, capsys):
    """A camera that reports no depth as far as the ring proposes none."""
    rig = Path(shutil.copytree(load_rig('virtual').folder, tmp_path / 'near'))
    file = rig / 'calibration' / 'depth_sensor.yaml'
    content = yaml.safe_load(file.read_text())
    content['rig'], content['values']['range_m'] = 'near', [0.1, 0.2]
    file.write_text(yaml.safe_dump(content))
    given = ['--rig', str(rig), '--every', '3']
    assert vision_label.main([str(bag), '--tip-source', 'colour', *given]) == 0
    assert capsys.readouterr().out.startswith('0 pictures')
