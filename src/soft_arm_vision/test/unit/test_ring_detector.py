import re
from dataclasses import replace
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from soft_arm_vision.clouds.cylinder import Cylinders
from soft_arm_vision.ring.arc_prior import expected_axis
from soft_arm_vision.ring.detector import RingDetector, draw_overlay
from soft_arm_vision.segmentation.candidate import Candidate

CENTRE, AXIS = np.array([0.02, -0.01, 0.47]), np.array([0.3, 1, 0.2])


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
        detector = RingDetector(ring, seed=seed)
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
    # Three degrees of freedom: 3 if it were exact; these masks are better than a network's.
    assert 1.5 < study[:, 2].mean() < 4.0


def test_second_frame_starts_from_the_first(study):
    assert study[1::2, 3].mean() > 0.9 and not study[::2, 3].any()


def test_metres_and_millimetres_give_the_same(render_ring, ring):
    frame = render_ring(CENTRE, AXIS)
    first = detect(RingDetector(ring), frame).fit
    second = detect(RingDetector(ring), frame, depth=(frame.depth / 1000).astype(np.float32)).fit
    # Rounding moves a few points to the next voxel.
    np.testing.assert_allclose(first.centre, second.centre, atol=5e-5)


def test_nan_and_holes_are_survived(render_ring, ring):
    frame = render_ring(CENTRE, AXIS)
    depth = (frame.depth / 1000).astype(np.float32)
    depth[np.random.default_rng(0).random(depth.shape) < 0.05] = np.nan
    fit = detect(RingDetector(ring), frame, depth=depth).fit
    assert np.linalg.norm(fit.centre - CENTRE) < 1e-3


def test_half_hidden_ring_is_right_and_less_sure(render_ring, ring):
    seen, hidden = render_ring(CENTRE, AXIS), render_ring(CENTRE, AXIS, occluder=(330, 420))
    assert hidden.visible.sum() < 0.7 * seen.visible.sum()
    full, part = detect(RingDetector(ring), seen).fit, detect(RingDetector(ring), hidden).fit
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
        ('flat board', 'best candidate rejected: '),
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

    detection = detect(RingDetector(ring), frame, **changed)
    assert detection.fit is None
    assert re.search(reason, detection.reason), detection.reason


def test_reason_says_what_is_wrong_with_the_best_candidate(render_ring, ring):
    frame = render_ring(CENTRE, AXIS, ring=ring.model_copy(update={'height_m': 0.06}), arm=False)
    reason = detect(RingDetector(ring), frame).reason
    assert re.match(
        r"best candidate rejected: wall \d+\.\d mm high, the ring's is 24\.0 mm\. Check the "
        r"ring's colour",
        reason,
    ), reason


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
    frame, detector = render_ring(CENTRE, AXIS), RingDetector(ring)
    detection = detect(detector, frame, **{part: getattr(frame, part).astype(kind)})
    assert detection.fit is None and reason in detection.reason
    assert detect(detector, frame).fit is not None


def test_images_without_pixels_are_named(render_ring, ring):
    nothing = {'colour': np.zeros((0, 0, 3), np.uint8), 'depth': np.zeros((0, 0), np.uint16)}
    assert (
        'differ in size' in detect(RingDetector(ring), render_ring(CENTRE, AXIS), **nothing).reason
    )


def test_recovers_after_a_loss(render_ring, ring):
    detector = RingDetector(ring)
    assert detect(detector, render_ring(CENTRE, AXIS)).fit is not None
    assert detect(detector, render_ring(CENTRE, AXIS, ring_present=False)).fit is None
    elsewhere = render_ring(CENTRE + [-0.12, 0.06, 0.05], [1, 0.3, -0.2], seed=5)
    found = detect(detector, elsewhere).fit
    assert np.linalg.norm(found.centre - elsewhere.centre) < 1e-3
    assert axis_error_deg(found, elsewhere) < 1


@pytest.mark.parametrize('sign', [1, -1])
def test_sign_follows_the_hint_and_then_the_previous_pose(render_ring, ring, sign):
    frame, detector = render_ring(CENTRE, AXIS), RingDetector(ring)
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
    detection = detect(RingDetector(ring), frame)
    changed = np.any(
        draw_overlay(frame.colour, detection, ring, frame.intrinsics) != frame.colour, axis=2
    )
    rows, columns = np.nonzero(changed)
    assert abs(rows.mean() - (240 + 607.3 * CENTRE[1] / CENTRE[2])) < 40
    assert abs(columns.mean() - (320 + 607.3 * CENTRE[0] / CENTRE[2])) < 40


def test_overlay_lies_where_the_lens_shows_the_ring(render_ring, ring):
    lens = replace(render_ring(CENTRE, AXIS).intrinsics, distortion=(-0.11, 0.0, 0.0, 0.0, 0.0))
    frame = render_ring([0.17, 0.11, 0.45], AXIS, intrinsics=lens, arm=False)
    detection = detect(RingDetector(ring), frame)
    picture = draw_overlay(frame.colour, detection, ring, lens)
    rims = np.argwhere(picture[..., 2].astype(int) > picture[..., 0] + 60)[:, ::-1]
    borders = np.argwhere(
        cv2.morphologyEx(frame.visible.astype(np.uint8), cv2.MORPH_GRADIENT, np.ones((3, 3))) > 0
    )[:, ::-1]
    assert len(rims) > 20
    outermost = [rims[:, 0].max(), rims[:, 1].max()], [borders[:, 0].max(), borders[:, 1].max()]
    np.testing.assert_allclose(*outermost, atol=3)


class Told:
    """A segmenter that gives one find, and says where depth shows the ring."""

    def __init__(self, ring, candidate, centre, axis):
        cylinder = Cylinders(
            np.asarray(centre)[None], np.asarray(axis)[None], np.array([ring.radius_m])
        )
        self._instance = replace(candidate, cylinder=cylinder)

    def segment(self, colour, depth_m, intrinsics, last=None):
        return [self._instance]


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
    told = Told(
        ring,
        Candidate(mask > 0, 0, 0, 1.0),
        frame.centre + [0.001, 0.0, -0.002],
        frame.axis + [0.03, 0.0, 0.03],
    )
    found = detect(RingDetector(ring, told), frame)
    assert found.fit is not None, found.reason
    assert np.linalg.norm(found.fit.centre - frame.centre) < 0.8e-3


@pytest.mark.parametrize(
    ('verification_score', 'hidden', 'counts'),
    [(-1.9, False, True), (-1.9, True, False), (2.0, True, True)],
)
def test_doubtful_find_counts_with_a_pose_only(
    render_ring, ring, verification_score, hidden, counts
):
    frame = render_ring(CENTRE, AXIS, occluder=(300, 420) if hidden else None)
    mask = frame.visible & (np.arange(640) < 310) if hidden else frame.visible
    told = Told(
        ring,
        Candidate(mask, 0, 0, 1.0, verification_score=verification_score),
        frame.centre,
        frame.axis,
    )
    found = detect(RingDetector(ring, told), frame)
    assert (found.fit is None) == hidden and (found.candidate is not None) == counts
    assert counts or found.reason == 'no ring in view'


def test_ring_after_a_doubtful_find_without_a_pose_is_found(render_ring, ring):
    frame = render_ring(CENTRE, AXIS)
    sliver = Candidate(frame.visible & (np.arange(640) < 292), 0, 0, 0.9, verification_score=-1.9)
    whole = Candidate(frame.visible, 0, 0, 0.5)
    found = detect(RingDetector(ring, SimpleNamespace(segment=lambda *_: [sliver, whole])), frame)
    assert found.candidate is whole and np.linalg.norm(found.fit.centre - frame.centre) < 1e-3


def test_pose_far_from_where_depth_alone_shows_the_ring_is_refused(render_ring, ring):
    frame = render_ring(CENTRE, AXIS)
    found = detect(RingDetector(ring), frame)
    near = detect(
        RingDetector(ring, Told(ring, found.candidate, frame.centre + [0, 0, 0.002], frame.axis)),
        frame,
    )
    assert near.fit is not None and np.linalg.norm(near.fit.centre - frame.centre) < 1e-3
    far = detect(
        RingDetector(ring, Told(ring, found.candidate, frame.centre + [0, 0, 0.008], frame.axis)),
        frame,
    )
    assert (
        far.fit is None
        and 'mm from where depth alone shows the ring, 5.0 mm are allowed' in far.reason
    )
