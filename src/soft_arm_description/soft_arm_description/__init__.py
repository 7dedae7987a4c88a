"""Robot, assembly and world files: the single source for a robot, with URDF and calibration.

The names below are imported when they are first used (PEP 562): a command that only prints its help
does not wait for the schemas.
"""

from typing import TYPE_CHECKING

from soft_arm_io.lazy import lazy_names

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

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        'soft_arm_description.assembly': (
            'Assembly',
            'AssemblyFileError',
            'load_assembly',
            'shipped_assemblies',
        ),
        'soft_arm_description.rig': ('Rig', 'load_rig'),
        'soft_arm_description.robot': ('Robot', 'RobotFileError', 'load_robot', 'shipped_robots'),
        'soft_arm_description.urdf': ('robot_urdf',),
        'soft_arm_description.world': ('World', 'WorldFileError', 'load_world', 'shipped_worlds'),
    },
)
