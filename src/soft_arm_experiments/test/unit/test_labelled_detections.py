from dataclasses import replace

import numpy as np

from soft_arm_description.robot import load_robot
from soft_arm_experiments.training.labelled_detections import labelled_detections
from soft_arm_experiments.vision.synthetic_data import ring_samples, synthetic_intrinsics
from soft_arm_vision.segmentation.yolact.exported import ExportedYolact


def test_detections_of_labelled_pictures_are_the_ring_or_not():
    ring = load_robot('two_module_arm').ring
    (shown,) = ring_samples(
        'two_module_arm', 'held_out', 1, seed=1, scale=1.0, ringless_share=0.0, first=3
    )
    intrinsics = synthetic_intrinsics()
    unlabelled = replace(shown, masks=shown.masks[:0], classes=shown.classes[:0])
    hidden = replace(shown, visible_share=np.array([0.1]))
    truths = {}
    for name, sample in (('shown', shown), ('unlabelled', unlabelled), ('hidden', hidden)):
        detections = labelled_detections(ExportedYolact(), ring, [sample], intrinsics, 0.5)
        truths[name] = [is_ring for _, _, is_ring in detections]
    assert truths['shown'][0] and not any(truths['unlabelled']) and truths['hidden'] == []
    assert len(truths['unlabelled']) == len(truths['shown'])
