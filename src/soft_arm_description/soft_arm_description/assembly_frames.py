"""Frames of an assembly: each robot's base, named after the assembly and the robot in it.

Body `body` of assembly `squid` has the frame `squid_body`; its robot `camera` has the base frame
`squid_camera_base_link`, and all its frames and joints begin with `squid_camera_`. So several
robots of one file fit in one graph.
"""

from collections import Counter

from soft_arm_description.assembly import Assembly, MountedRobot
from soft_arm_description.robot import Robot

WORLD_FRAME = 'world'


def body_frame(assembly: Assembly, body: str) -> str:
    """Return the frame of a body of an assembly."""
    return f'{assembly.name}_{body}'


def robots_with_frames(assembly: Assembly) -> dict[str, Robot]:
    """Return the robots of an assembly by their names, each with the base that its mount gives it.

    Frames on tips, such as cameras, come from the robot file; if two robots use the same file, it
    has none.
    """
    uses = Counter(mounted.robot.name for mounted in assembly.robots)
    robots: dict[str, Robot] = {}
    for mounted in assembly.robots:
        base = mounted.robot.base.model_copy(
            update={
                'frame': f'{assembly.name}_{mounted.name}_base_link',
                'parent_frame': _parent_frame(assembly, mounted, robots),
                'position_m': mounted.position_m,
                'rpy_deg': mounted.rpy_deg,
            }
        )
        own = {} if uses[mounted.robot.name] == 1 else {'tip_frames': ()}
        robots[mounted.name] = mounted.robot.model_copy(update={'base': base, **own})
    return robots


def segment_tip_frame(robot: Robot, segment: str) -> str:
    """Return the frame at the end of a robot's segment."""
    return f'{robot.base.frame_prefix}{segment}_tip'


def _parent_frame(assembly: Assembly, mounted: MountedRobot, robots: dict[str, Robot]) -> str:
    if mounted.mount is None:
        return WORLD_FRAME
    if mounted.mount in robots:
        below = robots[mounted.mount]
        return segment_tip_frame(below, below.segment_names[-1])
    return body_frame(assembly, mounted.mount)
