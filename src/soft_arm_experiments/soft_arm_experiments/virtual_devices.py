"""Virtual devices for `soft_arm_calibration`, offered as entry points by setup.py."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_experiments.arm.depth_measurement import board_pictures
from soft_arm_experiments.arm.virtual_finger import VirtualFinger
from soft_arm_sim.cameras.parameters import CONFIG, load_camera_parameters
from soft_arm_sim.cameras.placement import jig_for
from soft_arm_sim.motion_capture import VirtualMotionCapture, load_motion_capture

if TYPE_CHECKING:
    from soft_arm_vision.intrinsics import Intrinsics

SETS, SEED = 10, 0  # of the virtual motion-capture system
finger = VirtualFinger


def jig(robot: Robot) -> np.ndarray:
    """Return the centre of the ring on each peg of the virtual jig [m], (n, 3), base frame."""
    return np.array(jig_for(robot).pegs_m)


def board(camera: str, views: int) -> Iterator[tuple[np.ndarray, np.ndarray, 'Intrinsics']]:
    """Return colour, depth and intrinsics of views of a board by a shipped camera.

    Raises:
        SimulationError: Without OpenGL for rendering.
    """
    return board_pictures(load_camera_parameters(CONFIG / f'{camera}_camera.yaml'), views)


@dataclass(frozen=True, eq=False)
class MotionCapturePlaces:
    """Places of the tip on the jig, as the virtual motion-capture system measures them.

    Attributes:
        world_m, base_m: Measured and true places [m], (n, 3) each.
        place: Number of the peg of each, (n,).
        T_body_tip: Pose of the tip on the tracked body, (4, 4).
        world_frame: Frame of the measured places.
        latency_s: Age of a pose at its stamp [s].
    """

    world_m: np.ndarray
    base_m: np.ndarray
    place: np.ndarray
    T_body_tip: np.ndarray
    world_frame: str
    latency_s: float


def motion_capture(robot: Robot) -> MotionCapturePlaces:
    """Measure the tip on the pegs of the virtual jig."""
    pegs, system = jig_for(robot), VirtualMotionCapture(load_motion_capture(), SEED)
    parameters = system.parameters
    T_body_tip = np.linalg.inv(parameters.body_in_tip.matrix)
    random, measured_m = np.random.default_rng([SEED, 7]), []
    place = np.tile(np.arange(len(pegs.pegs_m)), SETS)
    base_m = np.array(pegs.pegs_m)[place]
    for peg_m in base_m:
        T = np.eye(4)
        T[:3, 3] = peg_m + pegs.repeatability_m * random.standard_normal(3)
        measured_m.append((system.measured(T) @ T_body_tip)[:3, 3])
    return MotionCapturePlaces(
        np.array(measured_m),
        base_m,
        place,
        T_body_tip,
        parameters.world_frame,
        parameters.latency_s,
    )
