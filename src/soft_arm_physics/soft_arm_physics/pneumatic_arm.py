"""A pneumatic arm on its base, as the virtual rig has it."""

from pathlib import Path

from soft_arm_description.robot import Robot
from soft_arm_description.world import World
from soft_arm_physics.actuation.pneumatics import CONFIG, Pneumatics
from soft_arm_physics.simulation import Simulation

SHIPPED = CONFIG / 'two_module_arm.pneumatics.yaml'


def pneumatic_arm(
    robot: Robot,
    seed: int,
    pneumatics: Pneumatics | str | Path = SHIPPED,
    world: World | None = None,
) -> Simulation:
    """Return an arm with valves, hysteresis and mismatch, at rest at ambient pressure.

    Args:
        robot: The robot file.
        seed: Draws valve, sensor and bellows mismatch, and the sensor noise. The same seed is the
            same arm.
        pneumatics: Pneumatics, or the name or path of a pneumatics file.
        world: What surrounds and loads the arm; None: it is alone.

    Raises:
        PhysicsError: If a file cannot be used, or the arm does not come to rest.
    """
    simulation = Simulation(robot, world, pneumatics, seed)
    simulation.settle()
    return simulation
