from dataclasses import replace

import numpy as np
from ring_frames import render

from soft_arm_description.robot import load_robot
from soft_arm_experiments.training.labelled_detections import labelled_detections
from soft_arm_experiments.vision.coco import Sample
from soft_arm_vision.segmentation.yolact.exported import ExportedYolact


def test_detections_of_labelled_pictures_are_the_ring_or_not():
    ring = load_robot('two_module_arm').ring
    frame = render([0.02, -0.01, 0.45], [0.3, 1, 0.4])
    shown = Sample(frame.colour, frame.visible[None], np.zeros(1, int), frame.depth, np.ones(1))
    unlabelled = replace(shown, masks=shown.masks[:0], classes=shown.classes[:0])
    hidden = replace(shown, visible_share=np.array([0.1]))
    truths = {}
    for name, sample in (('shown', shown), ('unlabelled', unlabelled), ('hidden', hidden)):
        detections = list(
            labelled_detections(ExportedYolact(), ring, [sample], frame.intrinsics, 0.5)
        )
        truths[name] = [is_ring for _, _, is_ring in detections]
    assert truths['shown'][0] and not any(truths['unlabelled']) and truths['hidden'] == []
    assert len(truths['unlabelled']) == len(truths['shown'])
