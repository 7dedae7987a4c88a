"""Which anchors a network is to take for which labelled instance."""

import numpy as np

from soft_arm_vision.segmentation.yolact.anchors import corners, intersection_over_union

# Between these limits an anchor is neither: it half stands for an instance.
POSITIVE_IOU = 0.5
NEGATIVE_IOU = 0.3
NEUTRAL, BACKGROUND = -1, 0


def match(
    anchors: np.ndarray, boxes: np.ndarray, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Assign a labelled instance to each anchor.

    Args:
        anchors: (centre, size), shape (n, 4).
        boxes: Corner boxes of the instances, shape (m, 4).
        classes: Class index of each instance, shape (m,).

    Returns:
        Label of each anchor, 1 + class, `BACKGROUND` or `NEUTRAL`, and its instance's index (0
        where there is none); (n,) each.
    """
    labels, instance = np.full(len(anchors), BACKGROUND), np.zeros(len(anchors), int)
    if len(boxes) == 0:
        return labels, instance
    overlap = intersection_over_union(corners(anchors), boxes)
    instance, best = overlap.argmax(axis=1), overlap.max(axis=1)
    for k in np.argsort(
        overlap.max(axis=0)
    ):  # every instance gets its best anchor; the better the later
        forced = overlap[:, k].argmax()
        instance[forced], best[forced] = k, 1.0
    labels[best >= NEGATIVE_IOU] = NEUTRAL
    positive = best >= POSITIVE_IOU
    labels[positive] = 1 + np.asarray(classes)[instance[positive]]
    return labels, instance
