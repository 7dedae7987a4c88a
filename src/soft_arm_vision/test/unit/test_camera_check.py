"""Errors of a camera that only the known size of the ring betrays."""

from dataclasses import replace
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from soft_arm_description.depth_sensor import D435I
from soft_arm_description.robot import load_robot
from soft_arm_vision.calibration import camera_monitor
from soft_arm_vision.calibration.camera_check import (
    CameraCheck,
    RingView,
    camera_errors,
    trouble,
)
from soft_arm_vision.calibration.camera_correction import NO_CORRECTION, CameraCorrection
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.outline import Outline
from soft_arm_vision.ring.overlay import rim_points
from soft_arm_vision.ring.ray_cylinder import ring_depths

RING = load_robot('two_module_arm').ring
FOCAL_PX, CELL_PX = 607.0, 2
SENSOR = D435I.model_copy(update={'correlation_px': 0.5, 'bias_sd_m': 2e-4, 'fattening_px': 0.0})
FATTENING = SENSOR.model_copy(update={'fattening_px': D435I.fattening_px})


def view(rng: np.random.Generator) -> RingView:
    """One ring as a camera without errors sees it, with the noise of depth and of edges."""
    centre = np.array([*rng.uniform(-0.12, 0.12, 2), rng.uniform(0.4, 0.6)])
    axis = np.array([*rng.uniform(-0.6, 0.6, 2), 0.0])
    axis = np.array([axis[0], 1.0, axis[1]]) / np.hypot(1.0, np.linalg.norm(axis))
    u, v = np.meshgrid(*[np.arange(-90, 91, CELL_PX) / FOCAL_PX] * 2)
    rays = np.column_stack([u.ravel(), v.ravel()]) + centre[:2] / centre[2]
    depth_m = ring_depths(rays, centre, axis, RING)
    seen = np.isfinite(depth_m)
    rays, depth_m = rays[seen], depth_m[seen]
    depth_m = depth_m + SENSOR.sigma_m(depth_m) * rng.standard_normal(len(depth_m))
    ends = [centre + k * RING.height_m * axis for k in (-0.5, 0.5)]
    rims = np.concatenate([rim_points(end, axis, RING.radius_m) for end in ends])
    hull = cv2.convexHull((rims[:, :2] / rims[:, 2:]).astype(np.float32))[:, 0].astype(float)
    after = np.roll(hull, -1, axis=0)
    share = np.linspace(0, 1, 20, endpoint=False)[:, None, None]
    edges = (hull + share * (after - hull)).reshape(-1, 2)[::4]
    edges += rng.normal(0, 0.2 / FOCAL_PX, edges.shape)
    pixel = 1 / FOCAL_PX
    outline = Outline(edges, np.zeros(len(edges), bool), pixel)
    return RingView(
        np.column_stack([rays, np.ones(len(rays))]) * depth_m[:, None], outline, centre, axis
    )


def spoilt(true: RingView, correction: CameraCorrection) -> RingView:
    """The same ring as a camera states it that this correction makes right again."""
    k = Intrinsics(640, 480, FOCAL_PX, FOCAL_PX, 320.0, 240.0)
    camera = replace(
        k, fx=k.fx / correction.focal_length_scale, fy=k.fy / correction.focal_length_scale
    )
    seen_by = correction.intrinsics(camera)  # the true camera

    def stated(rays: np.ndarray) -> np.ndarray:
        return camera.rays(seen_by.pixels(rays))

    depth_m = true.points[:, 2] / correction.depth_scale
    rays = stated(true.points[:, :2] / true.points[:, 2:])
    points = np.column_stack([rays, np.ones(len(rays))]) * depth_m[:, None]
    edges = true.outline
    return RingView(
        points,
        Outline(stated(edges.rays), edges.arm_adjacent, edges.pixel),
        true.centre / correction.depth_scale,
        true.axis,
    )


def views(seed: int, correction: CameraCorrection, count: int = 40) -> list[RingView]:
    """Many poses of the ring."""
    rng = np.random.default_rng(seed)
    return [spoilt(view(rng), correction) for _ in range(count)]


@settings(max_examples=4, deadline=None)
@example(seed=0, cause='depth_scale', error=0.03)
@given(
    seed=st.integers(0, 2**32 - 1),
    cause=st.sampled_from(['depth_scale', 'focal_length_scale']),
    error=st.sampled_from([-0.03, -0.01, 0.01, 0.03]),
)
def test_a_wrong_scale_or_focal_length_is_named_and_corrected(seed, cause, error):
    correction = NO_CORRECTION.model_copy(update={cause: 1 + error})
    errors = camera_errors(views(seed, correction), RING, SENSOR)
    likeliest, *others = errors.explanations()
    found = likeliest.correction
    assert not others
    assert getattr(found, cause) == pytest.approx(1 + error, abs=2e-3)
    for other in {'depth_scale', 'focal_length_scale', 'radial'} - {cause}:
        assert getattr(found, other) == getattr(NO_CORRECTION, other)
    word = {'depth_scale': 'depth is stated', 'focal_length_scale': 'the focal length is stated'}
    assert trouble(errors).startswith(word[cause])
    assert 'camera-check' in trouble(errors)


@pytest.mark.parametrize(('cause', 'index'), [('depth_scale', 0), ('focal_length_scale', 1)])
def test_what_is_named_and_what_may_stay_unseen(cause, index):
    unseen = camera_errors(views(7, NO_CORRECTION), RING, FATTENING).unseen[index]
    assert 0.005 < unseen < 0.02
    for size, named in ((0.1 * unseen, False), (1.05 * unseen, True), (-1.05 * unseen, True)):
        seen = views(7, NO_CORRECTION.model_copy(update={cause: 1 + size}))
        (likeliest, *_) = camera_errors(seen, RING, FATTENING).explanations()
        assert likeliest.values.any() == named


def flattened(true: RingView, share: float) -> RingView:
    """The same ring with so much less relief in depth, as block matching makes it."""
    z = true.points[:, 2:]
    return replace(true, points=true.points * (1 - share * (z - z.min()) / z))


def test_a_camera_whose_depth_reaches_past_edges_may_bend_the_relief():
    seen = [flattened(v, 0.02) for v in views(12, NO_CORRECTION)]
    assert ' and the focal length' in trouble(camera_errors(seen, RING, SENSOR))
    assert trouble(camera_errors(seen, RING, FATTENING)) is None


@pytest.mark.parametrize('cause', ['depth_scale', 'focal_length_scale'])
def test_its_depth_and_focal_length_are_not_told_apart(cause):
    seen = views(13, NO_CORRECTION.model_copy(update={cause: 1.01}))
    said = trouble(camera_errors(seen, RING, FATTENING))
    assert 'depth is stated' in said and 'the focal length is stated' in said and ', or ' in said


def test_a_lens_that_bends_more_than_its_model_says_is_named_and_corrected():
    correction = CameraCorrection(depth_scale=1.0, focal_length_scale=1.0, radial=0.1)
    errors = camera_errors(views(11, correction), RING, SENSOR)
    assert errors.explanations()[0].correction.radial == pytest.approx(0.1, abs=0.02)
    assert trouble(errors).startswith('the lens model lacks a radial distortion of +0.')


def test_a_right_camera_is_right_and_its_uncertainty_is_believable():
    normalised = []
    for seed in range(4):
        errors = camera_errors(views(100 + seed, NO_CORRECTION), RING, SENSOR)
        assert trouble(errors) is None
        assert str(errors.explanations()[0]).endswith('agree with the ring')
        normalised.append(errors.values[0] / np.sqrt(errors.covariance[0, 0]))
    assert np.sqrt(np.mean(np.square(normalised))) < 3


def test_one_step_finds_nearly_as_much_as_many():
    correction = NO_CORRECTION.model_copy(update={'depth_scale': 1.01})
    check = CameraCheck(RING, SENSOR)
    for seen in views(5, correction):
        check.add(seen)
    assert check.errors().values[0] == pytest.approx(0.01, abs=3e-3)


def test_too_few_views_and_empty_ones_are_refused():
    check = CameraCheck(RING, SENSOR)
    rng = np.random.default_rng(3)
    for _ in range(10):
        check.add(view(rng))
    good = view(rng)
    check.add(replace(good, centre=good.centre + 1.0))  # nothing of it is where the ring is
    assert check.views == 10
    with pytest.raises(VisionError, match='seen in 10 poses, 30 are needed'):
        check.errors()


def test_the_corrected_lens_undoes_what_the_stated_one_lacks():
    stated = Intrinsics(640, 480, 607.0, 606.0, 321.0, 240.0, (-0.05, 0.01, 1e-3, 0.0, 0.0))
    correction = CameraCorrection(depth_scale=1.0, focal_length_scale=1.01, radial=0.02)
    true = correction.intrinsics(stated)
    pixels = np.array([[320.0, 240.0], [30.0, 400.0], [600.0, 90.0]])
    rays = stated.rays(pixels)
    expected = rays * (1 + 0.02 * np.square(rays).sum(axis=1))[:, None] / 1.01
    assert np.abs(true.rays(pixels) - expected).max() < 4e-4
    assert NO_CORRECTION.intrinsics(stated) == stated


def test_a_ring_at_rest_and_back_again_gives_one_view():
    """Views of one pose share their errors: thirty of them are no certainty."""
    rng, views = np.random.default_rng(9), camera_monitor.RingViews()

    def seen(centre_m):
        axis = np.array([0.0, 1.0, 0.0]) + rng.normal(0, 0.02, 3)
        fit = SimpleNamespace(
            centre=np.array(centre_m) + rng.normal(0, 2e-4, 3), axis=axis / np.linalg.norm(axis)
        )
        return views.view(SimpleNamespace(fit=fit, points='points', outline='edges')) is not None

    there, elsewhere = [0.0, 0.0, 0.5], [0.0, 0.02, 0.5]
    assert sum(seen(there) for _ in range(50)) == 1
    assert seen(elsewhere)
    assert not any(seen(there) for _ in range(10))
