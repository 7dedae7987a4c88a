"""Bends of a finger's pieces from its painted lines: rays, plane of its side, angles."""

from dataclasses import dataclass

import cv2
import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_vision.clouds.cloud import check_images, depth_in_metres
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger.cut_lines import find_lines
from soft_arm_vision.intrinsics import Intrinsics

# Side on which the camera stands: sign of the finger's y axis along the viewing direction.
CAMERA_SIDES = {'minus_y': 1.0, 'plus_y': -1.0}
MIN_PLANE_POINTS = 50
# Depth comes in steps of DEPTH_STEP_M: within one, a median says nothing about noise.
INLIER_SIGMAS = 3.0
DEPTH_STEP_M = 1e-3


@dataclass(frozen=True)
class FingerEstimate:
    """Bends that one image of the finger shows.

    Attributes:
        piece_angles_rad: Bend of each piece, base to tip, (n,); positive towards the finger's x
            axis.
        lines_px: Ends of the reference line and the cut lines in the picture, (1 + n, 2, 2).
        tilt_rad: Angle between the viewing direction and the normal of the finger's side; if it is
            large, the pieces occlude their lines.
    """

    piece_angles_rad: np.ndarray
    lines_px: np.ndarray
    tilt_rad: float


class FingerEstimator:
    """Estimate bends from lines and from the plane of the finger's side.

    The plane is estimated recursively from the depth of all images.

    Camera and mount stand still, so that the plane is the same in every image. The depth of one
    image of a small finger has steps of 1 mm, which tilt the plane by up to a degree.

    Args:
        robot: Robot file of the finger.
        intrinsics: Intrinsics of colour and depth.
        camera_side: Side of the finger on which the camera stands: `minus_y` or `plus_y` of its
            base frame.
        memory: Weight that each image leaves to the earlier ones; 1 forgets nothing.

    Raises:
        VisionError: If the robot has no lines, or the side is unknown.
    """

    def __init__(
        self,
        robot: Robot,
        intrinsics: Intrinsics,
        camera_side: str = 'minus_y',
        memory: float = 1.0,
    ):
        if camera_side not in CAMERA_SIDES:
            raise VisionError(f'camera_side {camera_side!r} is none of {", ".join(CAMERA_SIDES)}')
        if robot.cut_lines is None:
            raise VisionError(f'robot {robot.name} has no cut_lines: add them to its file')
        self.intrinsics = intrinsics
        self._robot = robot
        self._sign = CAMERA_SIDES[camera_side]
        self._memory = memory
        self._normal_matrix, self._right_side = np.zeros((3, 3)), np.zeros(3)

    def update(
        self, colour: np.ndarray, depth: np.ndarray, lines_px: np.ndarray | None = None
    ) -> np.ndarray:
        """Find the lines in one image, and update the plane of the finger's side.

        Args:
            colour: RGB, shape (h, w, 3), uint8, as the camera gives it, distorted.
            depth: Aligned depth, shape (h, w): uint16 millimetres or float metres.
            lines_px: Clicked lines, (1 + n, 2, 2); None: they are detected.

        Returns:
            The lines (1 + n, 2, 2).

        Raises:
            VisionError: If the lines are not found, or the finger's side has no depth.
        """
        check_images(colour, depth, self.intrinsics)
        depth_m = depth_in_metres(depth)
        if lines_px is None:
            lines_px = find_lines(colour, depth_m, self.intrinsics, self._robot)
        rays, inverse_depth = side_points(lines_px, depth_m, self.intrinsics)
        self._normal_matrix = self._memory * self._normal_matrix + rays.T @ rays
        self._right_side = self._memory * self._right_side + rays.T @ inverse_depth
        return lines_px

    def estimate(self, lines_px: np.ndarray) -> FingerEstimate:
        """Return the bends of the lines (1 + n, 2, 2) of an image, in the present plane."""
        plane = np.linalg.solve(self._normal_matrix, self._right_side)
        ends_m = on_plane(self.intrinsics.rays(np.reshape(lines_px, (-1, 2))), plane).reshape(
            -1, 2, 3
        )
        normal = plane / np.linalg.norm(plane)
        return FingerEstimate(
            bends(ends_m, self._sign * normal), lines_px, float(np.arccos(normal[2]))
        )


def side_points(
    lines_px: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics
) -> tuple[np.ndarray, np.ndarray]:
    """Return the depth of the finger's side between its cut lines, without points off its plane.

    Returns:
        Rays (x/z, y/z, 1) (n, 3) and inverse depths 1/z [1/m] (n,): linear in the rays on a plane,
        and equally noisy everywhere.

    Raises:
        VisionError: If there is too little depth.
    """
    side = np.zeros(depth_m.shape, np.uint8)
    for first, second in zip(lines_px[1:-1], lines_px[2:], strict=True):
        corners = np.concatenate([first, second]).astype(np.float32)
        cv2.fillConvexPoly(side, np.round(cv2.convexHull(corners)).astype(np.int32), 1)
    v, u = np.nonzero(side.astype(bool) & (depth_m > 0))
    if len(v) < MIN_PLANE_POINTS:
        raise VisionError(
            f'{len(v)} pixels of the finger have depth, {MIN_PLANE_POINTS} are needed: is '
            'the camera too near for its depth?'
        )
    rays = np.column_stack([intrinsics.rays(np.column_stack([u, v])), np.ones(len(v))])
    inverse_depth = 1.0 / depth_m[v, u].astype(float)
    kept = np.ones(len(v), bool)
    for _ in range(4):
        plane = np.linalg.lstsq(rays[kept], inverse_depth[kept], rcond=None)[0]
        error = np.abs(rays @ plane - inverse_depth)
        kept = error <= np.maximum(
            INLIER_SIGMAS * 1.4826 * np.median(error), DEPTH_STEP_M * inverse_depth**2
        )
    return rays[kept], inverse_depth[kept]


def on_plane(rays: np.ndarray, plane: np.ndarray) -> np.ndarray:
    """Return the points (n, 3) [m] where rays (n, 2) meet a plane m . x = 1."""
    rays = np.column_stack([rays, np.ones(len(rays))])
    return rays / (rays @ plane)[:, None]


def bends(ends_m: np.ndarray, y_axis: np.ndarray) -> np.ndarray:
    """Return the angles from each line to the next.

    Args:
        ends_m: Ends of the lines, base to tip, (1 + n, 2, 3) [m], in a plane; the order of two ends
            is free.
        y_axis: The finger's y axis, normal to that plane, (3,): a positive bend turns z towards x
            about it.

    Returns:
        (n,) [rad], each within half a turn.
    """
    tangents = np.cross(ends_m[:, 1] - ends_m[:, 0], y_axis)
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    steps = np.diff(ends_m.mean(axis=1), axis=0)
    growth = np.concatenate([steps[:1], steps])
    # The tangents point towards the tip.
    tangents *= np.where(np.einsum('ni,ni->n', tangents, growth) < 0, -1.0, 1.0)[:, None]
    return np.arctan2(
        np.cross(tangents[:-1], tangents[1:]) @ y_axis,
        np.einsum('ni,ni->n', tangents[:-1], tangents[1:]),
    )


def draw_lines(colour: np.ndarray, view: FingerEstimate) -> np.ndarray:
    """Return a copy of the image with reference (blue), cut lines (green) and their bends."""
    picture = colour.copy()
    for number, ends in enumerate(np.round(view.lines_px).astype(int).tolist()):
        cv2.line(picture, ends[0], ends[1], (0, 255, 0) if number else (0, 0, 255), 1, cv2.LINE_AA)
        if number:
            text = f'{np.degrees(view.piece_angles_rad[number - 1]):.1f}'
            cv2.putText(
                picture,
                text,
                (max(ends[0], ends[1])[0] + 6, ends[0][1]),
                cv2.FONT_HERSHEY_SIMPLEX,
                0.4,
                (0, 90, 0),
                1,
                cv2.LINE_AA,
            )
    return picture
