import numpy as np

from soft_arm_training.anchor_labels import NEUTRAL, match
from soft_arm_vision.segmentation.yolact.anchors import (
    AnchorLayout,
    corners,
    intersection_over_union,
)

LAYOUT = AnchorLayout()


def test_every_instance_has_an_anchor_and_the_rest_is_background_or_neutral():
    anchors = LAYOUT.boxes()
    # No anchor overlaps the first by half.
    boxes = np.array([[100, 100, 103, 160.0], [20, 20, 70, 45]])
    labels, instance = match(anchors, boxes, np.array([1, 0]))
    assert set(instance[labels > 0]) == {0, 1}
    assert set(labels[(labels > 0) & (instance == 0)]) == {2} and set(
        labels[(labels > 0) & (instance == 1)]
    ) == {1}
    overlap = intersection_over_union(corners(anchors), boxes).max(axis=1)
    assert (overlap[labels == 0] < 0.3).all() and (
        (overlap[labels == NEUTRAL] >= 0.3) & (overlap[labels == NEUTRAL] < 0.5)
    ).all()
    assert (match(anchors, np.zeros((0, 4)), np.zeros(0, int))[0] == 0).all()
