"""Commands to a gripper: grasp, release, vent, place a virtual object."""

import math
from collections.abc import Awaitable
from typing import Any

from soft_arm_msgs.action import Grasp, Release
from soft_arm_msgs.srv import PlaceObject
from soft_arm_twin.controls import Button, Control, Slider
from soft_arm_twin.ros.commands import Vent, call
from soft_arm_twin.ros.goals import Goals, cancel_button
from soft_arm_twin.ros.live_graph import LiveGraph
from soft_arm_twin.source import Answer

MAX_GAP_MM = 60.0


class GripperCommands:
    """Controls of one gripper.

    Args:
        graph: The session.
        namespace: Its namespace, such as `/gripper`.
    """

    def __init__(self, graph: LiveGraph, namespace: str):
        at = namespace.rstrip('/')
        self._graph, self._name = graph, at.strip('/')
        self._vent = Vent(graph, at, 'pcu2v_driver')
        self._grasp = Goals(graph, Grasp, f'{at}/grasp')
        self._release = Goals(graph, Release, f'{at}/release')
        self._place = graph.service(PlaceObject, '/virtual_cell/place_object')
        self._gap_mm = 10.0

    def controls(self) -> tuple[Control, ...]:
        """Return the present controls."""
        n, at = self._name, f'{self._name} object'
        goals = (('grasp', 'Grasp', self._grasp), ('release', 'Release', self._release))
        real = '' if self._place.offered else 'only a virtual cell can place an object'
        return (
            *self._vent.controls(),
            *(
                Button(name=f'{n}/{name}', label=label, group=n, reason=goals.reason)
                for name, label, goals in goals
            ),
            cancel_button(n, self._grasp, self._release),
            Slider(
                name=f'{n}/gap',
                label='Gap between finger and object',
                group=at,
                low=0.0,
                high=MAX_GAP_MM,
                step=1.0,
                value=self._gap_mm,
                unit='mm',
                reason=real,
            ),
            *(
                Button(name=f'{n}/{name}', label=label, group=at, reason=real)
                for name, label in (('place', 'Place the object'), ('remove', 'Remove the object'))
            ),
        )

    def command(self, name: str, value: Any) -> Answer | Awaitable[Answer]:
        """Execute a command."""
        if self._vent.owns(name):
            return self._vent.command(name)
        match name.removeprefix(f'{self._name}/'):
            case 'grasp':
                return self._grasp.send(Grasp.Goal(), 'grasp')
            case 'release':
                return self._release.send(Release.Goal(), 'release')
            case 'gap':
                self._gap_mm = value
                return Answer(True)
            case 'place':
                return self._put(1e-3 * self._gap_mm, f'object {self._gap_mm:g} mm ahead')
            case 'remove':
                return self._put(math.nan, 'object taken away')
            case _:
                self._grasp.cancel()
                self._release.cancel()
                return Answer(True, 'cancelled')

    async def _put(self, gap_m: float, what: str) -> Answer:
        return await call(
            self._graph, self._place, PlaceObject.Request(gap_m=gap_m), what, self._name
        )

    def released(self) -> None:
        """Do nothing: a grasp holds its object."""
