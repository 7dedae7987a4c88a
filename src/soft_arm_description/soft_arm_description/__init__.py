"""Robot, assembly and world files: the single source for a robot, with URDF and calibration.

The names below are imported when they are first used (PEP 562): a command that only prints its help
does not wait for the schemas.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soft_arm_description.assembly import Assembly as Assembly
    from soft_arm_description.assembly import AssemblyFileError as AssemblyFileError
    from soft_arm_description.assembly import load_assembly as load_assembly
    from soft_arm_description.assembly import shipped_assemblies as shipped_assemblies
    from soft_arm_description.rig import Rig as Rig
    from soft_arm_description.rig import load_rig as load_rig
    from soft_arm_description.robot import Robot as Robot
    from soft_arm_description.robot import RobotFileError as RobotFileError
    from soft_arm_description.robot import load_robot as load_robot
    from soft_arm_description.robot import shipped_robots as shipped_robots
    from soft_arm_description.urdf import robot_urdf as robot_urdf
    from soft_arm_description.world import World as World
    from soft_arm_description.world import WorldFileError as WorldFileError
    from soft_arm_description.world import load_world as load_world
    from soft_arm_description.world import shipped_worlds as shipped_worlds

_MODULES = {
    'Assembly': 'assembly',
    'AssemblyFileError': 'assembly',
    'Rig': 'rig',
    'Robot': 'robot',
    'RobotFileError': 'robot',
    'World': 'world',
    'WorldFileError': 'world',
    'load_assembly': 'assembly',
    'load_rig': 'rig',
    'load_robot': 'robot',
    'load_world': 'world',
    'robot_urdf': 'urdf',
    'shipped_assemblies': 'assembly',
    'shipped_robots': 'robot',
    'shipped_worlds': 'world',
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a name of the package from its module when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = globals()[name] = getattr(import_module(f'{__name__}.{_MODULES[name]}'), name)
    return value


def __dir__() -> list[str]:
    """List the names of the package."""
    return __all__
