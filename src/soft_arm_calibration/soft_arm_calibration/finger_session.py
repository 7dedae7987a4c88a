"""Measure the bends of a finger over a pressure cycle."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger.angles import FingerEstimator
from soft_arm_vision.finger.records import PictureRecord, PictureWriter
from soft_arm_vision.intrinsics import Intrinsics

STEP_PA = 5e3
FRAMES = 3
PAPER_ERROR_PERCENT = {-90: 2.3, 50: 0.8, 100: 1.5, 120: 3.4}  # by kPa: gripper paper, table I

# Of each piece: pressures [Pa], bends [rad], and which were taken on the way up.
Data = dict[str, tuple[np.ndarray, ...]]


@dataclass(frozen=True)
class TipError:
    """Errors of the model at one pressure, in both directions: (up, down).

    Attributes:
        tip_percent: Distance of the tips, relative to the length of the finger.
        bend_percent: Error of the total bend, relative to the true bend.
    """

    tip_percent: tuple[float, float]
    bend_percent: tuple[float, float]


class Finger(Protocol):
    """A finger under a camera, virtual or real."""

    @property
    def intrinsics(self) -> Intrinsics:
        """Intrinsics of the camera."""

    def settle(self, target_pa: float) -> float:
        """Set a pressure, wait until it has settled, return the measured pressure [Pa]."""

    def pictures(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return pairs of colour and depth, `frames` times."""


def sweep_pa(robot: Robot) -> list[tuple[float, bool]]:
    """Return the pressures [Pa] of one cycle, up then down, and whether each is on the way up."""
    low_pa, high_pa = robot.pressure_limits_pa[:, 0]
    up = np.linspace(low_pa, high_pa, round((high_pa - low_pa) / STEP_PA) + 1)
    return [(float(p), True) for p in up] + [(float(p), False) for p in up[::-1]]


def record(
    finger: Finger,
    robot: Robot,
    camera_side: str = 'minus_y',
    progress: Callable[[Iterable], Iterable] = iter,
    writer: PictureWriter | None = None,
) -> Data:
    """Measure the bends over one pressure cycle that begins at the lowest pressure.

    Args:
        finger: The rig, virtual or running.
        robot: Robot file of the finger.
        camera_side: As `FingerEstimator`.
        progress: Wraps the list of pressures, such as tqdm.
        writer: Keeps the first picture at every pressure.

    Raises:
        VisionError: If the lines are not found.
    """
    finger.settle(sweep_pa(robot)[0][0])
    estimator, rows = FingerEstimator(robot, finger.intrinsics, camera_side), []
    for target_pa, rising in progress(sweep_pa(robot)):
        pressure_pa, pictures = finger.settle(target_pa), finger.pictures()
        rows.append(
            (pressure_pa, rising, [estimator.update(colour, depth) for colour, depth in pictures])
        )
        if writer:
            writer.add(pressure_pa, rising, *pictures[0])
    return by_piece(robot, estimator, rows)


def measure_records(
    records: Iterable[PictureRecord],
    clicks: dict[str, np.ndarray],
    intrinsics: Intrinsics,
    robot: Robot,
    camera_side: str = 'minus_y',
) -> Data:
    """Measure the bends in recorded images, by clicked lines where there are any.

    Raises:
        VisionError: If a picture cannot be read or its lines are not found; names the picture.
    """
    estimator, rows = FingerEstimator(robot, intrinsics, camera_side), []
    for one in records:
        try:
            rows.append(
                (
                    one.pressure_pa,
                    one.rising,
                    [estimator.update(*one.images(), clicks.get(one.colour.name))],
                )
            )
        except VisionError as error:
            raise VisionError(f'{one.colour.name}: {error}') from error
    return by_piece(robot, estimator, rows)


def by_piece(
    robot: Robot, estimator: FingerEstimator, rows: list[tuple[float, bool, list[np.ndarray]]]
) -> Data:
    """Convert rows of pressure [Pa], direction and lines into the input of `fit_bends`."""
    pressures_pa, rising = (np.array(column) for column in list(zip(*rows, strict=True))[:2])
    bends = np.array(
        [
            np.mean([estimator.estimate(lines).piece_angles_rad for lines in pictures], axis=0)
            for *_, pictures in rows
        ]
    )
    return {name: (pressures_pa, bends[:, i], rising) for i, name in enumerate(robot.segment_names)}
