"""Every tolerance between a mask and the ring's pose."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerances:
    """Limits of the ring detector, with unit and reason.

    Lengths are shares of the ring's size, angles, or pixels where the pixel grid is the cause. What
    changes with each of them: docs/explanation/ring_ablations.md.

    Attributes:
        border_px: Distance from a mask's edge within which depth mixes ring and background; depth
            on both sides of an edge is read at twice this distance.
        cell_px: Side of the cells whose depths are averaged; noise is correlated over a few pixels.
        margin_px: Margin of a window around a mask; at the image's edge a mask has no border.
        jump: Step of depth, in ring radii, between two objects; a ring seen at 80 deg has less
            within three pixels.
        min_points: Cells of depth that a pose needs.
        outlier_sigmas: Residual of depth from which a point is an outlier (Tukey's biweight is 95 %
            efficient at 4.7).
        min_incidence: Cosine of incidence below which depth belongs to the background.
        patch_points: Points whose plane gives the normal of a point for RANSAC.
        arm_gap: Step of depth behind an edge, in ring radii, up to which the arm is seen there.
        edge_inside_px: Usual distance of the edge of a mask drawn by depth inside the true edge.
        edge_reach_px: Distance to either side of a mask's edge within which colours are compared;
            larger than the blur of a camera.
        edge_change: Least change of colour at an edge, of 255; three times the noise of pixels.
        refinements: Masks drawn for one start, each around the last pose, and comparisons of
            colours at the edges of each.
        edge_cuts_px: Residual of an edge point from which it is an outlier, in the first and in all
            other steps of the fit.
        edge_rad: Usual standard deviation of an edge point beyond the calibrated one, by background
            and shading: on the other rim, on the rim whose inside is seen, and on the sides. Each
            piece of the contour of each frame has its own, estimated from its edge points, for
            which the usual one counts as one more independent point.
        edge_offset_share: Standard deviation of the offset of a piece of the contour, divided by
            the standard deviation of its edge points.
        inside_offset_rad: Additional standard deviation of the offset of the rim whose inside is
            seen.
        edge_correlation_rad: Correlation length of the errors of edge points.
        min_edges: Edge points that a pose needs.
        max_steps: Gauss-Newton steps of the fit.
        still: Step at which the fit has converged [ring radii, rad].
        edge_on_rad: Elevation of the camera above the ring's middle plane below which the mirrored
            pose looks the same.
        certain_share: Share of the ring's radius at its silhouette, and of its height at each end,
            where a ray may miss the ring because the pose is slightly wrong.
        beyond: Height, in ring heights, from which the wall of a longer cylinder is seen; it is
            sought up to twice this height.
        whole_share: Visible share of the ring's rays that is as good as all.
        min_score: Verification score of a ring, and twice that of a start.
        clear_score: Verification score from which no other candidate is considered.
        max_sigma_m: Standard deviation of the centre of a pose that a controller can use [m].
        max_mask_sigma_m: The same for a mask without a pose [m].
        tracked_frames: Age of the last pose from which it is no start [frames].
    """

    border_px: int = 2
    cell_px: int = 2
    margin_px: int = 7
    jump: float = 0.5
    min_points: int = 30
    outlier_sigmas: float = 4.5
    min_incidence: float = 0.2
    patch_points: int = 30
    arm_gap: float = 4.5
    edge_inside_px: float = 0.5
    edge_reach_px: float = 3.5
    edge_change: float = 12.0
    refinements: int = 2
    edge_cuts_px: tuple[float, float] = (8.0, 3.0)
    edge_rad: tuple[float, float, float] = (0.3e-3, 0.75e-3, 0.5e-3)
    edge_offset_share: float = 0.5
    inside_offset_rad: float = 0.5e-3
    edge_correlation_rad: float = 0.012
    min_edges: int = 12
    max_steps: int = 15
    still: float = 1e-3
    edge_on_rad: float = 0.21
    certain_share: float = 0.05
    beyond: float = 1.25
    whole_share: float = 0.25
    min_score: float = 0.4
    clear_score: float = 0.6
    max_sigma_m: float = 1.2e-3
    max_mask_sigma_m: float = 3e-3
    tracked_frames: int = 5


TOLERANCES = Tolerances()
