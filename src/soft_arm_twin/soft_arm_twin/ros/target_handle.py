"""Handle of a tip's target: in the world on the page, in the base frame in goals."""

import numpy as np
from geometry_msgs.msg import Point as PointMessage

from soft_arm_twin.controls import Point
from soft_arm_twin.graph.soft_robot import SoftRobot


class TargetHandle:
    """Draggable target of a tip.

    Args:
        robot: Robot of the tip.

    Attributes:
        name: Name of its control.
        point_m: Position in the base frame [m], (3,); None before it is dragged.
    """

    def __init__(self, robot: SoftRobot):
        self._robot, self.name = robot, f'{robot.name}/target'
        self.point_m: np.ndarray | None = None
        segments = robot.robot.segments
        self._reach_m = sum(s.arc_length_limits_m[1] + s.rigid_length_m for s in segments)

    def control(self) -> Point:
        """Return the control; before it is dragged it is at the tip."""
        base, at_m = self._robot.base_pose(), self.point_m
        if at_m is None:
            at_m = self._robot.tip_m()
        centre_m = base[:3, 3]
        world_m = centre_m if at_m is None else base[:3, :3] @ at_m + centre_m
        return Point(
            name=self.name,
            label=f'Target of {self._robot.name}',
            group=self._robot.name,
            low_m=_three(centre_m - self._reach_m),
            high_m=_three(centre_m + self._reach_m),
            value_m=_three(world_m),
        )

    def drag(self, world_m: tuple[float, float, float]) -> np.ndarray:
        """Set the target in the world [m]; return it in the base frame [m], (3,)."""
        base = self._robot.base_pose()
        self.point_m = base[:3, :3].T @ (np.array(world_m) - base[:3, 3])
        return self.point_m


def point_message(point_m: np.ndarray) -> PointMessage:
    """Return a point [m], (3,), as a message."""
    x, y, z = _three(point_m)
    return PointMessage(x=x, y=y, z=z)


def point_text(point_m: np.ndarray) -> str:
    """Return a point [m], (3,), as text in millimetres."""
    return '({:.1f}, {:.1f}, {:.1f}) mm'.format(*(1e3 * point_m))


def _three(point_m: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in point_m)
    return x, y, z
