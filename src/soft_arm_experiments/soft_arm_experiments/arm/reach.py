"""Closed-loop accuracy of any bellows arm over its workspace, in simulated time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soft_arm_calibration.rig import Rig
from soft_arm_control.errors import ExperimentError
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_experiments.arm.experiments import end_of_step_m, settling_time_s
from soft_arm_kinematics.arm import BellowsArm

PRESSURE_SHARE = 0.6  # of the range of each chamber about its middle, from which targets are drawn
HEIGHT_SHARES = 0.05, 0.95  # of the longest length of the arm: field of view
MAX_ALONG_VIEW = 0.6  # cosine between line of sight and ring axis; along it the wall is hidden
DRAWS = 1000
TOLERANCE_M, TIMEOUT_S = 1e-3, 15.0
HOLD_S = 1.0  # after the end of a move; its last part is scored


@dataclass(frozen=True)
class Move:
    """One move to a target.

    Attributes:
        target_m, tip_m: Target and true tip at the end [m], shape (3,), base frame.
        duration_s: Time from the goal to its end [s].
        problem: Reason of a failure; empty if the controller reached the target.
        settled_s: Settling time to within 2 % of the step [s]; None if it was not reached.
        swing_m: Largest distance of the held tip from its mean position [m].
    """

    target_m: np.ndarray
    tip_m: np.ndarray
    duration_s: float
    problem: str
    settled_s: float | None = None
    swing_m: float = 0.0

    @property
    def error_m(self) -> float:
        """Distance of the true tip from the target [m]."""
        return float(np.linalg.norm(self.tip_m - self.target_m))


def reach_poses(arm: BellowsArm, camera_m: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return lengths [m], shape (count, n), at random pressures where a camera sees the ring.

    Args:
        arm: The arm.
        camera_m: Position of the camera in the base frame [m], shape (3,).
        count, seed: Number of poses, and seed.

    Raises:
        ExperimentError: If the camera sees the ring in too few poses.
    """
    random = np.random.default_rng([seed, 3])
    low_pa, high_pa = arm.pressure_limits_pa
    middle_pa, half_pa = (low_pa + high_pa) / 2, PRESSURE_SHARE * (high_pa - low_pa) / 2
    drawn_pa = middle_pa + half_pa * random.uniform(-1, 1, (DRAWS, arm.n_actuators))
    lengths_m = arm.lengths(drawn_pa)
    T_base_tip = arm.at(lengths_m).tip_pose
    tips_m, axes = T_base_tip[:, :3, 3], T_base_tip[:, :3, 2]
    sight = (tips_m - camera_m) / np.linalg.norm(tips_m - camera_m, axis=1, keepdims=True)
    along = np.abs(np.sum(sight * axes, axis=1))
    heights_m = tips_m[:, 2]
    low, high = (share * float(arm.at(arm.length_limits_m[1]).tip_m[2]) for share in HEIGHT_SHARES)
    seen = (heights_m > low) & (heights_m < high) & (along < MAX_ALONG_VIEW)
    found_m = lengths_m[seen][:count]
    if len(found_m) < count:
        raise ExperimentError(
            f'the camera sees the ring in {len(found_m)} of {DRAWS} poses of '
            f'{arm.robot.name}, {count} are needed: give fewer --targets'
        )
    return found_m


def reach(
    rig: Rig,
    arm: BellowsArm,
    poses_m: np.ndarray,
    on_move: Callable[[], object] = lambda: None,
    tolerance_m: float = TOLERANCE_M,
    timeout_s: float = TIMEOUT_S,
) -> list[Move]:
    """Move one arm to the model's tip at lengths [m], shape (k, n), in turn.

    `on_move` is called after each; a target is reached within the tolerance [m], or the move fails
    after the timeout [s].
    """
    moves = []
    for lengths_m in poses_m:
        moves.append(_move(rig, arm, lengths_m, tolerance_m, timeout_s))
        on_move()
    return moves


def _move(
    rig: Rig, arm: BellowsArm, lengths_m: np.ndarray, tolerance_m: float, timeout_s: float
) -> Move:
    """Move, and hold the tip for `HOLD_S`."""
    target_m, start_s = arm.at(lengths_m).tip_m, rig.now_s()
    problem = _run(rig, target_m, lengths_m, False, tolerance_m, timeout_s)
    end_s = rig.now_s()
    stop_s = end_s + HOLD_S
    rig.wait_until(stop_s)
    times_s, tips_m = rig.tips(start_s, stop_s)
    scored_m = end_of_step_m(times_s, tips_m, stop_s)
    held_m = tips_m[times_s >= end_s]
    swing_m = float(np.linalg.norm(held_m - held_m.mean(axis=0), axis=1).max())
    settled_s = settling_time_s(times_s - start_s, tips_m, tips_m[0], target_m)
    if problem:  # as an operator: to ambient pressures, with the ring in view
        rest_m = arm.lengths(np.zeros(arm.n_actuators))
        _run(rig, arm.at(rest_m).tip_m, rest_m, True, tolerance_m, timeout_s)
    return Move(target_m, scored_m, end_s - start_s, problem, settled_s, swing_m)


def _run(
    rig: Rig,
    target_m: np.ndarray,
    lengths_m: np.ndarray,
    open_loop: bool,
    tolerance_m: float,
    timeout_s: float,
) -> str:
    """Run a goal to its end; return the reason of a failure, or an empty string."""
    ending = rig.move_tip(target_m, lengths_m, [], open_loop, tolerance_m, timeout_s)
    while (ended := ending()) is None:
        rig.wait_until(rig.now_s() + PERIOD_S)
    return ended[1]


def summary(moves: list[Move]) -> dict:
    """Return mean, 95th percentile and largest error [m] of moves, and all moves, for JSON."""
    errors_m = [move.error_m for move in moves]
    return {
        'moves': len(moves),
        'reached': sum(not move.problem for move in moves),
        'mean_m': float(np.mean(errors_m)),
        'p95_m': float(np.percentile(errors_m, 95)),
        'max_m': float(np.max(errors_m)),
        'median_duration_s': float(np.median([move.duration_s for move in moves])),
        'steps': [
            {
                'target_m': move.target_m.tolist(),
                'tip_m': move.tip_m.tolist(),
                'error_m': move.error_m,
                'duration_s': move.duration_s,
                'settled_s': move.settled_s,
                'problem': move.problem,
            }
            for move in moves
        ],
    }
