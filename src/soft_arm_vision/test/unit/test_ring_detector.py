import re
from dataclasses import replace
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import load_rig
from soft_arm_vision.ring.arc_prior import expected_axis
from soft_arm_vision.ring.detector import RingDetector
from soft_arm_vision.ring.overlay import draw_overlay
from soft_arm_vision.segmentation.candidate import Candidate

CENTRE, AXIS = np.array([0.02, -0.01, 0.47]), np.array([0.3, 1, 0.2])

SENSOR, _ = sensor_of(load_rig('virtual'))


def detector_of(ring, segmenter=None, seed=0):
    return RingDetector(ring, segmenter, SENSOR, seed)


def detect(detector, frame, **changed):
    frame = {'colour': frame.colour, 'depth': frame.depth, 'intrinsics': frame.intrinsics} | changed
    return detector.detect(frame['colour'], frame['depth'], frame['intrinsics'])


def axis_error_deg(fit, frame):
    return np.degrees(np.arccos(min(1.0, abs(fit.axis @ frame.axis))))


@pytest.fixture(scope='module')
def study(render_ring, ring):
    """Errors of 40 rings under the D435i's noise: centre [m], axis [deg], normalised, warm."""
    rng, rows = np.random.default_rng(11), []
    for seed in range(20):
        z = rng.uniform(0.35, 0.6)
        centre = np.array([rng.uniform(-0.3, 0.3) * z, rng.uniform(-0.2, 0.2) * z, z])
        bend, lean = np.deg2rad(rng.uniform(-120, 120)), np.deg2rad(rng.normal(0, 20))
        axis = np.array([np.sin(bend) * np.cos(lean), np.cos(bend) * np.cos(lean), np.sin(lean)])
        detector = detector_of(ring, seed=seed)
        for number in range(2):
            frame = render_ring(
                centre + number * np.array([4e-3, -3e-3, 2e-3]), axis, seed=2 * seed + number
            )
            detection = detect(detector, frame)
            assert detection.fit is not None, detection.reason
            error = detection.fit.centre - frame.centre
            normalised = error @ np.linalg.solve(detection.fit.covariance[:3, :3], error)
            rows.append(
                (
                    np.linalg.norm(error),
                    axis_error_deg(detection.fit, frame),
                    normalised,
                    detection.warm,
                )
            )
    return np.array(rows)


def test_centre_is_found(study):
    assert study[:, 0].mean() < 0.25e-3
    assert np.percentile(study[:, 0], 95) < 0.6e-3


def test_axis_is_found(study):
    assert study[:, 1].mean() < 0.2


def test_covariance_is_honest(study):
    # Three degrees of freedom: 3 if it were exact. The edges here are sharper than a camera's.
    assert 0.6 < study[:, 2].mean() < 4.0


def test_second_frame_starts_from_the_first(study):
    assert study[1::2, 3].mean() > 0.9 and not study[::2, 3].any()


def test_metres_and_millimetres_give_the_same(render_ring, ring):
    frame = render_ring(CENTRE, AXIS)
    first = detect(detector_of(ring), frame).fit
    second = detect(detector_of(ring), frame, depth=(frame.depth / 1000).astype(np.float32)).fit
    # Rounding moves a few points to the next voxel.
    np.testing.assert_allclose(first.centre, second.centre, atol=5e-5)


def test_nan_and_holes_are_survived(render_ring, ring):
    frame = render_ring(CENTRE, AXIS)
    depth = (frame.depth / 1000).astype(np.float32)
    depth[np.random.default_rng(0).random(depth.shape) < 0.05] = np.nan
    fit = detect(detector_of(ring), frame, depth=depth).fit
    assert np.linalg.norm(fit.centre - CENTRE) < 1e-3


def test_half_hidden_ring_is_right_and_less_sure(render_ring, ring):
    seen, hidden = render_ring(CENTRE, AXIS), render_ring(CENTRE, AXIS, occluder=(330, 420))
    assert hidden.visible.sum() < 0.7 * seen.visible.sum()
    full, part = detect(detector_of(ring), seen).fit, detect(detector_of(ring), hidden).fit
    assert np.trace(part.covariance[:3, :3]) > 1.5 * np.trace(full.covariance[:3, :3])
    error = part.centre - CENTRE
    assert error @ np.linalg.solve(part.covariance[:3, :3], error) < 16


@pytest.mark.parametrize(
    ('fault', 'reason'),
    [
        ('no ring', 'no ring in view'),
        ('covered', 'no ring in view'),
        ('no depth', 'no ring in view'),
        ('wrong size', 'differ in size'),
        ('flat board', 'best candidate rejected: |no ring in view'),
    ],
)
def test_faults_have_a_reason_and_no_pose(render_ring, ring, fault, reason):
    frame = render_ring(CENTRE, AXIS, ring_present=fault in ('covered', 'no depth', 'wrong size'))
    changed = {}
    if fault == 'covered':
        changed = {'colour': np.zeros_like(frame.colour), 'depth': np.zeros_like(frame.depth)}
    elif fault == 'no depth':
        changed = {'depth': np.zeros_like(frame.depth)}
    elif fault == 'wrong size':
        changed = {'depth': frame.depth[::2, ::2]}
    elif fault == 'flat board':
        colour, depth = frame.colour.copy(), frame.depth.copy()
        colour[200:230, 260:370], depth[200:230, 260:370] = (255, 115, 13), 470
        changed = {'colour': colour, 'depth': depth}

    detection = detect(detector_of(ring), frame, **changed)
    assert detection.fit is None
    assert re.search(reason, detection.reason), detection.reason


def test_reason_says_what_is_wrong_with_the_best_candidate(render_ring, ring):
    frame = render_ring(CENTRE, AXIS, ring=ring.model_copy(update={'height_m': 0.06}), arm=False)
    reason = detect(detector_of(ring), frame).reason
    assert re.match(r'best candidate rejected: \d+ % of what a ring would show is there', reason)


@pytest.mark.parametrize(
    ('part', 'kind', 'reason'),
    [
        ('colour', np.float32, 'colour is of float32, but 8-bit RGB'),
        ('colour', np.uint16, 'colour is of uint16'),
        ('depth', np.uint8, 'depth is of uint8, but 16-bit'),
        ('depth', np.int32, 'depth is of int32'),
    ],
)
def test_images_of_another_kind_are_named(render_ring, ring, part, kind, reason):
    frame, detector = render_ring(CENTRE, AXIS), detector_of(ring)
    detection = detect(detector, frame, **{part: getattr(frame, part).astype(kind)})
    assert detection.fit is None and reason in detection.reason
    assert detect(detector, frame).fit is not None


def test_recovers_after_a_loss(render_ring, ring):
    detector = detector_of(ring)
    assert detect(detector, render_ring(CENTRE, AXIS)).fit is not None
    assert detect(detector, render_ring(CENTRE, AXIS, ring_present=False)).fit is None
    elsewhere = render_ring(CENTRE + [-0.12, 0.06, 0.05], [1, 0.3, -0.2], seed=5)
    found = detect(detector, elsewhere).fit
    assert np.linalg.norm(found.centre - elsewhere.centre) < 1e-3
    assert axis_error_deg(found, elsewhere) < 1


@pytest.mark.parametrize('sign', [1, -1])
def test_sign_follows_the_hint_and_then_the_previous_pose(render_ring, ring, sign):
    frame, detector = render_ring(CENTRE, AXIS), detector_of(ring)
    first = detector.detect(
        frame.colour, frame.depth, frame.intrinsics, lambda _: sign * frame.axis
    ).fit
    second = detector.detect(
        frame.colour, frame.depth, frame.intrinsics, lambda _: -sign * frame.axis
    ).fit
    assert sign * first.axis @ frame.axis > 0.99
    assert sign * second.axis @ frame.axis > 0.99


@pytest.mark.parametrize('bend_deg', range(0, 121, 10))
def test_arc_tells_the_ends_apart(bend_deg):
    straight_m, arc_m, bend = 0.07, 0.13, np.deg2rad(bend_deg)
    radius_m = arc_m / max(bend, 1e-9)
    tip = np.array([radius_m * (1 - np.cos(bend)), 0, straight_m + radius_m * np.sin(bend)])
    T_base_camera = np.array([[0, 0, 1, 0.1], [1, 0, 0, -0.4], [0, 1, 0, 0.2], [0, 0, 0, 1.0]])
    centre = T_base_camera[:3, :3].T @ (tip - T_base_camera[:3, 3])
    assert (
        T_base_camera[:3, :3]
        @ expected_axis(centre, T_base_camera)
        @ [np.sin(bend), 0, np.cos(bend)]
        > 0.5
    )


def test_overlay_marks_the_ring(render_ring, ring):
    frame = render_ring(CENTRE, AXIS)
    detection = detect(detector_of(ring), frame)
    changed = np.any(
        draw_overlay(frame.colour, detection, ring, frame.intrinsics) != frame.colour, axis=2
    )
    rows, columns = np.nonzero(changed)
    assert abs(rows.mean() - (240 + 607.3 * CENTRE[1] / CENTRE[2])) < 40
    assert abs(columns.mean() - (320 + 607.3 * CENTRE[0] / CENTRE[2])) < 40


def test_overlay_lies_where_the_lens_shows_the_ring(render_ring, ring):
    lens = replace(render_ring(CENTRE, AXIS).intrinsics, distortion=(-0.11, 0.0, 0.0, 0.0, 0.0))
    frame = render_ring([0.17, 0.11, 0.45], AXIS, intrinsics=lens, arm=False)
    detection = detect(detector_of(ring), frame)
    picture = draw_overlay(frame.colour, detection, ring, lens)
    rims = np.argwhere(picture[..., 2].astype(int) > picture[..., 0] + 60)[:, ::-1]
    borders = np.argwhere(
        cv2.morphologyEx(frame.visible.astype(np.uint8), cv2.MORPH_GRADIENT, np.ones((3, 3))) > 0
    )[:, ::-1]
    assert len(rims) > 20
    outermost = [rims[:, 0].max(), rims[:, 1].max()], [borders[:, 0].max(), borders[:, 1].max()]
    np.testing.assert_allclose(*outermost, atol=3)


@pytest.mark.parametrize('mask_bias_px', [-1, 0, 1])
@pytest.mark.parametrize('axis', [[0.3, 1, 0.2], [1, 0.2, 0.6], [0.2, 1, -1.2]])
def test_mask_too_fat_or_too_thin_all_round_does_not_move_the_ring(
    render_ring, ring, axis, mask_bias_px
):
    frame = render_ring([0.02, -0.01, 0.57], axis, arm=False)
    square, mask = np.ones((3, 3), np.uint8), frame.visible.astype(np.uint8)
    mask = (
        mask if mask_bias_px == 0 else (cv2.dilate if mask_bias_px > 0 else cv2.erode)(mask, square)
    )
    segmenter = SimpleNamespace(segment=lambda *_: [Candidate(mask > 0, 0, 0, 1.0)])
    found = detect(detector_of(ring, segmenter), frame)
    assert found.fit is not None, found.reason
    assert np.linalg.norm(found.fit.centre - frame.centre) < 0.8e-3


def test_refused_candidate_never_hides_the_next(render_ring, ring):
    frame = render_ring(CENTRE, AXIS)
    colour, depth = frame.colour.copy(), frame.depth.copy()
    board = np.zeros(depth.shape, bool)
    board[20:110, 20:180] = True
    colour[board], depth[board] = (255, 115, 13), 470
    candidates = [Candidate(board, 0, 0, 0.9), Candidate(frame.visible, 0, 0, 0.1)]
    found = detect(
        detector_of(ring, SimpleNamespace(segment=lambda *_: candidates)),
        frame,
        colour=colour,
        depth=depth,
    )
    assert found.fit is not None and np.linalg.norm(found.fit.centre - frame.centre) < 1e-3


def test_unknown_offset_of_depth_enters_the_covariance(render_ring, ring):
    frame = render_ring(CENTRE, AXIS)
    vague = SENSOR.model_copy(update={'bias_sd_m': 2e-3})
    sure, unsure = (
        detect(RingDetector(ring, None, sensor), frame).fit.covariance[2, 2]
        for sensor in (SENSOR, vague)
    )
    assert unsure > 2 * sure and unsure < (2.2e-3) ** 2
