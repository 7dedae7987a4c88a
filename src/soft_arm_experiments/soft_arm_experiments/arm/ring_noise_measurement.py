"""Measurement of `ring_noise` on a virtual rig: rendered camera against the true tip."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from soft_arm_description.calibration import Measurement
from soft_arm_description.rig import VIRTUAL, Rig
from soft_arm_experiments.arm.reach import reach_poses
from soft_arm_experiments.arm.ring_noise import RingNoise, fitted
from soft_arm_experiments.arm.tip_sensors import CameraTipSensor
from soft_arm_kinematics.arm import BellowsArm
from soft_arm_physics.pneumatic_arm import pneumatic_arm
from soft_arm_sim.cameras.placement import camera_for
from soft_arm_sim.stepped_rig import Exposure
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.errors import VisionError

POSES, IMAGES = 24, 30  # images per pose, from the command on: the arm moves, then rests
SEED = 0
MIN_FOUND_SHARE = 0.9  # of the images


def measure(
    arm: BellowsArm,
    rig: Rig,
    tip_source: str,
    on_pose: Callable[[], object],
    poses: int = POSES,
    network: Path | None = None,
) -> tuple[RingNoise, Measurement]:
    """Move a virtual arm to random poses, open loop, and compare measured and true tips.

    Args:
        arm: The arm.
        rig: The rig; the errors of its extrinsics contribute to the measured ones.
        tip_source: Name of the tracker.
        on_pose: Called `poses` times.
        poses: Their number.
        network: Exported network of the tracker yolact; None: the shipped one.

    Raises:
        VisionError: If the tip is not found in more than a tenth of the images.
        ExperimentError: If the camera sees the ring in too few poses.
    """
    robot, plant = arm.robot, pneumatic_arm(arm.robot, SEED)
    from_m = extrinsics.load(rig, robot).T_base_camera[:3, 3]
    period_s = 1.0 / camera_for(robot).image.rate_hz
    places_m, errors_m, stated_m2 = [], [], []
    with closing(CameraTipSensor(rig, robot, SEED, tip_source, network)) as camera:
        for lengths_m in reach_poses(arm, from_m, poses, SEED):
            plant.robot.actuate(arm.clip_pressures(arm.pressures(lengths_m)))
            for _ in range(IMAGES):
                plant.step(period_s)
                state = plant.robot
                seen = Exposure(plant.time_s, state.joint_positions(), state.T_base_tip())
                sight = camera.measure(seen)
                if sight.T_base_tip is not None:
                    places_m.append(seen.T_base_tip[:3, 3])
                    errors_m.append(sight.T_base_tip[:3, 3] - seen.T_base_tip[:3, 3])
                    stated_m2.append(sight.covariance[:3, :3])
            on_pose()
    if len(places_m) < MIN_FOUND_SHARE * poses * IMAGES:
        raise VisionError(
            f'the ring was found in {len(places_m)} of {poses * IMAGES} images, '
            f'{MIN_FOUND_SHARE:.0%} are needed: change its size or colour in the robot file'
        )
    noise, residuals = fitted(np.array(places_m), np.array(errors_m), np.array(stated_m2))
    return noise, Measurement(
        devices=VIRTUAL,
        method=f'ring of the rendered camera ({tip_source}) less the true tip, least squares; '
        f'{poses} poses, {IMAGES} images each',
        residuals=residuals,
        limits=extrinsics.limits_m(np.round(places_m, 4)),
    )
