"""Experiment `closed_loop` of a study: a virtual arm moves its tip to random targets.

The loop is a virtual rig in one process: plant, valve board, driver and controller; the tip is
measured with the calibrated errors of camera and detector. World, pneumatics and seed change only
the plant: the controller keeps the calibrations of its rig, and knows neither loads nor other
valves.
"""

from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError

from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.calibration import load_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import Robot
from soft_arm_description.world import World
from soft_arm_experiments.arm.in_process_rig import InProcessRig
from soft_arm_experiments.arm.reach import reach, reach_poses
from soft_arm_experiments.arm.ring_noise import RingNoise
from soft_arm_experiments.arm.tip_sensors import TipNoiseModel
from soft_arm_io.errors import InputError
from soft_arm_io.fields import Strict, number
from soft_arm_io.yaml_file import validation_message
from soft_arm_kinematics.arm import VIRTUAL_RIG, BellowsArm
from soft_arm_kinematics.calibration.pressure_length import load_curve
from soft_arm_physics import Pneumatics
from soft_arm_physics.pneumatic_arm import SHIPPED
from soft_arm_sim.delays import load_delays
from soft_arm_studies.errors import StudyError
from soft_arm_studies.study_file import Study
from soft_arm_vision.calibration import extrinsics


class Controller(Strict):
    """Keys `controller` of a study: the rig whose calibrations it uses, and when a move ends."""

    rig: Annotated[str, Field(min_length=1, max_length=1000)] = VIRTUAL_RIG
    tolerance_m: Annotated[float, number(1e-5, 0.1, 'm')] = 1e-3
    timeout_s: Annotated[float, number(0.1, 600.0, 's')] = 15.0


class Parameters(Strict):
    """Keys `parameters` of a study: the number of targets of each arm, drawn by its seed."""

    targets: Annotated[int, number(1, 1000, '', int)] = 5


def settings_of(study: Study, robot: Robot) -> dict[str, Strict]:
    """Return the validated keys `controller` and `parameters` of a study.

    Raises:
        StudyError: If a key cannot be used, or the rig has no calibrations for this robot.
    """
    try:
        controller = Controller.model_validate(study.controller)
        parameters = Parameters.model_validate(study.parameters)
    except ValidationError as error:
        raise StudyError(f'controller or parameters: {validation_message(error)}') from error
    try:
        _calibrated(robot.model_dump_json(), controller.rig)
    except InputError as error:
        raise StudyError(str(error)) from error
    return {'controller': controller, 'parameters': parameters}


def closed_loop(keys: dict[str, Any]) -> dict[str, float]:
    """Move one arm to its targets.

    Args:
        keys: `robot`, `world` and `pneumatics` where given, `controller`, `parameters` and `seed`,
            as a study file holds them.

    Returns:
        Distance of the true tip from the target at the end of each move, also of one that failed
        [mm]: mean, 95th percentile and largest; number of targets `reached`, and of those about
        which the tip settled to 2 % of the step, with the mean time of these [s].

    Raises:
        RigError: If a calibration of the rig is missing, or belongs to another robot.
        PhysicsError: If the arm cannot be simulated.
        ExperimentError: If the camera sees too few targets.
    """
    robot, seed = Robot.model_validate(keys['robot']), keys['seed']
    settings = Controller.model_validate(keys['controller'])
    count = Parameters.model_validate(keys['parameters']).targets
    arm, dynamics, noise, camera_m = _calibrated(robot.model_dump_json(), settings.rig)
    world, pneumatics = keys.get('world'), keys.get('pneumatics')
    rig = InProcessRig(
        arm,
        dynamics,
        TipNoiseModel(noise, seed),
        seed,
        load_delays(),
        SHIPPED if pneumatics is None else Pneumatics.model_validate(pneumatics),
        None if world is None else World.model_validate(world),
    )
    poses_m = reach_poses(arm, camera_m, count, seed)
    moves = reach(rig, arm, poses_m, tolerance_m=settings.tolerance_m, timeout_s=settings.timeout_s)
    errors_m = [move.error_m for move in moves]
    settled_s = [move.settled_s for move in moves if move.settled_s is not None]
    results = {
        'error_mean_mm': 1e3 * float(np.mean(errors_m)),
        'error_p95_mm': 1e3 * float(np.percentile(errors_m, 95)),
        'error_max_mm': 1e3 * float(np.max(errors_m)),
        'reached': sum(not move.problem for move in moves),
        'settled': len(settled_s),
    }
    return results | ({'settle_mean_s': float(np.mean(settled_s))} if settled_s else {})


@lru_cache(maxsize=4)
def _calibrated(robot_json: str, rig_name: str) -> tuple[BellowsArm, Dynamics, RingNoise, Any]:
    """Return the controller's arm, its dynamics, the noise of the ring, and the camera's place."""
    robot, rig = Robot.model_validate_json(robot_json), load_rig(rig_name)
    return (
        BellowsArm(robot, load_curve(rig, robot)),
        load_calibration(rig, Dynamics, robot).values,
        load_calibration(rig, RingNoise, robot).values,
        extrinsics.load(rig, robot).T_base_camera[:3, 3],
    )
