import cv2
import numpy as np
import pytest

from soft_arm_description.depth_sensor import D435I
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring import outline as ring_outline
from soft_arm_vision.ring.outline import Outline, colour_edges, mask_edges, outline_residual
from soft_arm_vision.segmentation.candidate import Candidate

RADIUS_M = 0.0225


def outline_of(frame):
    edges, step_m = mask_edges(frame.visible, frame.depth, RADIUS_M)
    return Outline(frame.intrinsics.rays(edges), step_m < 0.1, 1 / frame.intrinsics.fx)


def shape(ring):
    return ring.radius_m, ring.height_m, ring.thickness_m


def test_true_pose_explains_the_edges(render_ring, ring):
    for axis in ([0.1, 1, 0.0], [0.3, 1, 0.5], [-0.5, -1, 0.4], [1, 0.2, -0.4]):
        frame = render_ring([0.03, -0.02, 0.45], axis, noise=0)
        outline = outline_of(frame)
        pixels = (
            outline_residual(outline, frame.centre, frame.axis, *shape(ring)).distance
            / outline.pixel
        )
        assert np.mean(np.abs(pixels) < 1.0) > 0.93, axis
        assert abs(np.mean(pixels[np.abs(pixels) < 1.0])) < 0.08, axis


def test_edges_point_back_when_the_ring_moves(render_ring, ring):
    frame = render_ring([0, 0, 0.45], [0.2, 1, 0.1], noise=0)
    outline = outline_of(frame)
    for move in np.eye(3) * 1e-3:
        residual = outline_residual(outline, frame.centre - move, frame.axis, *shape(ring))
        good = np.abs(residual.distance) < 4 * outline.pixel
        explained = residual.gradient[good] @ move
        moved = residual.distance[good]
        assert np.corrcoef(explained, moved)[0, 1] > (0.9 if move[2] == 0 else 0.2)


def test_gradient_is_the_derivative(ring):
    rays = np.array([[0.12, 0.0], [-0.11, 0.01], [0.02, 0.045], [0.03, -0.05]])
    outline = Outline(rays, np.zeros(4, bool), 1 / 600)
    centre = np.array([0.01, 0.0, 0.45])
    axis = np.array([0.2, 0.95, 0.1])
    axis /= np.linalg.norm(axis)
    at = outline_residual(outline, centre, axis, *shape(ring))
    for step in np.eye(3) * 1e-5:
        after = outline_residual(outline, centre + step, axis, *shape(ring))
        before = outline_residual(outline, centre - step, axis, *shape(ring))
        np.testing.assert_allclose(
            (before.distance - after.distance) / 2e-5,
            at.gradient @ step / 1e-5,
            rtol=0.03,
            atol=0.03,
        )


def test_edges_lie_between_pixels_and_leave_occluders_out():
    mask, depth_m = np.zeros((30, 40), bool), np.full((30, 40), 0.9)
    mask[10:20, 8:28] = True
    depth_m[mask] = 0.5
    edges, step_m = mask_edges(mask, depth_m, RADIUS_M)
    assert set(edges[:, 0]) >= {7.5, 27.5} and set(edges[:, 1]) >= {9.5, 19.5}
    np.testing.assert_allclose(step_m, 0.4)
    depth_m[:, 28:] = 0.4  # something in front hides the right side
    assert 27.5 not in mask_edges(mask, depth_m, RADIUS_M)[0][:, 0]
    depth_m[:, 28:] = 0.53
    edges, step_m = mask_edges(mask, depth_m, RADIUS_M)
    np.testing.assert_allclose(step_m[edges[:, 0] == 27.5], 0.03)
    np.testing.assert_allclose(step_m[edges[:, 0] == 7.5], 0.4)


def blurred_disc(ours, theirs, blur_px, gamma=1.0, radius_px=30.3, noise=2.0):
    """A picture (120, 160, 3) of a disc about (80.2, 60.4), and its distance inside the edge."""
    v, u = np.mgrid[0:960, 0:1280] / 8 - 7 / 16
    inside = radius_px - np.hypot(u - 80.2, v - 60.4)
    share = cv2.GaussianBlur((inside > 0).astype(float), (0, 0), 8 * blur_px)
    share = cv2.resize(share, (160, 120), interpolation=cv2.INTER_AREA)[..., None]
    ours, theirs = (255 * (np.divide(colour, 255)) ** gamma for colour in (ours, theirs))
    picture = 255 * ((share * ours + (1 - share) * theirs) / 255) ** (1 / gamma)
    picture += np.random.default_rng(0).normal(0, noise, picture.shape)
    return np.clip(picture, 0, 255).astype(np.uint8), inside[::8, ::8]


@pytest.mark.parametrize('theirs', [(20, 20, 25), (240, 240, 250), (60, 130, 60)])
@pytest.mark.parametrize('blur_px', [0.5, 1.5])
@pytest.mark.parametrize('off_px', [-1.5, 1.0])
@pytest.mark.parametrize('gamma', [1.0, 2.2])
def test_edges_lie_where_the_light_is_half_that_of_either_side(theirs, blur_px, off_px, gamma):
    """However bright the background is, and however the mask was drawn."""
    sensor = D435I.model_copy(update={'pixel_gamma': gamma})
    picture, inside = blurred_disc((230, 110, 20), theirs, blur_px, gamma)
    mask = inside > -off_px
    edges, _ = mask_edges(mask, np.full(mask.shape, 0.5), RADIUS_M)
    moved, seen = colour_edges(edges, mask, picture, sensor)
    off = np.hypot(*(moved[seen] - (80.2, 60.4)).T) - 30.3
    assert seen.mean() > 0.95
    assert abs(off.mean()) < 0.12 and off.std() < 0.15


def test_an_edge_before_its_own_colour_is_not_seen():
    picture, inside = blurred_disc((230, 110, 20), (225, 112, 24), 1.0)
    mask = inside > 0
    edges, _ = mask_edges(mask, np.full(mask.shape, 0.5), RADIUS_M)
    assert not colour_edges(edges, mask, picture, D435I)[1].any()


@pytest.mark.parametrize('beyond_m', [0.0, 0.3])
def test_a_piece_of_a_longer_thing_is_cut_where_nothing_changes(beyond_m):
    """A mask that ends in the middle of a bar; or at a bar of its colour far behind."""
    colour, depth_m = np.full((60, 80, 3), 90, np.uint8), np.full((60, 80), 0.9)
    colour[20:40, 10:70], depth_m[20:40, 10:70] = (230, 110, 20), 0.5
    depth_m[20:40, 40:70] += beyond_m
    mask = np.zeros((60, 80), bool)
    mask[20:40, 10:40] = True
    outline = ring_outline.outline_of(
        Candidate(mask, 0, 0, 1.0),
        colour,
        depth_m,
        Intrinsics(80, 60, 100.0, 100.0, 40.0, 30.0),
        RADIUS_M,
        D435I,
    )
    right = 20 / (2 * 20 + 2 * 30)  # of the edge points of rows and columns
    assert outline.seen_share == pytest.approx(1 - right, abs=0.05)
    assert outline.cut_share == pytest.approx(right if beyond_m == 0 else 0.0, abs=0.05)
