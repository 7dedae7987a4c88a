"""Make labelled samples from a recorded bag, to train on your own camera, arm and light."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from soft_arm_calibration.bags.bag_frames import BagFrame
from soft_arm_calibration.bags.labels import Label
from soft_arm_training import coco
from soft_arm_vision.clouds.cloud import depth_in_millimetres
from soft_arm_vision.ring.detector import RingDetector


def bag_samples(
    frames: Iterable[BagFrame],
    detector: RingDetector | None,
    every: int = 1,
    report: Callable[[], None] = lambda: None,
) -> Iterator[coco.Sample]:
    """Yield every n-th frame of a bag with the ring's mask as the detector sees it.

    A mask is a proposal, only as good as the detector; but masks to which the ring's pose could be
    fitted are rarely wrong. Frames without a pose are left out, since a ring that the detector
    missed must not be learnt as background.

    Args:
        frames: Of a bag, as `read_frames` gives them.
        detector: Proposes masks of class 0. If None, all frames are yielded without masks, to be
            labelled by hand.
        every: Use every n-th frame; 1 uses all.
        report: Called after every frame that was used.
    """
    for number, frame in enumerate(frames):
        if number % every:
            continue
        shape, masks = frame.depth_m.shape, []
        if detector is not None:
            detection = detector.detect(frame.rgb, frame.depth_m, frame.intrinsics)
            if detection.fit is not None and detection.candidate is not None:
                masks.append(np.zeros(shape, bool))
                masks[0][detection.candidate.window] = detection.candidate.mask
        report()
        if masks or detector is None:
            yield _sample(frame, masks)


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
            yield _sample(frame, [] if label.mask is None else [label.mask])
            report()


def _sample(frame: BagFrame, masks: list[np.ndarray]) -> coco.Sample:
    return coco.Sample(
        frame.rgb,
        np.array(masks, bool).reshape(-1, *frame.depth_m.shape),
        np.zeros(len(masks), int),
        depth_in_millimetres(frame.depth_m),
    )
