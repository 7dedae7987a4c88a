"""Calibration of the depth sensor of a virtual camera, as by `softarm calibrate depth`."""

from collections.abc import Iterator

import numpy as np

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_experiments.virtual_intrinsics import intrinsics_of
from soft_arm_sim.cameras.board_scene import BOARD_M, board_frames
from soft_arm_sim.cameras.parameters import CameraParameters
from soft_arm_vision.calibration.depth_board import fit_sensor, view_board
from soft_arm_vision.clouds.cloud import depth_in_metres
from soft_arm_vision.intrinsics import Intrinsics

VIEWS = 24


def board_pictures(
    parameters: CameraParameters, count: int
) -> Iterator[tuple[np.ndarray, np.ndarray, Intrinsics]]:
    """Yield colour, depth and intrinsics of frames of the board.

    Raises:
        SimulationError: If OpenGL is not available.
    """
    intrinsics = intrinsics_of(parameters)
    for frame, _ in board_frames(parameters, count):
        yield frame.rgb, frame.depth, intrinsics


def measured_sensor(parameters: CameraParameters) -> DepthSensor:
    """Return the depth sensor of a virtual camera, measured on frames of the board.

    Raises:
        SimulationError: If OpenGL is not available.
        VisionError: If the board cannot be measured.
    """
    views = [
        view_board(colour, depth_in_metres(depth), intrinsics, BOARD_M)
        for colour, depth, intrinsics in board_pictures(parameters, VIEWS)
    ]
    seen = [view for view in views if view is not None]
    range_m = parameters.noise.depth_range_m
    return fit_sensor(seen, parameters.image.fx_px, range_m, BOARD_M, board_sd_m=0.0)[0]
