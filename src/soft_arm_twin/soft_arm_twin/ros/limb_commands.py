"""Commands to a limb of an assembly: a target for its tip."""

from typing import Any

import numpy as np
from geometry_msgs.msg import Point as PointMessage

from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import TipTarget
from soft_arm_twin.controls import Button, Control, Point
from soft_arm_twin.graph.soft_robot import SoftRobot
from soft_arm_twin.ros.goals import Goals
from soft_arm_twin.ros.live_graph import LiveGraph
from soft_arm_twin.source import Answer


class LimbCommands:
    """Controls of one limb, which move its tip.

    Args:
        graph: The session.
        limb: What the graph tells of it; its name ends in the limb's.
    """

    def __init__(self, graph: LiveGraph, limb: SoftRobot):
        self._limb, self._name = limb, limb.name
        self._move = Goals(graph, MoveTip, f'/{limb.name}/move_tip')
        self._target_m: np.ndarray | None = None  # in the base frame

    def controls(self) -> tuple[Control, ...]:
        """Return the controls as they are now."""
        n, robot, base = self._name, self._limb.robot, self._limb.base_pose()
        reach_m = sum(s.arc_length_limits_m[1] + s.rigid_length_m for s in robot.segments)
        at_m = self._limb.tip_m() if self._target_m is None else self._target_m
        at_m = base[:3, 3] + base[:3, :3] @ (np.zeros(3) if at_m is None else at_m)
        reason = self._move.reason
        return (
            Point(
                name=f'{n}/target',
                label=f'Target of {n}',
                group=n,
                low_m=tuple((base[:3, 3] - reach_m).tolist()),
                high_m=tuple((base[:3, 3] + reach_m).tolist()),
                value_m=tuple(at_m.tolist()),
            ),
            Button(
                name=f'{n}/move',
                label='Move to the target',
                group=n,
                enabled=not reason,
                reason=reason,
            ),
            Button(
                name=f'{n}/cancel',
                label='Cancel',
                group=n,
                enabled=self._move.running,
                reason='' if self._move.running else 'no goal of this page runs',
            ),
        )

    def command(self, name: str, value: Any) -> Answer:
        """Carry out a command."""
        match name.removeprefix(f'{self._name}/'):
            case 'target':
                base = self._limb.base_pose()
                self._target_m = base[:3, :3].T @ (np.array(value) - base[:3, 3])
                return Answer(True)
            case 'move':
                point_m = self._limb.tip_m() if self._target_m is None else self._target_m
                if point_m is None:
                    return Answer(False, 'no joint states were heard yet: see softarm doctor')
                x, y, z = (float(v) for v in point_m)
                goal = MoveTip.Goal(target=TipTarget(position=PointMessage(x=x, y=y, z=z)))
                text = f'move the tip to ({1e3 * x:.0f}, {1e3 * y:.0f}, {1e3 * z:.0f}) mm'
                return self._move.send(goal, text)
            case _:
                self._move.cancel()
                return Answer(True, 'cancelled')

    def released(self) -> None:
        """Cancel a goal that runs."""
        self._move.cancel()
