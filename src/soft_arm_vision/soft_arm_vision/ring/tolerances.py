"""Every tolerance of the path from a mask to the ring's pose, each with its unit and reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerances:
    """Limits that follow neither from the ring's size nor from the sensor's model.

    Attributes:
        margin_px: Room around a mask: its border is left out, but not at the image's edge.
        agree_sigmas: A depth agrees with a surface within so many standard deviations, of which a
            few belong to the pose.
        start_sigmas: The same for the walls that RANSAC looks for.
        cut_sigmas: Residual from which a point has no weight in the fit: Tukey's biweight is 95 %
            efficient there.
        edge_cuts_px: The same for edge points, step by step: a start is off by some pixels.
        edge_reach_px: Distance to either side of a mask's edge within which the colours of the ring
            and of what is beside it are compared: more than a picture is blurred.
        edge_inside_px: Usual distance of the edge of a mask drawn by depth inside the true edge.
        edge_change: Difference of colour, of 255, below which the noise of pixels moves an edge.
        edge_rad: Standard deviation of an edge by what is beside it and by shading, beyond that of
            a board's edge; 0.3 px in a picture with a focal length of 600 px.
        edge_offset_rad: Standard deviation of what all edges of a frame err alike.
        arm_edge_rad: The same, and that of an edge, where the arm is beside it: it may hide it.
        edge_correlation_rad: Length over which errors of edges are alike.
        min_edges: Edge points that a fit needs.
        min_incidence: Cosine of incidence up to which depth belongs to what is beside the wall.
        edge_on_rad: Elevation of the ring's end below which two poses look alike.
        mirror_rad: Tilts that are tried there at least.
        temper: Costs that count as one between these poses, since the errors of the contour are
            known roughly only.
        min_points: Cells of depth from which a pose is tried.
        beyond_share: Height of the wall, over the ring's, from which it goes on past the ends.
        longer_share: Height of the cylinder, over the ring's, that is looked for there.
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
    agree_sigmas: float = 4.5
    start_sigmas: float = 3.0
    cut_sigmas: float = 4.7
    edge_cuts_px: tuple[float, ...] = (8.0, 5.0, 4.0, 3.0)
    edge_reach_px: float = 3.5
    edge_inside_px: float = 0.5
    edge_change: float = 12.0
    edge_rad: float = 0.5e-3
    edge_offset_rad: float = 0.25e-3
    arm_edge_rad: float = 0.8e-3
    edge_correlation_rad: float = 0.02
    min_edges: int = 12
    min_incidence: float = 0.2
    edge_on_rad: float = 0.21
    mirror_rad: float = 0.06
    temper: float = 5.0
    min_points: int = 30
    beyond_share: float = 1.25
    longer_share: float = 2.5
    whole_share: float = 0.25
    min_score: float = 0.4
    clear_score: float = 0.6
    max_sigma_m: float = 1.2e-3
    known_sigma_m: float = 3e-3


TOLERANCES = Tolerances()
