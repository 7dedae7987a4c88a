"""Physics of soft robots: any robot file, in a world with contact, in MuJoCo.

    from soft_arm_physics import Simulation

    sim = Simulation('two_module_arm')
    sim.robot.actuate([40e3, 0, 0, 0, 0, 0])
    sim.settle()
    print(sim.robot.backbone_m())

The names below are imported when they are first used, so that `import soft_arm_physics` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soft_arm_physics.actuation.pneumatics import Pneumatics as Pneumatics
    from soft_arm_physics.actuation.pneumatics import load_pneumatics as load_pneumatics
    from soft_arm_physics.batch import Rollouts as Rollouts
    from soft_arm_physics.batch import rollouts as rollouts
    from soft_arm_physics.environment import RobotEnvironment as RobotEnvironment
    from soft_arm_physics.environment import RobotVectorEnvironment as RobotVectorEnvironment
    from soft_arm_physics.errors import PhysicsError as PhysicsError
    from soft_arm_physics.pictures.camera import Camera as Camera
    from soft_arm_physics.pictures.camera import Video as Video
    from soft_arm_physics.simulated_robot import SimulatedRobot as SimulatedRobot
    from soft_arm_physics.simulation import Contact as Contact
    from soft_arm_physics.simulation import Simulation as Simulation

_MODULES = {
    'Camera': 'pictures.camera',
    'Contact': 'simulation',
    'PhysicsError': 'errors',
    'Pneumatics': 'actuation.pneumatics',
    'RobotEnvironment': 'environment',
    'RobotVectorEnvironment': 'environment',
    'Rollouts': 'batch',
    'SimulatedRobot': 'simulated_robot',
    'Simulation': 'simulation',
    'Video': 'pictures.camera',
    'load_pneumatics': 'actuation.pneumatics',
    'rollouts': 'batch',
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a name of the package from its module when it is first used (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = globals()[name] = getattr(import_module(f'{__name__}.{_MODULES[name]}'), name)
    return value


def __dir__() -> list[str]:
    """List the names of the package."""
    return __all__
