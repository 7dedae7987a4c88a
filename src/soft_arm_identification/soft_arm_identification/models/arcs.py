"""Arcs that are observed in recordings, and their regression on inputs."""

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_identification.arm_sections import ArmSections
from soft_arm_identification.recording import Recording

RIDGE = 1e-3  # of the regression, per sample


def transform(rotation_vector: np.ndarray, position_m: np.ndarray) -> np.ndarray:
    """Transform (4, 4) of a rotation vector [rad] and a position [m]."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(rotation_vector).as_matrix()
    pose[:3, 3] = position_m
    return pose


def ends_of(arm: ArmSections, recording: Recording) -> np.ndarray:
    """Recorded ends of the sections [m], NaN where they are unknown, shape (n, s, 3).

    Raises:
        RecordingError: If the recording lacks a point of the arm.
    """
    ends_m = np.full((len(recording.time_s), len(arm.sections), 3), np.nan)
    for place, section in enumerate(arm.sections):
        if section.end is not None:
            ends_m[:, place] = recording.point_m(section.end)
    ends_m[:, -1] = recording.tip_m
    return ends_m


def arcs_to(poses: np.ndarray, ends_m: np.ndarray) -> np.ndarray:
    """Arcs (n, 3) that begin along z of poses (n, 4, 4) and end at positions (n, 3) [m]."""
    local = np.einsum('nji,nj->ni', poses[:, :3, :3], ends_m - poses[:, :3, 3])
    across = np.hypot(local[:, 0], local[:, 1])
    theta = 2.0 * np.arctan2(across, local[:, 2])
    ell = np.linalg.norm(local, axis=1) / np.sinc(theta / (2.0 * np.pi))
    direction = local[:, :2] / np.maximum(across, 1e-12)[:, None]
    return np.column_stack([theta[:, None] * direction, ell])


def linear_fit(inputs: np.ndarray, arcs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rest arc (3,) and gains (3, k) of arcs (n, 3), NaN where unknown, on inputs (n, k)."""
    known = np.isfinite(arcs).all(axis=1)
    design = np.column_stack([np.ones(known.sum()), inputs[known]])
    ridge = np.diag([1e-3 * RIDGE] + [RIDGE] * inputs.shape[1]) * len(design)
    found = np.linalg.solve(design.T @ design + ridge, design.T @ arcs[known])
    return found[0], found[1:].T
