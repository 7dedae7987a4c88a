"""From a colour and a depth image to the pose of the positioning ring, frame after frame.

Mask, cloud, RANSAC for walls of the ring's radius, joint fit of wall and contour, verification.
Candidates of the segmenter are verified until one is clearly the ring; the best one is returned.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import cv2
import numpy as np
from threadpoolctl import ThreadpoolController

from soft_arm_description.depth_sensor import D435I, DepthSensor
from soft_arm_description.robot import Ring
from soft_arm_vision.clouds import cloud
from soft_arm_vision.errors import FitRefused, VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.fit import RingFit, RingProblem
from soft_arm_vision.ring.hypotheses import start_poses
from soft_arm_vision.ring.outline import Outline, outline_of
from soft_arm_vision.ring.ray_cylinder import ring_depths
from soft_arm_vision.ring.verification import (
    Evidence,
    agreement_m,
    clipped,
    evidence_of,
    window_of,
)
from soft_arm_vision.segmentation.candidate import Candidate
from soft_arm_vision.segmentation.colour_segmenter import ColourSegmenter
from soft_arm_vision.segmentation.segmenter import Segmenter
from soft_arm_vision.tolerances import TOLERANCES

ExpectedAxis = Callable[[np.ndarray], np.ndarray]

_LIBRARIES = ThreadpoolController()


@dataclass(frozen=True)
class Detection:
    """Result of one frame.

    Attributes:
        fit: Pose of the ring in the optical frame, or None.
        reason: Why there is none, or None.
        candidate: Mask that was used, or None.
        warm: Whether the previous pose was a good enough start.
        points, outline: Points of depth [m], shape (n, 3), and edge points that the pose was
            fitted to; None without a pose.
    """

    fit: RingFit | None
    reason: str | None
    candidate: Candidate | None = None
    warm: bool = False
    points: np.ndarray | None = None
    outline: Outline | None = None


@dataclass(frozen=True)
class _Hypothesis:
    """A pose that was fitted, what it was fitted to, and its verification score."""

    fit: RingFit
    candidate: Candidate
    points: np.ndarray
    outline: Outline
    score: float
    tracked: bool

    @property
    def refusal(self) -> str | None:
        """Reason for rejecting the pose, or None."""
        if self.score < TOLERANCES.min_score:
            return (
                f'bad fit: {100 * self.score:.0f} % of what a ring would show is there, '
                f'{100 * TOLERANCES.min_score:.0f} % are needed'
            )
        if self.fit.shape_sd_m > TOLERANCES.max_sigma_m:
            return (
                f'bad fit: the centre is known to {1e3 * self.fit.shape_sd_m:.1f} mm only, '
                f'{1e3 * TOLERANCES.max_sigma_m:.1f} mm are needed: show more of the ring'
            )
        return None


@dataclass(frozen=True)
class _Frame:
    """One frame."""

    colour: np.ndarray
    depth_m: np.ndarray
    intrinsics: Intrinsics
    sensor: DepthSensor


class RingDetector:
    """Detect the ring, starting from the previous pose where there is one.

    The two ends of a ring have the same appearance. The sign of the axis agrees with the previous
    pose or, without one, with `expected_axis`.

    Args:
        ring: Size and colour of the ring.
        segmenter: Source of candidates; None: by colour.
        sensor: Errors of the camera's depth and edges.
        seed: Of the random choices.
    """

    def __init__(
        self,
        ring: Ring,
        segmenter: Segmenter | None = None,
        sensor: DepthSensor = D435I,
        seed: int = 0,
    ):
        self._ring, self._sensor, self._seed = ring, sensor, seed
        self._segmenter = segmenter or ColourSegmenter(ring)
        self._previous: RingFit | None = None
        self._last: Candidate | None = None  # of the frame before
        self._missed = 0

    @_LIBRARIES.wrap(limits=1, user_api='blas')
    def detect(
        self,
        colour: np.ndarray,
        depth: np.ndarray,
        intrinsics: Intrinsics,
        expected_axis: ExpectedAxis | None = None,
    ) -> Detection:
        """Look for the ring in one frame.

        Args:
            colour: RGB, shape (h, w, 3), uint8.
            depth: Aligned depth, shape (h, w): uint16 millimetres or float metres.
            intrinsics: Intrinsics of both images.
            expected_axis: Function of the centre [m] (3,) that gives the approximate axis (3,),
                both in the optical frame; used for the
                sign when no previous pose is known. None: the end that looks at the camera is taken
                as the ring's end.
        """
        try:
            cloud.check_images(colour, depth, intrinsics)
        except VisionError as error:
            self._missing(None)
            return Detection(None, str(error))
        frame = _Frame(
            colour, cloud.depth_in_metres(depth), intrinsics, self._sensor.at(intrinsics.fx)
        )
        best: _Hypothesis | None = None
        for found in self._hypotheses(frame):
            if best is None or found.score > best.score:
                best = found
            if best.score >= TOLERANCES.clear_score:
                break
        if best is None or best.refusal is not None:
            return self._missing(best)
        fit = self._signed(best.fit, expected_axis)
        self._previous, self._last, self._missed = fit, best.candidate, 0
        return Detection(fit, None, best.candidate, best.tracked, best.points, best.outline)

    def _hypotheses(self, frame: _Frame) -> Iterator[_Hypothesis]:
        """Yield verified hypotheses of each candidate: the tracked ring, then its best wall."""
        last = self._last
        if last is not None and not last.inside(frame.depth_m.shape):
            last = None
        for candidate in self._segmenter.segment(
            frame.colour, frame.depth_m, frame.intrinsics, last
        ):
            for centre, axis, tracked in self._starts(candidate, frame):
                found = self._fitted(centre, axis, candidate, frame, tracked)
                if found is not None:
                    yield found

    def _starts(
        self, candidate: Candidate, frame: _Frame
    ) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
        """Yield centre and axis of the ring before, and of the wall that shows most of a ring."""
        points = _points(candidate, frame, self._ring)
        if len(points) < TOLERANCES.min_points:
            return
        if self._previous is not None:
            yield self._previous.centre, self._previous.axis, True
        tolerance_m = agreement_m(float(np.median(points[:, 2])), frame.sensor)
        rng = np.random.default_rng(self._seed)  # deterministic for each frame
        walls = [
            (self._evidence(*wall, frame), wall)
            for wall in start_poses(points, self._ring, tolerance_m, rng)
        ]
        if walls:
            evidence, wall = max(walls, key=lambda rated: rated[0].shown)
            if evidence.shown > TOLERANCES.min_score / 2:
                yield *wall, False

    def _fitted(
        self,
        centre: np.ndarray,
        axis: np.ndarray,
        candidate: Candidate,
        frame: _Frame,
        tracked: bool,
    ) -> _Hypothesis | None:
        """Return the ring near a start, with a mask redrawn around it; None without one."""
        near_m, far_m = frame.sensor.range_m
        for _ in range(TOLERANCES.refinements):
            about = self._drawn(centre, axis, candidate, frame)
            if about is None:
                return None
            drawn, points = about, _points(about, frame, self._ring)
            if len(points) < TOLERANCES.min_points:
                return None
            outline = outline_of(
                drawn,
                frame.colour,
                frame.depth_m,
                frame.intrinsics,
                self._ring.radius_m,
                frame.sensor,
            )
            problem = RingProblem(points, outline, self._ring, frame.sensor)
            try:
                fit = problem.solve(centre, axis)
            except (FitRefused, np.linalg.LinAlgError):
                return None
            if not near_m / 2 < fit.centre[2] < far_m:
                return None
            centre, axis = fit.centre, fit.axis
            score = self._evidence(centre, axis, frame).score(fit.edge_share, 0.0)
            if score < TOLERANCES.min_score / 2:
                return None
        if score >= TOLERANCES.min_score:
            fit = problem.resolve_two_fold_ambiguity(fit)
        evidence = self._evidence(fit.centre, fit.axis, frame)
        score = evidence.score(fit.edge_share, outline.cut_share)
        return _Hypothesis(fit, drawn, points, outline, score, tracked)

    def _evidence(self, centre: np.ndarray, axis: np.ndarray, frame: _Frame) -> Evidence:
        return evidence_of(centre, axis, frame.depth_m, frame.intrinsics, self._ring, frame.sensor)

    def _drawn(
        self, centre: np.ndarray, axis: np.ndarray, candidate: Candidate, frame: _Frame
    ) -> Candidate | None:
        """Return the mask of the pixels whose depth agrees with a pose.

        Where depth is missing, the candidate's mask is used.
        """
        depth_m, ring = frame.depth_m, self._ring
        reach_m = 1.1 * float(np.hypot(ring.radius_m, ring.height_m / 2))
        rows, columns = clipped(window_of(centre, reach_m, frame.intrinsics), depth_m.shape)
        measured, rays = depth_m[rows, columns], frame.intrinsics.ray_grid()[rows, columns]
        if measured.size == 0:
            return None
        expected = ring_depths(rays.reshape(-1, 2), centre, axis, ring).reshape(measured.shape)
        agrees = np.abs(measured - expected) < agreement_m(centre[2], frame.sensor)
        whole = candidate.mask_in(slice(0, depth_m.shape[0]), slice(0, depth_m.shape[1]))
        mask = np.where(measured > 0, agrees, np.isfinite(expected) & whole[rows, columns])
        x, y, width, height = cv2.boundingRect(mask.astype(np.uint8))
        if width == 0:
            return None
        return Candidate(
            mask[y : y + height, x : x + width], rows.start + y, columns.start + x, candidate.score
        )

    def _signed(self, fit: RingFit, expected_axis: ExpectedAxis | None) -> RingFit:
        if self._previous is not None:
            expected = self._previous.axis
        else:
            expected = -fit.centre if expected_axis is None else expected_axis(fit.centre)
        return fit if fit.axis @ expected >= 0 else replace(fit, axis=-fit.axis)

    def _missing(self, best: _Hypothesis | None) -> Detection:
        self._last = None
        self._missed += 1
        if self._missed > TOLERANCES.tracked_frames:
            self._previous = None
        if best is None or best.score == 0:
            return Detection(None, 'no ring in view')
        ring = best.score >= TOLERANCES.min_score
        ring &= best.fit.shape_sd_m < TOLERANCES.max_mask_sigma_m
        reason = f'best candidate rejected: {(best.refusal or "").removeprefix("bad fit: ")}'
        return Detection(None, reason, best.candidate if ring else None)


def _points(candidate: Candidate, frame: _Frame, ring: Ring) -> np.ndarray:
    """Return the points of a candidate [m], (n, 3); a thin one keeps its border."""
    rows, columns = candidate.widened(TOLERANCES.margin_px, frame.depth_m.shape)
    mask, depth_m = candidate.mask_in(rows, columns), frame.depth_m[rows, columns]
    solid = cloud.solid_pixels(mask, depth_m, ring.radius_m)
    if solid.sum() < 2 * TOLERANCES.min_points * TOLERANCES.cell_px**2:
        solid = mask & (depth_m > 0)
    return cloud.back_project_cells(solid, depth_m, frame.intrinsics, (rows.start, columns.start))
