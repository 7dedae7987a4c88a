"""Detections of a network in labelled images, with their depth evidence and their truth."""

from collections.abc import Iterable, Iterator

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_experiments.vision.accuracy import MIN_VISIBLE_SHARE, candidate_overlap
from soft_arm_experiments.vision.coco import Sample
from soft_arm_vision.clouds.cloud import depth_in_metres
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.pose_hypothesis import PoseHypothesis, find_pose_hypothesis
from soft_arm_vision.segmentation.candidate import Candidate
from soft_arm_vision.segmentation.yolact.exported import ExportedYolact
from soft_arm_vision.segmentation.yolact_segmenter import MAX_DETECTIONS

# Overlap of a detection's mask, or of its refinement, with the ring's mask from which it is the
# ring. A detection with less, but some, overlap is left out.
OF_RING_IOU = 0.3


def labelled_detections(
    network: ExportedYolact,
    ring: Ring,
    samples: Iterable[Sample],
    intrinsics: Intrinsics,
    min_score: float,
) -> Iterator[tuple[float, PoseHypothesis, bool]]:
    """Yield score, pose hypothesis and whether it is the ring, of each detection with a hypothesis.

    Args:
        network: Of one class.
        ring: Its size.
        samples: Images with depth and `visible_share`; those whose ring is mostly occluded are left
            out.
        intrinsics: Of the pictures.
        min_score: Of a candidate.
    """
    for sample in samples:
        if sample.depth is None or sample.visible_share is None:
            continue
        if len(sample.masks) and sample.visible_share[0] < MIN_VISIBLE_SHARE:
            continue
        depth_m = depth_in_metres(sample.depth)
        found, prototypes = network.detect(sample.rgb, depth_m, min_score)
        for i in range(min(len(found.scores), MAX_DETECTIONS)):
            candidate = Candidate(
                *network.mask(found, prototypes, i, depth_m.shape), float(found.scores[i])
            )
            hypothesis = (
                find_pose_hypothesis(
                    candidate, sample.rgb, depth_m, intrinsics, ring, np.random.default_rng(0)
                )
                if candidate.mask.any()
                else None
            )
            overlap = (
                0.0
                if hypothesis is None or not len(sample.masks)
                else _overlap(sample.masks[0], candidate, hypothesis)
            )
            if hypothesis is not None and not 0 < overlap < OF_RING_IOU:
                yield candidate.score, hypothesis, overlap > 0


def _overlap(truth: np.ndarray, candidate: Candidate, hypothesis: PoseHypothesis) -> float:
    drawn = Candidate(hypothesis.mask, hypothesis.row, hypothesis.column, candidate.score)
    return max(candidate_overlap(one, truth) for one in (candidate, drawn))
