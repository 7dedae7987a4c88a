"""How likely a find is a ring: the network's score and what depth says of it, weighed as finds on drawn scenes weigh them."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from soft_arm_description.robot import Ring
from soft_arm_vision.errors import TooVague, VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.pose_hypothesis import RingRegion, ring_region
from soft_arm_vision.segmentation.candidate import Instance, plausibility

SHIPPED_CARD = Path(__file__).parents[1] / 'segmentation/yolact/weights/ring_segmenter.json'
NO_OPINION = 0.5  # score of a find of which only the colour is known
SCORE_LIMITS = 1e-3, 1 - 1e-3  # beyond them a network is surer than it can know
MIN_SHOWN = 0.12  # rings of which a quarter is visible show more
MAX_GOES_ON = 0.1  # of a find: more, and it is a piece of a can, whatever the network says
MAX_SHOWN = 0.6  # more of a ring that shows says no more
# log odds from which a find counts, by what the search for its pose came to; of the scenes they are
# fitted on four in five have no ring
WITH_POSE, VAGUE, WITHOUT_POSE = -2.0, -1.5, 1.0
PRIOR_DEVIATION = 10.0  # of every coefficient but the constant: finite where a line parts the finds
# what each term can speak for, however few the finds: the constant, and then as in `RingOdds`
BOUNDS = (None, None), (0, None), (None, 0), (None, 0), (0, None), (None, 0), (None, 0), (0, None)


@dataclass(frozen=True)
class RingOdds:
    """Coefficients of a find's log odds, each for a unit of its term.

    Attributes:
        constant: Of every find.
        score: Of the score's log odds.
        unexplained, contradicted, shown, flatness, hidden, outlined: See `RingRegion`.
    """

    constant: float
    score: float
    unexplained: float
    contradicted: float
    shown: float
    flatness: float
    hidden: float
    outlined: float

    def may_be_ring(self, score: float, region: RingRegion) -> bool:
        """Whether a find of this score is a ring if it has a ring's pose."""
        return (
            region.shown >= MIN_SHOWN
            and region.goes_on <= MAX_GOES_ON
            and self.log_odds(score, region) >= WITH_POSE
        )

    def candidate(
        self,
        find: Instance,
        colour: np.ndarray,
        depth_m: np.ndarray,
        intrinsics: Intrinsics,
        ring: Ring,
        rng: np.random.Generator,
    ) -> Instance | None:
        """The ring that depth shows in a find (see `ring_region` for the arguments), or None where that is hardly one."""
        region = ring_region(find, colour, depth_m, intrinsics, ring, rng)
        if region is None or not self.may_be_ring(find.score, region):
            return None
        found = region.instance(find.score, self.log_odds(find.score, region))
        return found if plausibility(ring, found, depth_m, intrinsics) > 0 else None

    def log_odds(self, score: float, region: RingRegion) -> float:
        """Natural logarithm of the odds."""
        return float(np.dot(list(asdict(self).values()), _terms(score, region)))


def shipped_odds() -> RingOdds:
    """Those that came with the shipped network."""
    return RingOdds(**json.loads(SHIPPED_CARD.read_text())['odds'])


def counts_without_pose(log_odds: float, refusal: Exception) -> bool:
    """Whether a find of these log odds is still taken for a ring when its pose was refused."""
    return log_odds >= (VAGUE if isinstance(refusal, TooVague) else WITHOUT_POSE)


def fit_odds(finds: Iterable[tuple[float, RingRegion, bool]]) -> RingOdds:
    """Logistic regression.

    Args:
        finds: Score and region of each find, and whether it is a ring.

    Raises:
        VisionError: If they are all rings, or none is.
    """
    finds = list(finds)
    rings = sum(is_ring for _, _, is_ring in finds)
    if rings in (0, len(finds)):
        raise VisionError(
            f'{rings} of {len(finds)} finds are rings: no odds follow from that; train the network further'
        )
    terms = np.array([_terms(score, region) for score, region, _ in finds])
    sign = np.array([1.0 if is_ring else -1.0 for _, _, is_ring in finds])

    def cost(coefficients):
        margin = sign * (terms @ coefficients)
        slope = -sign / (1 + np.exp(np.minimum(margin, 500.0)))
        prior = coefficients[1:] / PRIOR_DEVIATION
        gradient = terms.T @ slope + np.append(0.0, prior / PRIOR_DEVIATION)
        return np.logaddexp(0.0, -margin).sum() + 0.5 * prior @ prior, gradient

    found = minimize(cost, np.zeros(terms.shape[1]), jac=True, method='L-BFGS-B', bounds=BOUNDS)
    return RingOdds(*(float(round(value, 3)) for value in found.x))


def _terms(score: float, region: RingRegion) -> tuple[float, ...]:
    sure = min(max(score, SCORE_LIMITS[0]), SCORE_LIMITS[1])
    seen = (
        min(region.unexplained, 1.0),
        region.contradicted,
        min(region.shown, MAX_SHOWN),
        region.flatness,
        region.hidden,
        region.outlined,
    )
    return 1.0, float(np.log(sure / (1 - sure))), *seen
