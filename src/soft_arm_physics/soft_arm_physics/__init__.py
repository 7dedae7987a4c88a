"""Physics of soft robots: any robot file, in a world with contact, in MuJoCo.

    from soft_arm_physics import Simulation

    sim = Simulation('two_module_arm')
    sim.robot.actuate([40e3, 0, 0, 0, 0, 0])
    sim.settle()
    print(sim.robot.backbone_m())

The names below are imported when they are first used, so that `import soft_arm_physics` is fast.
"""

from typing import TYPE_CHECKING

from soft_arm_io.lazy import lazy_names

if TYPE_CHECKING:
    from soft_arm_physics.actuation.pneumatics import Pneumatics as Pneumatics
    from soft_arm_physics.actuation.pneumatics import load_pneumatics as load_pneumatics
    from soft_arm_physics.batch import Rollouts as Rollouts
    from soft_arm_physics.batch import rollouts as rollouts
    from soft_arm_physics.environment import RobotEnvironment as RobotEnvironment
    from soft_arm_physics.environment import RobotVectorEnvironment as RobotVectorEnvironment
    from soft_arm_physics.errors import PhysicsError as PhysicsError
    from soft_arm_physics.errors import PhysicsWarning as PhysicsWarning
    from soft_arm_physics.pictures.camera import Camera as Camera
    from soft_arm_physics.pictures.camera import Video as Video
    from soft_arm_physics.simulated_robot import SimulatedRobot as SimulatedRobot
    from soft_arm_physics.simulation import Contact as Contact
    from soft_arm_physics.simulation import Simulation as Simulation

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        'soft_arm_physics.actuation.pneumatics': ('Pneumatics', 'load_pneumatics'),
        'soft_arm_physics.batch': ('Rollouts', 'rollouts'),
        'soft_arm_physics.environment': ('RobotEnvironment', 'RobotVectorEnvironment'),
        'soft_arm_physics.errors': ('PhysicsError', 'PhysicsWarning'),
        'soft_arm_physics.pictures.camera': ('Camera', 'Video'),
        'soft_arm_physics.simulated_robot': ('SimulatedRobot',),
        'soft_arm_physics.simulation': ('Contact', 'Simulation'),
    },
)
