"""Make samples from a recorded bag, to train on your own camera, arm and light."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from soft_arm_calibration.bags.bag_frames import BagFrame
from soft_arm_calibration.bags.labels import Label
from soft_arm_training import coco
from soft_arm_vision.clouds.cloud import depth_in_millimetres


def labelled_samples(
    frames: Iterable[BagFrame],
    labels: Mapping[int, Label],
    report: Callable[[], None] = lambda: None,
) -> Iterator[coco.Sample]:
    """Yield the labelled frames of a bag, with the proposed mask where a ring is to be seen.

    A ring without a proposed mask is left out, since it must not be learnt as background.

    Args:
        frames: Of a bag, as `read_frames` gives them.
        labels: By stamp [ns], see `read_labels`.
        report: Called after every frame that was used.
    """
    for frame in frames:
        label = labels.get(frame.stamp_ns)
        if label is not None and label.ring == (label.mask is not None):
            yield sample_of(frame, [] if label.mask is None else [label.mask])
            report()


def sample_of(frame: BagFrame, masks: list[np.ndarray]) -> coco.Sample:
    """Return a frame with the masks (h, w) of its rings."""
    return coco.Sample(
        frame.rgb,
        np.array(masks, bool).reshape(-1, *frame.depth_m.shape),
        np.zeros(len(masks), int),
        depth_in_millimetres(frame.depth_m),
    )
