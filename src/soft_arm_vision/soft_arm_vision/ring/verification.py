"""Verify candidates: logistic regression on the segmenter's score and the evidence of depth."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cylinder import Cylinders
from soft_arm_vision.errors import Underconstrained, VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.pose_hypothesis import PoseHypothesis, find_pose_hypothesis
from soft_arm_vision.segmentation.candidate import Candidate, plausibility

SHIPPED_METADATA = Path(__file__).parents[1] / 'segmentation/yolact/weights/ring_segmenter.json'
NO_OPINION = 0.5  # score of a find of which only the colour is known
SCORE_LIMITS = 1e-3, 1 - 1e-3  # beyond them a network is surer than it can know
MIN_VISIBLE_FRACTION = 0.12  # rings of which a quarter is visible show more
MAX_LONGER_CYLINDER_GAIN = (
    0.1  # of a find: more, and it is a piece of a can, whatever the network says
)
MAX_VISIBLE_FRACTION = 0.6  # more of a ring that shows says no more
# log odds from which a find counts, by what the search for its pose came to; of the scenes they are
# fitted on four in five have no ring
MIN_SCORE_WITH_POSE, MIN_SCORE_UNDERCONSTRAINED, MIN_SCORE_WITHOUT_POSE = -2.0, -1.5, 1.0
PRIOR_DEVIATION = 10.0  # of every coefficient but the constant: finite where a line parts the finds
# what each term can speak for, however few the finds: the constant, and then as in `Verifier`
BOUNDS = (None, None), (0, None), (None, 0), (None, 0), (0, None), (None, 0), (None, 0), (0, None)


@dataclass(frozen=True)
class Verifier:
    """Coefficients of the log odds of a candidate, each for a unit of its term.

    Attributes:
        constant: Constant term.
        score: Coefficient of the log odds of the segmenter's score.
        residual, free_space_violation, visible_fraction, flatness, occluded_fraction,
            contour_support: See `PoseHypothesis`.
    """

    constant: float
    score: float
    residual: float
    free_space_violation: float
    visible_fraction: float
    flatness: float
    occluded_fraction: float
    contour_support: float

    def accepts(self, score: float, hypothesis: PoseHypothesis) -> bool:
        """Return whether a candidate of this score is a ring, given that it has the pose of one."""
        return (
            hypothesis.visible_fraction >= MIN_VISIBLE_FRACTION
            and hypothesis.longer_cylinder_gain <= MAX_LONGER_CYLINDER_GAIN
            and self.verification_score(score, hypothesis) >= MIN_SCORE_WITH_POSE
        )

    def verify(
        self,
        find: Candidate,
        colour: np.ndarray,
        depth_m: np.ndarray,
        intrinsics: Intrinsics,
        ring: Ring,
        rng: np.random.Generator,
        start: Cylinders | None = None,
    ) -> Candidate | None:
        """Return the candidate refined by its pose hypothesis, or None if it is rejected.

        The arguments are those of `find_pose_hypothesis`.
        """
        hypothesis = find_pose_hypothesis(find, colour, depth_m, intrinsics, ring, rng, start)
        if hypothesis is None or not self.accepts(find.score, hypothesis):
            return None
        found = hypothesis.candidate(find.score, self.verification_score(find.score, hypothesis))
        return found if plausibility(ring, found, depth_m, intrinsics) > 0 else None

    def verification_score(self, score: float, hypothesis: PoseHypothesis) -> float:
        """Natural logarithm of the odds."""
        return float(np.dot(list(asdict(self).values()), _terms(score, hypothesis)))


def shipped_verifier() -> Verifier:
    """Return the verifier of the shipped network."""
    return Verifier(**json.loads(SHIPPED_METADATA.read_text())['verifier'])


def accepted_without_pose(verification_score: float, refusal: Exception) -> bool:
    """Return whether these log odds make a candidate a ring although its pose was refused."""
    return verification_score >= (
        MIN_SCORE_UNDERCONSTRAINED
        if isinstance(refusal, Underconstrained)
        else MIN_SCORE_WITHOUT_POSE
    )


def fit_verifier(finds: Iterable[tuple[float, PoseHypothesis, bool]]) -> Verifier:
    """Fit a verifier by logistic regression.

    Args:
        finds: Score and hypothesis of each candidate, and whether it is a ring.

    Raises:
        VisionError: If all candidates are rings, or none is.
    """
    finds = list(finds)
    rings = sum(is_ring for _, _, is_ring in finds)
    if rings in (0, len(finds)):
        raise VisionError(
            f'{rings} of {len(finds)} finds are rings: no odds follow from that; train the '
            'network further'
        )
    terms = np.array([_terms(score, hypothesis) for score, hypothesis, _ in finds])
    sign = np.array([1.0 if is_ring else -1.0 for _, _, is_ring in finds])

    def cost(coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (terms @ coefficients)
        slope = -sign / (1 + np.exp(np.minimum(margin, 500.0)))
        prior = coefficients[1:] / PRIOR_DEVIATION
        gradient = terms.T @ slope + np.append(0.0, prior / PRIOR_DEVIATION)
        return np.logaddexp(0.0, -margin).sum() + 0.5 * prior @ prior, gradient

    found = minimize(cost, np.zeros(terms.shape[1]), jac=True, method='L-BFGS-B', bounds=BOUNDS)
    return Verifier(*(float(round(value, 3)) for value in found.x))


def _terms(score: float, hypothesis: PoseHypothesis) -> tuple[float, ...]:
    sure = min(max(score, SCORE_LIMITS[0]), SCORE_LIMITS[1])
    seen = (
        min(hypothesis.residual, 1.0),
        hypothesis.free_space_violation,
        min(hypothesis.visible_fraction, MAX_VISIBLE_FRACTION),
        hypothesis.flatness,
        hypothesis.occluded_fraction,
        hypothesis.contour_support,
    )
    return 1.0, float(np.log(sure / (1 - sure))), *seen
