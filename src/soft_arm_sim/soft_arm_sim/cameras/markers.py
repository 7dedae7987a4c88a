"""Square markers on the tip, as shapes of a scene: black and white bits on a white plate."""

from itertools import groupby

import cv2
import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.fiducial import PLATE, Fiducial

PLATE_HALF_M = 5e-4  # half its thickness
BIT_HALF_M = 2e-5  # so far do bits stand out of the plate, and white ones out of black ones
BLACK, WHITE = [0.03, 0.03, 0.03, 1.0], [0.92, 0.92, 0.92, 1.0]


def add_markers(tip: 'mujoco.MjsBody', fiducial: Fiducial, tip_z_m: float, group: int) -> None:
    """Add the markers of a tip to its body, in a group, whose tip frame is `tip_z_m` along z."""
    dictionary = cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, fiducial.dictionary))
    side = dictionary.markerSize + 2
    cell_m = fiducial.size_m / side
    turns = fiducial.quarter_turns(dictionary.generateImageMarker(0, side) > 0)
    for marker in fiducial.markers:
        T = fiducial.T_tip_marker(marker)
        T[2, 3] += tip_z_m
        half_m = PLATE * fiducial.size_m / 2
        _add_box(tip, T, (0.0, 0.0, -PLATE_HALF_M), (half_m, half_m, PLATE_HALF_M), WHITE, group)
        half_m = fiducial.size_m / 2
        _add_box(tip, T, (0.0, 0.0, 0.0), (half_m, half_m, BIT_HALF_M), BLACK, group)
        cells = np.rot90(dictionary.generateImageMarker(marker.id, side) > 0, turns)
        for row, line in enumerate(cells):
            column = 0
            for white, run in groupby(line):
                count = len(list(run))
                if white:
                    x_m = (column + count / 2) * cell_m - half_m
                    y_m = half_m - (row + 0.5) * cell_m
                    size = (count * cell_m / 2, cell_m / 2, 2 * BIT_HALF_M)
                    _add_box(tip, T, (x_m, y_m, 0.0), size, WHITE, group)
                column += count


def _add_box(
    body: 'mujoco.MjsBody',
    T: np.ndarray,
    at_m: tuple[float, float, float],
    half_m: tuple[float, float, float],
    colour: list[float],
    group: int,
) -> None:
    x, y, z, w = Rotation.from_matrix(T[:3, :3]).as_quat()
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=half_m,
        pos=T[:3, :3] @ at_m + T[:3, 3],
        quat=[w, x, y, z],
        rgba=colour,
        mass=0,
        group=group,
    )
