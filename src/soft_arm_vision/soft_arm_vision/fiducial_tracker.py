"""Pose of the tip from square markers on it, of which a camera sees one or more."""

from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.fiducial import Fiducial
from soft_arm_description.robot import Robot
from soft_arm_vision.calibration.mounting import Mounting
from soft_arm_vision.clouds import cloud
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.tip_tracker import TipSight

MIN_SIDE_PX = 12.0  # of a marker; below it a bit has two pixels, and a wrong id is likely
MAX_MISFIT = 25.0  # mean squared residual over what the sensor explains, above which all is wrong
REACH_PX, STEP_PX = 2.5, 0.25  # across a side, where the rise from black to white is looked for
AWAY = 0.12  # share of a side next to its corners that is left out
MIN_RISE = 0.2  # of the steepest, below which a rise is noise
MIN_SIDE_RISE = 0.3  # of a marker's clearest side; of a side that is hidden it is less
MAX_WIDTH_PX = 3.2  # of an edge: a lens that blurs by 1.2 px makes 3, motion of 9 px 3 to 5
INNER_SHARE = 0.7  # of a marker's sides: its depth is read there, away from its edges
FLAT_M = 1e-4  # markers nearer to one plane have the two poses of a plane


def fiducial_of(robot: Robot) -> Fiducial:
    """Return the markers on a robot's tip.

    Raises:
        VisionError: If there are none.
    """
    if robot.fiducial is None:
        raise VisionError(
            f'robot {robot.name} has no markers on its tip: add the key fiducial to its file, or '
            'choose another tip_source'
        )
    return robot.fiducial


def dictionary_of(fiducial: Fiducial) -> 'cv2.aruco.Dictionary':
    """Return OpenCV's dictionary of the markers."""
    return cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, fiducial.dictionary))


class Solution(NamedTuple):
    """A pose of the tip in the optical frame (4, 4), and its covariance [m, rad] (6, 6)."""

    T: np.ndarray
    covariance: np.ndarray
    misfit: float  # sum of squares of residuals in standard deviations


@dataclass(frozen=True)
class MarkersSeen:
    """Corners and depths of n detected markers.

    Attributes:
        corners_m: In the tip frame, shape (n, 4, 3).
        corners_px: In the picture, shape (n, 4, 2).
        depths_m, sigmas_m: Depth of each marker and its standard deviation, infinite where it is
            unknown, shape (n,).
    """

    corners_m: np.ndarray
    corners_px: np.ndarray
    depths_m: np.ndarray
    sigmas_m: np.ndarray

    @property
    def freedom(self) -> int:
        """Degrees of freedom that a fit of the pose leaves."""
        return self.corners_px.size + int(np.isfinite(self.sigmas_m).sum()) - 6


class FiducialTracker:
    """Finds the markers, and fits the tip's pose to their corners and depths.

    The noise of corners is `sensor.edge_sd_px`, the noise of the mean depth of a marker
    follows from its number of independent pixels and the common-mode error. Larger residuals
    inflate the covariance. Of the two poses that explain a flat target the likelier is returned;
    the other one adds to the covariance by its likelihood.

    Args:
        fiducial: The markers.
        mounting: Calibrated pose of the camera.
        sensor: Of the camera.
    """

    def __init__(self, fiducial: Fiducial, mounting: Mounting, sensor: DepthSensor):
        self._corners_m, self._mounting, self._sensor = fiducial.corners_m, mounting, sensor
        dictionary = dictionary_of(fiducial)
        self._detector = cv2.aruco.ArucoDetector(dictionary)
        generated = dictionary.generateImageMarker(0, dictionary.markerSize + 2)
        self._quarter_turns = fiducial.quarter_turns(generated > 0)
        self._found: tuple = (), None

    def track(self, colour: np.ndarray, depth: np.ndarray, intrinsics: Intrinsics) -> TipSight:
        """Return the tip in one frame; see `TipTracker`."""
        grey = cv2.cvtColor(colour, cv2.COLOR_RGB2GRAY)
        corners, ids, _ = self._detector.detectMarkers(grey)
        self._found = [np.roll(c, -self._quarter_turns, axis=1) for c in corners], ids
        seen = self._seen(self._sensor.light(grey), cloud.depth_in_metres(depth), intrinsics)
        if isinstance(seen, str):
            return TipSight.missed(seen)
        solutions = sorted(self.solutions(seen, intrinsics), key=lambda s: s.misfit)
        if not solutions:
            return TipSight.missed('the corners of the markers give no pose')
        best = solutions[0]
        excess = best.misfit / seen.freedom
        if excess > MAX_MISFIT:
            return TipSight.missed(
                f'the markers do not fit together, their corners are {np.sqrt(excess):.0f} times '
                "as far off as the camera's are: check size_m and the places in the robot file"
            )
        covariance = best.covariance * max(1.0, excess)
        for other in solutions[1:]:
            apart = np.append(
                other.T[:3, 3] - best.T[:3, 3],
                Rotation.from_matrix(other.T[:3, :3] @ best.T[:3, :3].T).as_rotvec(),
            )
            odds = np.exp(-0.5 * (other.misfit - best.misfit) / max(1.0, excess))
            covariance = covariance + odds / (1 + odds) * np.outer(apart, apart)
        return TipSight(*self._mounting.in_base(best.T, covariance))

    def overlay(self, colour: np.ndarray) -> np.ndarray:
        """Return the newest frame's colour image (h, w, 3) with its markers drawn on it."""
        return cv2.aruco.drawDetectedMarkers(colour.copy(), *self._found)

    def check_camera(self) -> None:
        """Return None: markers do not check the camera; see `TipTracker`."""

    def _seen(
        self, light: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics
    ) -> MarkersSeen | str:
        """Return what is seen of the tip's markers, or why nothing is."""
        sensor, (squares, ids) = self._sensor.at(intrinsics.fx), self._found
        parts, small, widest_px = [], False, 0.0
        for square, number in zip(squares, () if ids is None else ids.ravel(), strict=False):
            corners_px = square.reshape(4, 2).astype(float)
            side_px = np.linalg.norm(corners_px - np.roll(corners_px, -1, axis=0), axis=1).min()
            small |= side_px < MIN_SIDE_PX
            if number in self._corners_m and side_px >= MIN_SIDE_PX:
                sharp_px, width_px = sharpened(corners_px, light)
                widest_px = max(widest_px, width_px)
                depth = _depth(corners_px, depth_m, sensor)
                parts.append((self._corners_m[int(number)], sharp_px, *depth))
        if widest_px > MAX_WIDTH_PX:  # motion blurs all of them, some only seem sharp
            return (
                f'markers are seen, but blurred: an edge is {widest_px:.1f} px wide, at most '
                f'{MAX_WIDTH_PX:.1f} px are allowed: shorten the exposure, focus, or move slower'
            )
        if parts:
            return MarkersSeen(*(np.array(part, float) for part in zip(*parts, strict=True)))
        if small:
            return f'markers are seen, but smaller than {MIN_SIDE_PX:.0f} px: come nearer'
        return 'no marker of the tip in view'

    def solutions(self, seen: MarkersSeen, intrinsics: Intrinsics) -> list[Solution]:
        """Return the poses of the tip in the optical frame that explain what is seen."""
        corners_m, corners_px = seen.corners_m.reshape(-1, 3), seen.corners_px.reshape(-1, 2)
        spread = np.linalg.svd(corners_m - corners_m.mean(axis=0), compute_uv=False)
        flat = spread[2] < FLAT_M
        found, turns, places, _ = cv2.solvePnPGeneric(
            corners_m,
            intrinsics.rays(corners_px),
            np.eye(3),
            None,
            flags=cv2.SOLVEPNP_IPPE if flat else cv2.SOLVEPNP_SQPNP,
        )
        starts = zip(turns, places, strict=True) if found else ()
        solutions = [self._refined(*start, seen, intrinsics) for start in starts]
        return [s for s in solutions if s is not None]

    def _refined(
        self, turn: np.ndarray, place_m: np.ndarray, seen: MarkersSeen, intrinsics: Intrinsics
    ) -> Solution | None:
        """Return the least-squares pose near a start, with its covariance (6, 6) [m, rad]."""
        R_start = Rotation.from_rotvec(turn.ravel())
        edge_px = self._sensor.edge_sd_px

        def residuals(x: np.ndarray) -> np.ndarray:
            points_m = (Rotation.from_rotvec(x[3:]) * R_start).apply(
                seen.corners_m.reshape(-1, 3)
            ) + x[:3]
            pixels = intrinsics.pixels(points_m[:, :2] / points_m[:, 2:])
            depths_m = points_m[:, 2].reshape(-1, 4).mean(axis=1)
            return np.append(
                ((pixels - seen.corners_px.reshape(-1, 2)) / edge_px).ravel(),
                (depths_m - seen.depths_m) / seen.sigmas_m,
            )

        start = np.append(place_m.ravel(), np.zeros(3))
        fit = least_squares(residuals, start, method='lm', x_scale=[0.1, 0.1, 0.1, 1, 1, 1])
        if not fit.success or fit.x[2] <= 0:
            return None
        T = np.eye(4)
        T[:3, :3] = (Rotation.from_rotvec(fit.x[3:]) * R_start).as_matrix()
        T[:3, 3] = fit.x[:3]
        return Solution(T, np.linalg.pinv(fit.jac.T @ fit.jac), 2 * fit.cost)


def _depth(corners_px: np.ndarray, depth_m: np.ndarray, sensor: DepthSensor) -> tuple[float, float]:
    """Return the depth of a marker with corners (4, 2) [px], and its standard deviation [m]."""
    middle = corners_px.mean(axis=0)
    inner = np.round(middle + INNER_SHARE * (corners_px - middle)).astype(np.int32)
    mask = np.zeros(depth_m.shape, np.uint8)
    cv2.fillConvexPoly(mask, inner, 1)
    known_m = depth_m[(mask > 0) & (depth_m > 0)]
    if not len(known_m):
        return 0.0, np.inf
    at_m = float(np.median(known_m))
    noise_m = sensor.sigma_m(at_m) * np.sqrt(sensor.independent_px2 / len(known_m))
    return at_m - sensor.bias_m, float(np.hypot(noise_m, sensor.common_sd_m(at_m)))


def sharpened(corners_px: np.ndarray, light: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the corners of a black square (4, 2) [px], as its sides meet, and its blur.

    A side is the line through the middles of the rises from black to white along it, which fits
    them robustly. The blur is the width of the widest edge [px]: its rise over its steepest slope.

    Args:
        corners_px: Rough corners, clockwise, shape (4, 2).
        light: That the picture stands for, shape (h, w), float32.
    """
    across_px = np.arange(-REACH_PX, REACH_PX + STEP_PX, STEP_PX)
    lines, heights, widths_px = [], [], []
    for first, second in zip(corners_px, np.roll(corners_px, -1, axis=0), strict=True):
        length_px = np.linalg.norm(second - first)
        x, y = (second - first) / length_px
        outwards = np.array([y, -x])
        along = np.linspace(AWAY, 1 - AWAY, max(int(length_px), 4))[:, None]
        foot = first + along * (second - first)
        at = (foot[:, None] + across_px[:, None] * outwards).astype(np.float32)
        profile = cv2.remap(light, at[..., 0], at[..., 1], cv2.INTER_LINEAR).astype(float)
        rise = np.clip(np.diff(profile, axis=1), 0, None)
        rise *= rise > MIN_RISE * rise.max(axis=1, keepdims=True)
        heights.append(np.median(rise.sum(axis=1)))
        widths_px.append(STEP_PX * np.median(rise.sum(axis=1) / np.maximum(rise.max(axis=1), 1e-9)))
        rise += 1e-9  # of a side that is not there, in whose middle the edge then is
        middle_px = (rise @ (across_px[1:] + across_px[:-1])) / 2 / rise.sum(axis=1)
        edge = foot + middle_px[:, None] * outwards
        u, v, u0, v0 = cv2.fitLine(edge.astype(np.float32), cv2.DIST_HUBER, 0, 0.01, 0.01).ravel()
        lines.append((v, -u, u * v0 - v * u0))
    met = np.cross(np.roll(lines, 1, axis=0), lines)
    seen = np.array(heights) > MIN_SIDE_RISE * max(heights)
    return met[:, :2] / met[:, 2:], float(np.max(widths_px, where=seen, initial=0.0))
