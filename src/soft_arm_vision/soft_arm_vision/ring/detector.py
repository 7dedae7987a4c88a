"""From a colour and a depth image to the pose of the positioning ring, frame after frame."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import process_time

import cv2
import numpy as np
from threadpoolctl import ThreadpoolController

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds import cloud
from soft_arm_vision.clouds.cylinder import Cylinders
from soft_arm_vision.clouds.cylinder_fit import ransac_cylinder
from soft_arm_vision.errors import FitRefused, Underconstrained, VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.fit import RingFit, fit_ring
from soft_arm_vision.ring.outline import Outline, outline_of, rim_points
from soft_arm_vision.ring.verification import accepted_without_pose
from soft_arm_vision.segmentation.candidate import Candidate
from soft_arm_vision.segmentation.colour_segmenter import ColourSegmenter
from soft_arm_vision.segmentation.segmenter import Segmenter

VOXEL_M = 0.002
MARGIN_PX = 7  # around a mask: its border is left out, but not at the picture's edge
TRACKED_FRAMES = 5  # a pose older than this many frames is no start for the next
STILL_AS_GOOD = 0.9
# Largest distance between the centres by depth alone and by the whole fit, at the reference depth;
# it grows with the square of depth.
APART_M = 5e-3
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
        cpu_s: Processor time of each stage [s].
    """

    fit: RingFit | None
    reason: str | None
    candidate: Candidate | None = None
    warm: bool = False
    cpu_s: dict[str, float] = field(default_factory=dict)


class RingDetector:
    """Segmentation, cloud and fit, started from the previous pose where there is one.

    The two ends of a ring look alike. The axis is given the sign that agrees with the previous
    pose; without one, the sign that agrees with `expected_axis`.
    """

    def __init__(self, ring: Ring, segmenter: Segmenter | None = None, seed: int = 0):
        self._ring = ring
        self._segmenter = segmenter or ColourSegmenter(ring)
        self._rng = np.random.default_rng(seed)
        self._previous: RingFit | None = None
        self._previous_middle: np.ndarray | None = None
        self._last: Candidate | None = None  # of the frame before
        self._missed = 0

    # A second BLAS thread would only spin and take its core from the network.
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
            return self._missing(str(error), None, {})
        shape = depth.shape
        clock = process_time()
        cpu_s: dict[str, float] = {}

        def lap(stage: str) -> None:
            nonlocal clock
            now = process_time()
            cpu_s[stage], clock = cpu_s.get(stage, 0.0) + now - clock, now

        depth_m = cloud.depth_in_metres(depth)
        refused: tuple[str, Candidate | None] | None = None  # the first accepted without a pose
        last = self._last if self._last is not None and self._last.inside(shape) else None
        for candidate in self._segmenter.segment(colour, depth_m, intrinsics, last):
            lap('segment')
            rows, columns = candidate.widened(MARGIN_PX, shape)
            solid = cloud.solid_pixels(candidate.mask_in(rows, columns), depth_m[rows, columns])
            points = cloud.back_project_cells(
                solid, depth_m[rows, columns], intrinsics, (rows.start, columns.start)
            )
            outline = outline_of(candidate, depth_m, intrinsics)
            lap('cloud')
            try:
                fit, warm = self._fit(points, outline, candidate.cylinder)
                if candidate.cylinder is not None:
                    _refuse_far(fit, candidate.cylinder)
            except (FitRefused, np.linalg.LinAlgError) as refusal:
                lap('fit')
                if refused is None and accepted_without_pose(candidate.verification_score, refusal):
                    refused = (
                        f'best candidate rejected: {str(refusal).removeprefix("bad fit: ")}',
                        candidate,
                    )
                continue
            fit = self._signed(fit, expected_axis)
            self._previous, self._previous_middle, self._missed = fit, np.median(points, axis=0), 0
            self._last = candidate
            lap('fit')
            return Detection(fit, None, candidate, warm, cpu_s)
        lap('segment')
        reason, best = refused or ('no ring in view', None)
        return self._missing(reason, best, cpu_s)

    def _fit(
        self, points: np.ndarray, outline: Outline, start: Cylinders | None
    ) -> tuple[RingFit, bool]:
        """Fit the ring from the previous pose; from scratch too if that explains less than before.

        The better of both fits is returned, with whether it came from the previous pose.
        """
        warm = None
        if self._previous is not None and len(points):
            moved = np.median(points, axis=0) - self._previous_middle
            radius = np.array([self._ring.radius_m])
            before = Cylinders(
                (self._previous.centre + moved)[None], self._previous.axis[None], radius
            )
            with suppress(FitRefused):  # it may have moved too far
                warm = fit_ring(points, before, self._ring, outline.pixel, outline)
            if warm is not None and _explained(warm) > STILL_AS_GOOD * _explained(self._previous):
                return warm, True
        if start is None:
            found = ransac_cylinder(
                cloud.voxel_filter(points, VOXEL_M), radius_m=self._ring.radius_m, rng=self._rng
            )
            if found is None:
                raise Underconstrained(f'too few depth points: {len(points)} make no cylinder')
            start = found[0]
        try:
            cold = fit_ring(points, start, self._ring, outline.pixel, outline)
        except FitRefused:
            if warm is None:
                raise
            return warm, True
        return (
            (cold, False) if warm is None or _explained(cold) >= _explained(warm) else (warm, True)
        )

    def _signed(self, fit: RingFit, expected_axis: ExpectedAxis | None) -> RingFit:
        if self._previous is not None:
            expected = self._previous.axis
        else:
            expected = -fit.centre if expected_axis is None else expected_axis(fit.centre)
        return fit if fit.axis @ expected >= 0 else replace(fit, axis=-fit.axis)

    def _missing(
        self, reason: str, candidate: Candidate | None, cpu_s: dict[str, float]
    ) -> Detection:
        self._last = None
        self._missed += 1
        if self._missed > TRACKED_FRAMES:
            self._previous = None
        return Detection(None, reason, candidate, False, cpu_s)


def _explained(fit: RingFit) -> float:
    """Return how much of the mask a fit explains, 0..2."""
    return fit.inlier_share + fit.edge_share


def _refuse_far(fit: RingFit, cylinder: Cylinders) -> None:
    apart_m = float(np.linalg.norm(fit.centre - cylinder.point[0]))
    most_m = APART_M * cloud.noise_growth(fit.centre[2])
    if apart_m > most_m:
        raise FitRefused(
            f'bad fit: {1e3 * apart_m:.1f} mm from where depth alone shows the ring, '
            f'{1e3 * most_m:.1f} mm are allowed'
        )


def draw_overlay(
    colour: np.ndarray, detection: Detection, ring: Ring, intrinsics: Intrinsics
) -> np.ndarray:
    """Return the colour image with the mask's contour, both rims and the axis drawn on it.

    Without a pose, the reason is written on it.
    """
    picture = colour.copy()
    if detection.candidate is not None:
        contours, _ = cv2.findContours(
            detection.candidate.mask.astype(np.uint8),
            cv2.RETR_EXTERNAL,
            cv2.CHAIN_APPROX_NONE,
            offset=(detection.candidate.column, detection.candidate.row),
        )
        cv2.drawContours(picture, contours, -1, (0, 255, 0), 1)
    if detection.fit is None:
        cv2.putText(
            picture,
            detection.reason or '',
            (8, 20),
            cv2.FONT_HERSHEY_SIMPLEX,
            0.5,
            (255, 0, 0),
            1,
            cv2.LINE_AA,
        )
        return picture
    for end in (-0.5, 0.5):
        rim = rim_points(
            detection.fit.centre + end * ring.height_m * detection.fit.axis,
            detection.fit.axis,
            ring.radius_m,
        )
        pixels = intrinsics.pixels(rim[:, :2] / rim[:, 2:])
        cv2.polylines(
            picture, [np.round(pixels).astype(np.int32)], True, (0, 0, 255), 1, cv2.LINE_AA
        )
    axis = np.stack(
        [detection.fit.centre, detection.fit.centre + ring.radius_m * detection.fit.axis]
    )
    tail, head = np.round(intrinsics.pixels(axis[:, :2] / axis[:, 2:])).astype(int).tolist()
    cv2.arrowedLine(picture, tail, head, (255, 0, 255), 2, cv2.LINE_AA)
    return picture
