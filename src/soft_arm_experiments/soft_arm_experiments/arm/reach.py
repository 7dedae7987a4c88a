"""Closed loop of any bellows arm in simulated time, at targets all over its workspace.

Plant, valves, camera noise, ring detection and tip controller are those of the virtual rig. Devices
and network are a fixed delay, so that the figures do not depend on the load of the machine.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soft_arm_control.errors import ControlError, ExperimentError
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.controller import Status, TipController
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.goal_planning import plan
from soft_arm_kinematics.arm import BellowsArm
from soft_arm_physics.pneumatic_arm import pneumatic_arm
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.placement import camera_for, jig_for
from soft_arm_vision.calibration.extrinsics import Mounting
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.arc_prior import expected_axis
from soft_arm_vision.ring.detector import RingDetector
from soft_arm_vision.segmentation.segmenter import ring_of

PRESSURE_SHARE = 0.6  # of the range of each chamber about its middle, from which targets are drawn
HEIGHT_SHARES = 0.05, 0.95  # of the arm's longest length: in the camera's picture
MOST_ALONG_VIEW = 0.6  # cosine of line of sight and ring's axis; the wall is hidden along the axis
MOST_DRAWS = 1000
IMAGE_TICKS = 2  # 25 Hz
IMAGE_DELAY_S = 0.06  # from the exposure to the ring's pose at the controller
COMMAND_DELAY_TICKS = 1
TOLERANCE_M, TIMEOUT_S = 1e-3, 15.0
HOLD_S, SCORED_S = 1.0, 0.3  # after the end of a move, and the last part of that, which is scored


@dataclass(frozen=True)
class Move:
    """One move to a target.

    Attributes:
        target_m, tip_m: Target and true tip at the end [m], shape (3,), base frame.
        duration_s: Time from the goal to its end [s].
        problem: Why the move failed; empty if the controller reached the target.
    """

    target_m: np.ndarray
    tip_m: np.ndarray
    duration_s: float
    problem: str

    @property
    def error_m(self) -> float:
        """Distance of the true tip from the target [m]."""
        return float(np.linalg.norm(self.tip_m - self.target_m))


def reach_poses(arm: BellowsArm, camera_m: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return lengths [m], shape (count, n), at random pressures, where a camera sees the ring.

    Args:
        arm: The arm.
        camera_m: Position of the camera in the base frame [m], shape (3,).
        count, seed: Number of the poses, and the seed of their draw.

    Raises:
        ExperimentError: If the camera hardly ever sees the ring.
    """
    random = np.random.default_rng([seed, 3])
    low_pa, high_pa = arm.pressure_limits_pa
    middle_pa, half_pa = (low_pa + high_pa) / 2, PRESSURE_SHARE * (high_pa - low_pa) / 2
    drawn_pa = middle_pa + half_pa * random.uniform(-1, 1, (MOST_DRAWS, arm.n_actuators))
    lengths_m = arm.lengths(drawn_pa)
    T_base_tip = arm.fk(lengths_m)
    tips_m, axes = T_base_tip[:, :3, 3], T_base_tip[:, :3, 2]
    sight = (tips_m - camera_m) / np.linalg.norm(tips_m - camera_m, axis=1, keepdims=True)
    along = np.abs(np.sum(sight * axes, axis=1))
    heights_m = tips_m[:, 2]
    low, high = (share * float(arm.tip(arm.length_limits_m[1])[2]) for share in HEIGHT_SHARES)
    seen = (heights_m > low) & (heights_m < high) & (along < MOST_ALONG_VIEW)
    found_m = lengths_m[seen][:count]
    if len(found_m) < count:
        raise ExperimentError(
            f'the camera sees the ring in {len(found_m)} of {MOST_DRAWS} poses of '
            f'{arm.robot.name}, {count} are needed: give fewer --targets'
        )
    return found_m


class SimulatedLoop:
    """An arm and its controller, stepped together; `close` it in the thread that made it.

    Args:
        arm: The arm, with the curves of its rig.
        dynamics: Of the same rig.
        mounting: Calibrated pose of the camera.
        plant_seed: Draws how the arm deviates from its robot file, and all noise.
    """

    def __init__(self, arm: BellowsArm, dynamics: Dynamics, mounting: Mounting, plant_seed: int):
        robot, parameters = arm.robot, camera_for(arm.robot)
        self._arm, self._mounting = arm, mounting
        self._plant = pneumatic_arm(robot, plant_seed)
        self._controller = TipController(arm, dynamics)
        self._camera = VirtualCamera(robot, parameters, jig_for(robot), plant_seed)
        self._detector = RingDetector(ring_of(robot))
        image = parameters.image
        self._intrinsics = Intrinsics(
            image.width_px, image.height_px, image.fx_px, image.fy_px, image.cx_px, image.cy_px
        )
        self._ticks = 0
        self._images: deque[tuple[float, np.ndarray | None, np.ndarray]] = deque()
        self._commands: deque[np.ndarray] = deque()
        for _ in range(round(0.5 / PERIOD_S)):
            self._tick()

    def close(self) -> None:
        """Free the OpenGL context."""
        self._camera.close()

    def move(self, lengths_m: np.ndarray) -> Move:
        """Move to the model's tip at these lengths [m], shape (n,), and hold it for `HOLD_S`."""
        target_m, start_s = self._arm.tip(lengths_m), self._now_s
        problem = self._run(target_m, lengths_m, open_loop=False)
        end_s, tips_m = self._now_s, []
        for _ in range(round(HOLD_S / PERIOD_S)):
            self._tick()
            tips_m.append(self._plant.robot.T_base_tip()[:3, 3])
        scored_m = np.mean(tips_m[-round(SCORED_S / PERIOD_S) :], axis=0)
        if problem:  # as an operator does it: to ambient pressures, where the ring is in view
            rest_m = self._arm.lengths(np.zeros(self._arm.n_actuators))
            self._run(self._arm.tip(rest_m), rest_m, open_loop=True)
        return Move(target_m, scored_m, end_s - start_s, problem)

    def _run(self, target_m: np.ndarray, lengths_m: np.ndarray, open_loop: bool) -> str:
        """Run a goal to its end; return why it failed, or nothing."""
        arm, sensors_pa = self._arm, self._plant.robot.sensor_pressures_pa()
        present_m = arm.lengths(arm.clip_pressures(sensors_pa))
        goal_options = (TOLERANCE_M, TIMEOUT_S, open_loop)
        try:
            goal = plan(arm, [target_m], [lengths_m], [0.0], [], present_m, *goal_options)
            self._controller.start(goal, self._now_s)
        except ControlError as error:
            return str(error)
        status = self._tick()
        while status.outcome is None:
            status = self._tick()
        return status.message

    @property
    def _now_s(self) -> float:
        return self._ticks * PERIOD_S

    def _tick(self) -> Status:
        self._plant.step(PERIOD_S)
        self._ticks += 1
        self._controller.add_pressures(self._now_s, self._plant.robot.sensor_pressures_pa())
        if self._ticks % IMAGE_TICKS == 0:
            self._see()
        while self._images and self._images[0][0] <= self._now_s - IMAGE_DELAY_S:
            stamp_s, ring_m, covariance_m2 = self._images.popleft()
            self._controller.add_image(stamp_s)
            if ring_m is not None:
                self._controller.add_ring(stamp_s, ring_m, covariance_m2)
        command_pa, status = self._controller.step(self._now_s)
        if command_pa is not None:
            self._commands.append(command_pa)
        if len(self._commands) > COMMAND_DELAY_TICKS:
            self._plant.robot.actuate(self._plant.robot.clip(self._commands.popleft()))
        return status

    def _see(self) -> None:
        frame = self._camera.capture(self._plant.robot.joint_positions())
        found = self._detector.detect(
            frame.rgb,
            frame.depth,
            self._intrinsics,
            lambda centre_m: expected_axis(centre_m, self._mounting.T_base_camera),
        )
        if found.fit is None:
            self._images.append((self._now_s, None, np.zeros((3, 3))))
            return
        T = self._mounting.T_base_camera
        ring_m = T[:3, :3] @ found.fit.centre + T[:3, 3]
        covariance_m2 = T[:3, :3] @ found.fit.covariance[:3, :3] @ T[:3, :3].T
        covariance_m2 += self._mounting.covariance_at(ring_m)[:3, :3]
        self._images.append((self._now_s, ring_m, covariance_m2))


def reach(
    arm: BellowsArm,
    dynamics: Dynamics,
    mounting: Mounting,
    plant_seed: int,
    count: int,
    on_move: Callable[[], object],
) -> list[Move]:
    """Move one arm to `count` targets in turn; `on_move` is called after each."""
    poses_m = reach_poses(arm, mounting.T_base_camera[:3, 3], count, plant_seed)
    loop = SimulatedLoop(arm, dynamics, mounting, plant_seed)
    try:
        moves = []
        for lengths_m in poses_m:
            moves.append(loop.move(lengths_m))
            on_move()
        return moves
    finally:
        loop.close()


def summary(moves: list[Move]) -> dict:
    """Return mean, 95th percentile and largest error [m] of moves, and every move, for JSON."""
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
                'problem': move.problem,
            }
            for move in moves
        ],
    }
