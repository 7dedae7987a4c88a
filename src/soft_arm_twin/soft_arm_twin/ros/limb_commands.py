"""Commands to a limb of an assembly: a target for its tip."""

from typing import Any

from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import TipTarget
from soft_arm_twin.controls import Button, Control
from soft_arm_twin.graph.soft_robot import SoftRobot
from soft_arm_twin.ros.goals import Goals, cancel_button, velocity_slider
from soft_arm_twin.ros.live_graph import LiveGraph
from soft_arm_twin.ros.target_handle import TargetHandle, point_message, point_text
from soft_arm_twin.source import Answer


class LimbCommands:
    """Controls that move the tip of a limb.

    Args:
        graph: The session.
        limb: State of the limb; its name ends in the limb's.
    """

    def __init__(self, graph: LiveGraph, limb: SoftRobot):
        self._name, self._target = limb.name, TargetHandle(limb)
        self._velocity = 1.0
        self._move = Goals(graph, MoveTip, f'/{limb.name}/move_tip')

    def controls(self) -> tuple[Control, ...]:
        """Return the present controls."""
        n, reason = self._name, self._move.reason
        return (
            self._target.control(),
            velocity_slider(n, self._velocity),
            Button(name=f'{n}/move', label='Move to the target', group=n, reason=reason),
            cancel_button(n, self._move),
        )

    def command(self, name: str, value: Any) -> Answer:
        """Execute a command."""
        match name.removeprefix(f'{self._name}/'):
            case 'target':
                self._target.drag(value)
                return Answer(True)
            case 'velocity':
                self._velocity = value / 100.0
                return Answer(True)
            case 'move':
                point_m = self._target.point_m
                if point_m is None:
                    return Answer(False, 'drag the target first')
                goal = MoveTip.Goal(
                    target=TipTarget(position=point_message(point_m)),
                    max_velocity_scaling_factor=self._velocity,
                )
                return self._move.send(goal, f'move the tip to {point_text(point_m)}')
            case _:
                self._move.cancel()
                return Answer(True, 'cancelled')

    def released(self) -> None:
        """Cancel a goal that runs."""
        self._move.cancel()
