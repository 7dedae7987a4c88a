"""A flat rectangular board of known size in the colour image: its edges, and the plane it lies in.

The board is located by colour alone, so that depth can be compared with it.
"""

from dataclasses import dataclass, replace

import cv2
import numpy as np

from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics

MIN_AREA_SHARE = 0.02  # of the image
MIN_FILLED = 0.93  # share of its quadrilateral that the board covers
BORDER_PX = 4  # least distance of the corners from the edge of the image
SEARCH_PX = 4.0  # to both sides of an edge
SAMPLE_PX = 0.25
CORNER_SHARE = 0.1  # of an edge that is left out at each end
CUT_SIGMAS = 3.0
ROUNDS = 4
MAX_EDGE_PX = 1.5  # an edge that scatters more is not straight


@dataclass(frozen=True)
class Board:
    """The board in one image.

    Attributes:
        corners: In normalised coordinates (x/z, y/z), in order, shape (4, 2).
        normals: Outward unit normals of the sides 0-1, 1-2, 2-3, 3-0, in the same coordinates,
            shape (4, 2).
        edge_sd_px: Standard deviation of the points of an edge about a straight line.
        normal, offset_m: The board's plane, normal . X = offset_m, in the optical frame.
    """

    corners: np.ndarray
    normals: np.ndarray
    edge_sd_px: float
    normal: np.ndarray
    offset_m: float

    def depth_m(self, rays: np.ndarray) -> np.ndarray:
        """Return the depth [m] of the plane along rays (x/z, y/z), shape (..., 2)."""
        return self.offset_m / (rays @ self.normal[:2] + self.normal[2])

    def with_normal(self, normal: np.ndarray, size_m: tuple[float, float]) -> 'Board':
        """Return the board in a plane of this normal, as far away as its size says."""
        points = np.column_stack([self.corners, np.ones(4)])
        points /= (points @ normal)[:, None]  # in a plane at distance 1
        sides = np.linalg.norm(points - np.roll(points, -1, axis=0), axis=1)
        sizes = np.tile(sorted(size_m, reverse=bool(sides[0] + sides[2] > sides[1] + sides[3])), 2)
        return replace(self, normal=normal, offset_m=float(sizes @ sides / (sides @ sides)))

    def inside(self, rays: np.ndarray) -> np.ndarray:
        """Return how far rays (..., 2) lie within the line of each side, (4, ...)."""
        return np.array([-(rays - c) @ n for c, n in zip(self.corners, self.normals, strict=True)])


def find_board(
    colour: np.ndarray, intrinsics: Intrinsics, size_m: tuple[float, float]
) -> Board | None:
    """Return the largest rectangle that is lighter or darker than what is around it, or None.

    Args:
        colour: RGB, shape (h, w, 3), uint8.
        intrinsics: Of the image.
        size_m: Longer and shorter side of the board.

    Raises:
        VisionError: If its edges are not straight.
    """
    grey = cv2.GaussianBlur(cv2.cvtColor(colour, cv2.COLOR_RGB2GRAY), (0, 0), 1.0)
    level = cv2.threshold(grey, 0, 255, cv2.THRESH_OTSU)[0]
    found = [q for side in (grey > level, grey <= level) for q in _quadrilaterals(side)]
    if not found:
        return None
    corners = max(found, key=cv2.contourArea).reshape(4, 2).astype(float)
    focal = np.array([intrinsics.fx, intrinsics.fy])
    lines, scatter_px = [], []
    for first, last in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        points = intrinsics.rays(_edge_points(grey.astype(np.float32), first, last))
        middle, normal, off = _line(points * focal)
        outwards = np.sign(normal @ (middle - (intrinsics.rays(corners) * focal).mean(axis=0)))
        # A line n . (f x) = c in pixels is (n f) . x = c in normalised coordinates.
        lines.append(np.append(outwards * normal * focal, -outwards * normal @ middle))
        scatter_px.append(off)
    edge_sd_px = float(np.sqrt(np.mean(np.square(scatter_px))))
    if edge_sd_px > MAX_EDGE_PX:
        raise VisionError(
            f'the edges of the board scatter by {edge_sd_px:.1f} px, at most {MAX_EDGE_PX} px are '
            'allowed: use a flat rectangle before a plain background'
        )
    crossings = [np.cross(a, b) for a, b in zip(np.roll(lines, 1, axis=0), lines, strict=True)]
    corners = np.array([c[:2] / c[2] for c in crossings])
    normals = np.array([line[:2] / np.linalg.norm(line[:2]) for line in lines])
    normal, offset_m = _plane(corners, size_m)
    return Board(corners, normals, edge_sd_px, normal, offset_m)


def _quadrilaterals(side: np.ndarray) -> list[np.ndarray]:
    height, width = side.shape
    contours, _ = cv2.findContours(side.astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    found = []
    for contour in contours:
        area = cv2.contourArea(contour)
        if area < MIN_AREA_SHARE * height * width:
            continue
        hull = cv2.convexHull(contour)
        corners = cv2.approxPolyDP(hull, 0.03 * cv2.arcLength(hull, True), True)
        if len(corners) != 4 or area < MIN_FILLED * cv2.contourArea(corners):
            continue
        u, v = hull[:, 0].T
        if min(u.min(), v.min(), width - 1 - u.max(), height - 1 - v.max()) >= BORDER_PX:
            found.append(corners)
    return found


def _edge_points(grey: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return places of the steepest grey between two corners, to a fraction of a pixel, (n, 2)."""
    along = last - first
    length = float(np.linalg.norm(along))
    across = np.array([along[1], -along[0]]) / length
    share = np.linspace(CORNER_SHARE, 1 - CORNER_SHARE, max(int(length), 20))
    offset = np.arange(-SEARCH_PX, SEARCH_PX + SAMPLE_PX / 2, SAMPLE_PX)
    places = first + share[:, None, None] * along + offset[:, None] * across
    u, v = np.moveaxis(places.astype(np.float32), -1, 0)
    profile = cv2.remap(grey, np.ascontiguousarray(u), np.ascontiguousarray(v), cv2.INTER_LINEAR)
    slope = np.square(np.gradient(profile, axis=1))
    slope = np.where(slope < 0.25 * slope.max(axis=1, keepdims=True), 0.0, slope) + 1e-12
    centre = slope @ offset / slope.sum(axis=1)
    return first + share[:, None] * along + centre[:, None] * across


def _line(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return a point, the unit normal and the scatter of a line through most of points (n, 2)."""
    kept = points
    for _ in range(ROUNDS):
        middle = kept.mean(axis=0)
        normal = np.linalg.svd(kept - middle, full_matrices=False)[2][1]
        off = (points - middle) @ normal
        scatter = max(1.4826 * float(np.median(np.abs(off))), 1e-3)
        kept = points[np.abs(off) < CUT_SIGMAS * scatter]
    return middle, normal, float(np.std((kept - middle) @ normal))


def _plane(corners: np.ndarray, size_m: tuple[float, float]) -> tuple[np.ndarray, float]:
    """Return the plane of the rectangle of known size whose corners (4, 2) fit best."""
    best: tuple[float, np.ndarray, float] = (np.inf, np.zeros(3), 0.0)
    for width, height in (size_m, size_m[::-1]):
        model = 0.5 * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
        model *= (width, height, 0)
        _, turns, places, errors = cv2.solvePnPGeneric(
            model, corners, np.eye(3), None, flags=cv2.SOLVEPNP_IPPE
        )
        for turn, place, error in zip(turns, places, errors, strict=True):
            normal = cv2.Rodrigues(turn)[0][:, 2]
            if float(error[0]) < best[0]:
                best = float(error[0]), normal, float(normal @ place[:, 0])
    _, normal, offset_m = best
    return (normal, offset_m) if offset_m > 0 else (-normal, -offset_m)
