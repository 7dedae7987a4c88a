"""The noise that the ring's fit takes each piece of the contour to have."""

from dataclasses import replace

import numpy as np

from soft_arm_description.depth_sensor import D435I
from soft_arm_vision.clouds.cloud import back_project_cells
from soft_arm_vision.ring.fit import RingProblem
from soft_arm_vision.ring.outline import OTHER_RIM, Outline, mask_edges, outline_residual

SENSOR = D435I.model_copy(update={'bias_sd_m': 1e-4, 'scale_sd': 3e-4, 'edge_sd_px': 0.2})


def test_edge_points_that_scatter_make_the_pose_less_certain(render_ring, ring):
    frame = render_ring([0.02, -0.01, 0.4], [0.1, 1, -0.8], noise=0)  # its inside is seen
    edges, step_m = mask_edges(frame.visible, frame.depth, ring.radius_m)
    outline = Outline(frame.intrinsics.rays(edges), step_m < 0.1, 1 / frame.intrinsics.fx)
    points = back_project_cells(frame.visible, frame.depth, frame.intrinsics, (0, 0))
    size = ring.radius_m, ring.height_m, ring.thickness_m
    pieces = outline_residual(outline, frame.centre, frame.axis, *size).piece
    scatter_px = np.random.default_rng(3).normal(0.0, 1.0, edges.shape)

    def deviation_m(scattered):
        """Standard deviation of the centre in its worst direction."""
        rays = outline.rays + outline.pixel * scatter_px * scattered[:, None]
        problem = RingProblem(points, replace(outline, rays=rays), ring, SENSOR)
        covariance = problem.solve(frame.centre, frame.axis).covariance
        return np.sqrt(np.linalg.eigvalsh(covariance[:3, :3])[-1])

    none_m, rim_m, all_m = map(deviation_m, (pieces < 0, pieces == OTHER_RIM, pieces >= 0))
    assert 1.1 * none_m < rim_m < all_m and all_m > 1.5 * none_m
