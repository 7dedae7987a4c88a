"""Every tolerance of the path from a mask to the ring's pose, each with its unit and reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerances:
    """Limits that follow neither from the ring's size nor from the sensor's model.

    Attributes:
        margin_px: Room around a mask: its border is left out, but not at the image's edge.
        lost_px: Usual distance of the edge of a mask drawn by depth inside the true edge.
        trust_per_px: Log-odds per pixel that a pixel lies on its side of such a mask's edge, which
            is right to about two pixels.
        agree_sigmas: A depth agrees with a surface within so many standard deviations, of which a
            few belong to the pose.
        start_sigmas: The same for the walls that RANSAC looks for.
        cut_sigmas: Residual from which a point has no weight in the fit: Tukey's biweight is 95 %
            efficient there.
        edge_cuts_px: The same for edge points, step by step: a start is off by some pixels.
        edge_rounding_px: Standard deviation of an edge that lies on the pixel grid, 1 / sqrt(12).
        edge_correlation_px: Length over which errors of a mask's edge are alike.
        edge_inflation: Variance of the contour's error over that by which it is weighed: its sides
            err by 0.46 px, each in its own way, where the weights say 0.33 px.
        edge_offset_px: Standard deviation of what all edges err alike: a mask drawn too large.
        arm_edge_px: The same where the arm is beside the edge and neither depth nor colour parts
            the two well.
        min_edges: Edge points that a fit needs.
        min_incidence: Cosine of incidence up to which depth belongs to what is beside the wall.
        edge_on_rad: Elevation of the ring's end below which two poses look alike.
        mirror_rad: Tilts that are tried there at least.
        temper: Costs that count as one between these poses, since the errors of the contour are
            known roughly only.
        settled_m: Movement of the ring's rim by which drawing the mask again is not worth while.
        min_points: Cells of depth from which a pose is tried.
        beyond_share: Height of the wall, over the ring's, from which it goes on past the ends.
        longer_share: Height of the cylinder, over the ring's, that is looked for there.
        beside_px: Distances from a mask between which the candidate may go on.
        step_m: Step of depth that ends an object: a ring seen at 80 deg stays below this.
        whole_share: Visible share of a ring from which more does not make a ring likelier; a solid
            ring shows at most half of its wall's outside.
        min_score: Verification score of a ring: so much of what it would show is there; of a start,
            which is off by some millimetres, half as much.
        clear_score: Score from which no other candidate is looked at.
        max_sigma_m: Standard deviation of the centre, given the offset of depth, from which a pose
            is of no use to a controller that is to be right to a millimetre.
        known_sigma_m: The same from which not even the candidate is reported.
    """

    margin_px: int = 7
    lost_px: float = 0.8
    trust_per_px: float = 2.0
    agree_sigmas: float = 4.5
    start_sigmas: float = 3.0
    cut_sigmas: float = 4.7
    edge_cuts_px: tuple[float, ...] = (8.0, 5.0, 4.0, 3.0)
    edge_rounding_px: float = 0.29
    edge_correlation_px: float = 12.0
    edge_inflation: float = 1.5
    edge_offset_px: float = 0.3
    arm_edge_px: float = 1.0
    min_edges: int = 12
    min_incidence: float = 0.2
    edge_on_rad: float = 0.21
    mirror_rad: float = 0.06
    temper: float = 5.0
    settled_m: float = 1.5e-3
    min_points: int = 30
    beyond_share: float = 1.25
    longer_share: float = 2.5
    beside_px: tuple[int, int] = (5, 8)
    step_m: float = 0.012
    whole_share: float = 0.25
    min_score: float = 0.4
    clear_score: float = 0.6
    max_sigma_m: float = 1.2e-3
    known_sigma_m: float = 3e-3


TOLERANCES = Tolerances()
