"""A wrong camera is named by the ring while the arm moves, a right one is not."""

import numpy as np
import pytest

from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import load_rig
from soft_arm_experiments.virtual_intrinsics import intrinsics_of
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_physics.pneumatic_arm import pneumatic_arm
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.placement import camera_for, jig_for
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.ring_tracker import RingTracker
from soft_arm_vision.segmentation.colour_segmenter import ColourSegmenter

RATE_HZ = 30
SECONDS = 10  # of motion
MOVE_FRAMES = 30  # to each target


def moving_ring(robot, parameters, seed):
    """Yield the frames of an arm that moves from target to target."""
    plant, rng = pneumatic_arm(robot, seed), np.random.default_rng(seed)
    low_pa, high_pa = load_bellows_arm().pressure_limits_pa
    camera = VirtualCamera(robot, parameters, jig_for(robot), seed)
    try:
        for number in range(SECONDS * RATE_HZ):
            if number % MOVE_FRAMES == 0:
                plant.robot.actuate(0.6 * rng.uniform(low_pa, high_pa))
            plant.step(1 / RATE_HZ)
            yield camera.capture(plant.robot.joint_positions())
    finally:
        camera.close()


@pytest.mark.parametrize(
    ('seed', 'depth', 'focal_length', 'named'),
    [
        (820, 0.01, 0.0, 'depth is stated'),
        (820, 0.0, -0.01, 'the focal length is stated'),
        (820, 0.0, 0.0, None),
        (903, 0.0, 0.0, None),
    ],
)
def test_an_error_of_one_percent_is_named_within_ten_seconds(seed, depth, focal_length, named):
    rig, robot = load_rig('virtual'), load_bellows_arm().robot
    parameters = camera_for(robot)
    noise = parameters.noise.model_copy(update={'depth_scale_error': depth})
    parameters = parameters.model_copy(update={'noise': noise, 'focal_length_error': focal_length})
    intrinsics = intrinsics_of(parameters)
    tracker = RingTracker(
        robot, extrinsics.load(rig, robot), ColourSegmenter(robot.ring), sensor_of(rig)[0]
    )
    for frame in moving_ring(robot, parameters, seed):
        tracker.track(frame.rgb, frame.depth, intrinsics)
        trouble = tracker.check_camera()
        if trouble is not None:
            break
    assert (trouble is None) == (named is None) and (named or '') in (trouble or '')
