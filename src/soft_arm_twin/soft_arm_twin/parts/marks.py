"""Markers in space: points, lines, handles, covariance ellipsoids."""

import numpy as np

from soft_arm_twin.parts.shapes import shape_surface
from soft_arm_twin.scene import Part

# Colour-blind-safe palette of Okabe and Ito; each colour has a different marker.
MODEL_COLOUR = (0.0, 0.45, 0.70)
VISION_COLOUR = (0.90, 0.62, 0.0)
TARGET_COLOUR = (0.80, 0.47, 0.65)
NEAREST_COLOUR = (0.84, 0.37, 0.0)
BEST_COLOUR = (0.0, 0.62, 0.45)
RIVAL_COLOUR = (0.34, 0.71, 0.91)

SIGMAS = 2.0
HIDDEN_POSE = np.zeros((3, 4), np.float32)
"""Frame of hidden parts."""


def handle_part(
    name: str, frame: int, colour_rgb: tuple[float, float, float], radius_m: float
) -> Part:
    """Return a sphere that marks a point: the origin of a frame."""
    return Part.rigid(name, 'marks', colour_rgb, frame, *shape_surface('sphere', (radius_m,)))


def cube_part(name: str, frame: int, colour_rgb: tuple[float, float, float], edge_m: float) -> Part:
    """Return a cube that marks a point: the origin of a frame."""
    return Part.rigid(name, 'marks', colour_rgb, frame, *shape_surface('box', (edge_m,) * 3))


def points_part(
    name: str,
    group: str,
    frame: int,
    colour_rgb: tuple[float, float, float],
    points_m: np.ndarray,
    opacity: float = 1.0,
) -> Part:
    """Return points (n, 3) [m] of one colour in a frame."""
    return Part.rigid(name, group, colour_rgb, frame, points_m, kind='points', opacity=opacity)


def trace_part(
    name: str, first_frame: int, count: int, colour_rgb: tuple[float, float, float]
) -> Part:
    """Return a line through the origins of `count` frames, the points of a trace."""
    index, nothing = first_frame + np.arange(count), np.zeros((count, 3))
    return Part(
        name, 'traces', colour_rgb, index, index, np.zeros(count), nothing, nothing, kind='line'
    )


def point_frames(points_m: np.ndarray) -> np.ndarray:
    """Return frames (..., 3, 4) at points (..., 3) [m], with the axes of the world."""
    frames = np.zeros((*np.shape(points_m)[:-1], 3, 4), np.float32)
    frames[..., :3, :3] = np.eye(3)
    frames[..., 3] = points_m
    return frames


def ellipsoid_part(
    name: str,
    frame: int,
    colour_rgb: tuple[float, float, float],
    source: str = '',
    opacity: float = 0.35,
) -> Part:
    """Return a unit sphere, which the frames of `ellipsoid_frame` scale to an ellipsoid."""
    surface = shape_surface('sphere', (1.0,))
    return Part.rigid(
        name, 'covariance', colour_rgb, frame, *surface, opacity=opacity, source=source
    )


def ellipsoid_frame(centre_m: np.ndarray, covariance_m2: np.ndarray) -> np.ndarray:
    """Return the frame (3, 4) that scales a unit sphere to `SIGMAS` standard deviations.

    Args:
        centre_m: (3,) [m].
        covariance_m2: (3, 3) [m^2], symmetric; eigenvalues below zero count as zero.
    """
    values, axes = np.linalg.eigh(covariance_m2)
    frame = np.zeros((3, 4), np.float32)
    # Symmetric, so that the surface is never mirrored.
    frame[:, :3] = (axes * (SIGMAS * np.sqrt(np.maximum(values, 0.0)))) @ axes.T
    frame[:, 3] = centre_m
    return frame
