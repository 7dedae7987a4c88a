"""A run of a study: bend the arm, hang a payload on its tip, measure how far the tip sinks."""

from soft_arm_description import Robot
from soft_arm_physics import Pneumatics, Simulation


def sag(keys: dict) -> dict[str, float]:
    """Run once with the merged keys of the study; return the columns of its row."""
    robot = Robot.model_validate(keys['robot'])
    pneumatics = Pneumatics.model_validate(keys['pneumatics'])
    sim = Simulation(robot, None, pneumatics, seed=keys['seed'])
    sim.robot.actuate([keys['actuation'].get(c.name, 0.0) for c in sim.robot.coordinates])
    sim.settle()
    before_m = sim.robot.T_world_tip()[:3, 3]
    weight_n = 9.81 * keys['parameters']['payload_kg']
    sim.apply_load(robot.name, 'tip', force_n=[0.0, 0.0, -weight_n])
    sim.settle()
    after_m = sim.robot.T_world_tip()[:3, 3]
    return {'sag_mm': 1e3 * (before_m[2] - after_m[2]), 'height_m': after_m[2]}
