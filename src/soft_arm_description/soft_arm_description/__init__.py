"""Robot files: the single source for a robot, with URDF and calibration.

The names below are imported when they are first used (PEP 562): a command that only prints its help
does not wait for the schemas.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soft_arm_description.rig import Rig as Rig
    from soft_arm_description.rig import load_rig as load_rig
    from soft_arm_description.robot import Robot as Robot
    from soft_arm_description.robot import RobotFileError as RobotFileError
    from soft_arm_description.robot import load_robot as load_robot
    from soft_arm_description.robot import shipped_robots as shipped_robots
    from soft_arm_description.urdf import robot_urdf as robot_urdf

_MODULES = {
    'Rig': 'rig',
    'Robot': 'robot',
    'RobotFileError': 'robot',
    'load_rig': 'rig',
    'load_robot': 'robot',
    'robot_urdf': 'urdf',
    'shipped_robots': 'robot',
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
