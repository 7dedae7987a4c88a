"""Masks, poses and speed on held-out scenes, for `softarm bench vision`."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from itertools import islice
from time import perf_counter

import numpy as np
from tqdm import tqdm

from soft_arm_benchmarks.vision.cramer_rao import centre_bound_m
from soft_arm_calibration.bags.accuracy import (
    MATCHING_IOU,
    MIN_VISIBLE_SHARE,
    candidate_overlap,
    pose_errors,
)
from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.robot import Ring, load_robot
from soft_arm_training.coco import Sample
from soft_arm_vision.calibration.camera_correction import NO_CORRECTION
from soft_arm_vision.clouds.cloud import depth_in_metres
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.detector import Detection, RingDetector
from soft_arm_vision.segmentation.candidate import Candidate
from soft_arm_vision.segmentation.segmenter import Segmenter, make_segmenter
from soft_arm_vision.segmentation.yolact.exported import ExportedYolact
from soft_arm_vision.segmentation.yolact_segmenter import YolactSegmenter

RENDERED_AT_ONCE = 50  # frames, 92 MB


def masks_and_poses(options: Namespace, ring: Ring) -> dict:
    """Return the figures by name; the options are frames, seed, tip_source, domain and robot."""
    # Slow to import: OpenGL and MuJoCo.
    from soft_arm_experiments.arm.depth_measurement import measured_sensor
    from soft_arm_experiments.virtual_intrinsics import intrinsics_of
    from soft_arm_sim.cameras.random_scenes import scaled_camera
    from soft_arm_training.synthetic_data import ring_samples

    parameters = scaled_camera(load_robot(options.robot), 1.0, options.domain)
    intrinsics, sensor = intrinsics_of(parameters), measured_sensor(parameters)
    segmenter = make_segmenter(options.tip_source, ring, options.network)
    network = segmenter.network if isinstance(segmenter, YolactSegmenter) else None
    network_overlaps: list[float] = []
    network_false_positives = false_positives = false_poses = 0
    overlaps: list[float] = []
    detections: list[Detection] = []
    poses: list[np.ndarray] = []
    bounds_m: list[float] = []
    latencies_s: list[float] = []
    for share in (0.0, 1.0):
        samples = ring_samples(
            options.robot,
            'held_out',
            options.frames,
            seed=options.seed,
            ringless_share=share,
            first=int(share) * 100_000,
            camera=options.domain,
        )
        name = 'ringless' if share else 'rings'
        quiet = not sys.stderr.isatty()
        bar = iter(
            tqdm(
                samples,
                total=options.frames,
                desc=name,
                unit=' frames',
                file=sys.stderr,
                disable=quiet,
            )
        )
        for sample, detection, latency_s in _timed(bar, ring, segmenter, sensor, intrinsics):
            assert sample.depth is not None and sample.visible_share is not None  # synthetic
            latencies_s.append(latency_s)
            alone = None if network is None else _best_detection(network, sample)
            if share == 1.0:
                false_positives += detection.candidate is not None
                false_poses += detection.fit is not None
                network_false_positives += alone is not None
            elif len(sample.masks) and sample.visible_share[0] >= MIN_VISIBLE_SHARE:
                overlaps.append(
                    0.0
                    if detection.candidate is None
                    else candidate_overlap(detection.candidate, sample.masks[0])
                )
                network_overlaps.append(
                    0.0 if alone is None else candidate_overlap(alone, sample.masks[0])
                )
                detections.append(detection)
                assert sample.T_optical_ring is not None
                poses.append(sample.T_optical_ring)
                depth_m = depth_in_metres(sample.depth)
                bounds_m.append(
                    centre_bound_m(
                        sample.T_optical_ring, sample.masks[0], depth_m, ring, intrinsics, sensor
                    )
                )
    found = np.array(overlaps)
    near = [i for i, T in enumerate(poses) if 0.35 <= T[2, 3] <= 0.6]
    fitted_m = np.array([bounds_m[i] for i in near if detections[i].fit is not None])
    errors = pose_errors([detections[i].fit for i in near], [poses[i] for i in near])
    return {
        'depth_scale_error': 1 / sensor.depth_scale - 1,
        'mask_iou_mean': float(found[found > MATCHING_IOU].mean())
        if (found > MATCHING_IOU).any()
        else None,
        'recall': float((found > MATCHING_IOU).mean()),
        'false_positives': false_positives,
        'false_poses': false_poses,
        **_network_summary(network_overlaps, network_false_positives, network),
        'poses': len(errors.centre_m),
        'pose_share': len(errors.centre_m) / max(len(near), 1),
        **errors.summary(),
        **_beside_bound(errors.centre_m, fitted_m),
        'fps': float(1 / np.mean(latencies_s)),
        'latency_p99_s': float(np.percentile(latencies_s, 99)),
    }


def _timed(
    samples: Iterator[Sample],
    ring: Ring,
    segmenter: Segmenter,
    sensor: DepthSensor,
    intrinsics: Intrinsics,
) -> Iterator[tuple[Sample, Detection, float]]:
    """Yield samples with their detection and its time [s]; rendering does not count.

    The depths are corrected as the frames of a rig are.
    """
    correction = NO_CORRECTION.with_scale_of(sensor)
    while block := list(islice(samples, RENDERED_AT_ONCE)):
        answers = []
        for sample in block:
            assert sample.depth is not None  # synthetic
            depth_m = correction.depth_m(sample.depth)
            detector, begin = RingDetector(ring, segmenter, sensor), perf_counter()
            detection = detector.detect(sample.rgb, depth_m, intrinsics)
            answers.append((sample, detection, perf_counter() - begin))
        yield from answers


def _beside_bound(errors_m: np.ndarray, bounds_m: np.ndarray) -> dict[str, float | None]:
    """Return the RMS Cramer-Rao bound of the same frames, and the ratio of the errors to it."""
    if len(errors_m) == 0:
        return {'centre_cramer_rao_m': None, 'centre_over_cramer_rao': None}
    known = np.isfinite(bounds_m)
    bound_m = float(np.sqrt(np.mean(bounds_m[known] ** 2)))
    return {
        'centre_cramer_rao_m': bound_m,
        'centre_over_cramer_rao': float(np.sqrt(np.mean(errors_m[known] ** 2))) / bound_m,
    }


def _best_detection(network: ExportedYolact, sample: Sample) -> Candidate | None:
    """Return the network's best detection, neither refined nor verified; None without one."""
    assert sample.depth is not None  # synthetic
    found, prototypes = network.detect(sample.rgb, depth_in_metres(sample.depth))
    if not len(found.scores):
        return None
    mask = network.mask(found, prototypes, 0, sample.rgb.shape[:2])
    return Candidate(*mask, float(found.scores[0]))


def _network_summary(
    overlaps: list[float], false_positives: int, network: ExportedYolact | None
) -> dict:
    if network is None:
        return {}
    found = np.array(overlaps)
    matching = found > MATCHING_IOU
    return {
        'network_min_score': network.metadata['min_score'],
        'network_mask_iou_mean': float(found[matching].mean()) if matching.any() else None,
        'network_recall': float(matching.mean()),
        'network_false_positives': false_positives,
    }
