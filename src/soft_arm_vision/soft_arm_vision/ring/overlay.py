"""Draw what was found of a ring on the colour image."""

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cylinder import perpendiculars
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.detector import Detection

RIM_POINTS = 72


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


def rim_points(centre: np.ndarray, axis: np.ndarray, radius_m: float) -> np.ndarray:
    """Return points [m] of a circle, shape (RIM_POINTS, 3)."""
    angles = 2 * np.pi * np.arange(RIM_POINTS)[:, None] / RIM_POINTS
    e1, e2 = perpendiculars(axis)
    return centre + radius_m * (np.cos(angles) * e1 + np.sin(angles) * e2)
