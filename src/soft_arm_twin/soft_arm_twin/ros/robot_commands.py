"""Commands to an industrial robot: motors, program, speed, and joint angles."""

from collections.abc import Awaitable
from typing import Any

import numpy as np
from std_srvs.srv import SetBool, Trigger

from soft_arm_msgs.action import MoveJoints
from soft_arm_msgs.srv import SetSpeedRatio
from soft_arm_twin.controls import Button, Control, Slider
from soft_arm_twin.graph.industrial_robot import IndustrialRobot
from soft_arm_twin.ros.commands import call
from soft_arm_twin.ros.goals import Goals
from soft_arm_twin.ros.live_graph import LiveGraph
from soft_arm_twin.ros.servers import Server
from soft_arm_twin.source import Answer

_BUTTONS = (
    ('motors_on', 'Motors on'),
    ('motors_off', 'Motors off'),
    ('start', 'Start the program'),
    ('reset_pointer', 'Reset the program pointer'),
)


class RobotCommands:
    """Controls of one industrial robot.

    Args:
        graph: The session.
        robot: Its state in the graph.
    """

    def __init__(self, graph: LiveGraph, robot: IndustrialRobot):
        at, service = robot.namespace.rstrip('/'), graph.service
        self._graph, self._robot, self._name = graph, robot, robot.name
        self._triggers = {
            name: service(Trigger, f'{at}/{name}') for name in ('stop', 'start', 'reset_pointer')
        }
        self._motors = service(SetBool, f'{at}/set_motors')
        self._speed = service(SetSpeedRatio, f'{at}/set_speed_ratio')
        self._move = Goals(graph, MoveJoints, f'{at}/move_joints')
        self._wanted_deg: dict[str, float] = {}

    def controls(self) -> tuple[Control, ...]:
        """Return the present controls."""
        n, joints = self._name, f'{self._name} joints'
        offered = '' if self._motors.offered else 'abb_rws_bridge does not run'
        model = self._robot.model
        limits_rad_by_name = (
            {} if model is None else dict(zip(model.joint_names, model.limits, strict=True))
        )
        ratio = 1.0 if self._robot.state is None else self._robot.state.speed_ratio
        found: list[Control] = [
            Button(name=f'{n}/stop', label=f'Stop {n}', group=n, needs_control=False, always=True),
            *(
                Button(name=f'{n}/{name}', label=label, group=n, reason=offered)
                for name, label in _BUTTONS
            ),
            Slider(
                name=f'{n}/speed',
                label='Speed',
                group=n,
                low=0.0,
                high=100.0,
                step=1.0,
                value=100.0 * ratio if np.isfinite(ratio) else 100.0,
                unit='%',
                reason=offered,
            ),
        ]
        for name, limits_rad in limits_rad_by_name.items():
            low, high = (float(np.degrees(limit)) for limit in limits_rad)
            at_deg = float(np.degrees(self._robot.joints_rad.get(name, 0.0)))
            found.append(
                Slider(
                    name=f'{n}/joint/{name}',
                    label=name,
                    group=joints,
                    low=low,
                    high=high,
                    step=1.0,
                    value=self._wanted_deg.get(name, min(max(at_deg, low), high)),
                    unit='deg',
                )
            )
        unknown = '' if model else 'its robot_description has not been received'
        reason = self._move.reason or unknown
        found.append(
            Button(name=f'{n}/move', label='Move the joints there', group=joints, reason=reason)
        )
        return tuple(found)

    def command(self, name: str, value: Any) -> Answer | Awaitable[Answer]:
        """Execute a command."""
        what = name.removeprefix(f'{self._name}/')
        if what.startswith('joint/'):
            self._wanted_deg[what.removeprefix('joint/')] = value
            return Answer(True)
        if what == 'move':
            return self._move_joints()
        if what == 'speed':
            return self._call(self._speed, SetSpeedRatio.Request(speed_ratio=value / 100.0), what)
        if what in ('motors_on', 'motors_off'):
            return self._call(self._motors, SetBool.Request(data=what == 'motors_on'), what)
        return self._call(self._triggers[what], Trigger.Request(), what)

    def released(self) -> None:
        """Cancel a move, which has no supervisor now."""
        self._move.cancel()

    def _move_joints(self) -> Answer:
        angles_rad = dict(self._robot.joints_rad)
        angles_rad |= {name: float(np.radians(v)) for name, v in self._wanted_deg.items()}
        if not angles_rad:
            return Answer(False, 'no joint angles received: see softarm doctor')
        goal = MoveJoints.Goal(names=list(angles_rad), position_rad=list(angles_rad.values()))
        degrees = ', '.join(f'{np.degrees(v):.0f}' for v in angles_rad.values())
        self._wanted_deg = {}
        return self._move.send(goal, f'move the joints to {degrees} deg')

    async def _call(self, server: Server, request: Any, what: str) -> Answer:
        return await call(self._graph, server, request, what.replace('_', ' '), self._name)
