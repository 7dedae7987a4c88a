"""A run of a study: the tip controller moves a simulated arm to a target, its tip measured late."""

from collections import deque

import numpy as np

from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.controller import ControllerSettings, TipController
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.goal import Goal
from soft_arm_description import Robot
from soft_arm_kinematics import make_arm
from soft_arm_physics import Pneumatics
from soft_arm_physics.pneumatic_arm import pneumatic_arm


def reach(keys: dict) -> dict[str, float]:
    """Run once with the merged keys of the study; return the columns of its row."""
    robot = Robot.model_validate(keys['robot'])
    plant = pneumatic_arm(robot, keys['seed'], Pneumatics.model_validate(keys['pneumatics']))
    arm, control = make_arm(robot), keys['controller']
    settings = ControllerSettings(**control['settings'])
    controller = TipController(arm, Dynamics(**control['dynamics']), settings)
    noise_m, random = keys['parameters']['noise_m'], np.random.default_rng(keys['seed'])
    target_pa = [keys['actuation'].get(c.name, 0.0) for c in plant.robot.coordinates]
    lengths_m = arm.lengths(np.array(target_pa, float))
    free = np.ones(arm.n_actuators, bool)
    goal = Goal(
        arm.at(lengths_m).tip_m[None],
        lengths_m[None],
        np.zeros(1),
        free,
        control['tolerance_m'],
        control['timeout_s'],
    )
    delay = round(control['dynamics']['camera_delay_s'] / PERIOD_S)
    seen: deque[np.ndarray] = deque(maxlen=delay + 1)
    for tick in range(1, 10**6):
        now_s = tick * PERIOD_S
        plant.step(PERIOD_S)
        controller.add_pressures(now_s, plant.robot.sensor_pressures_pa())
        tip_m = plant.robot.T_base_tip()[:3, 3]
        seen.append(tip_m + noise_m * random.standard_normal(3))
        if len(seen) > delay:
            covariance_m2 = max(noise_m, 1e-5) ** 2 * np.eye(3)
            controller.add_tip_pose(now_s - delay * PERIOD_S, seen[0], covariance_m2)
        if tick == 2 * delay + 2:
            controller.start(goal, now_s)
        command_pa, status = controller.step(now_s)
        if command_pa is not None:
            plant.robot.actuate(plant.robot.clip(command_pa))
        if status.outcome is not None:
            break
    error_m = float(np.linalg.norm(tip_m - goal.points_m[0]))
    reached = status.outcome.name == 'REACHED'
    return {'error_mm': 1e3 * error_m, 'duration_s': status.elapsed_s, 'reached': float(reached)}
