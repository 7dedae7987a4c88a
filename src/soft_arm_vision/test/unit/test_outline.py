import numpy as np

from soft_arm_vision.ring.outline import Outline, mask_edges, outline_residual


def outline_of(frame):
    edges, arm_adjacent = mask_edges(frame.visible, frame.depth)
    return Outline(frame.intrinsics.rays(edges), arm_adjacent, 1 / frame.intrinsics.fx)


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
    edges, arm_adjacent = mask_edges(mask, depth_m)
    assert set(edges[:, 0]) >= {7.5, 27.5} and set(edges[:, 1]) >= {9.5, 19.5}
    assert not arm_adjacent.any()
    depth_m[:, 28:] = 0.4  # something in front hides the right side
    assert 27.5 not in mask_edges(mask, depth_m)[0][:, 0]
    depth_m[:, 28:] = 0.53
    edges, arm_adjacent = mask_edges(mask, depth_m)
    assert arm_adjacent[edges[:, 0] == 27.5].all() and not arm_adjacent[edges[:, 0] == 7.5].any()
