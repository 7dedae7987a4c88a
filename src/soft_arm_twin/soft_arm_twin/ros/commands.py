"""Common parts of the commands of all systems."""

from collections.abc import Awaitable
from typing import Any, Protocol

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from std_srvs.srv import Trigger

from soft_arm_twin.controls import Button, Control
from soft_arm_twin.errors import TwinError
from soft_arm_twin.ros.live_graph import LiveGraph
from soft_arm_twin.ros.servers import Server
from soft_arm_twin.source import Answer

TRANSITION_TIMEOUT_S = 15.0  # includes the connection to the device


class Commands(Protocol):
    """Controls of one system and their effects."""

    def controls(self) -> tuple[Control, ...]:
        """Return the present controls."""

    def command(self, name: str, value: Any) -> Answer | Awaitable[Answer]:
        """Execute the command of the control with this name."""

    def released(self) -> None:
        """Stop everything that needs an owner."""


async def call(graph: LiveGraph, server: Server, request: Any, what: str, source: str) -> Answer:
    """Call a service; its outcome is an event of the source."""
    try:
        response = await graph.ask(server, request)
        success, text = response.success, response.message or 'done'
    except TwinError as error:
        success, text = False, str(error)
    graph.event('info' if success else 'error', f'{what}: {text}', source)
    return Answer(success, text)


class Vent:
    """Vent a driver from any page, and activate it.

    Args:
        graph: The session.
        namespace: Namespace of the driver.
        driver: Name of its node.
    """

    def __init__(self, graph: LiveGraph, namespace: str, driver: str):
        at = namespace.rstrip('/')
        self._graph, self._name, self._driver = graph, at.strip('/'), f'{at}/{driver}'
        self._vent = graph.service(Trigger, f'{at}/vent')
        self._change = graph.service(ChangeState, f'{self._driver}/change_state')

    def controls(self) -> tuple[Control, ...]:
        """Return the two buttons."""
        group = self._name
        return (
            Button(
                name=f'{group}/vent',
                label=f'Vent {group}',
                group=group,
                needs_control=False,
                always=True,
            ),
            Button(name=f'{group}/activate', label='Activate the driver', group=group),
        )

    def owns(self, name: str) -> bool:
        """Return whether a control is one of the two."""
        return name in (f'{self._name}/vent', f'{self._name}/activate')

    async def command(self, name: str) -> Answer:
        """Vent or activate; return the answer of the driver."""
        try:
            if name.endswith('/activate'):
                return await self._activate()
        except TwinError as error:
            self._graph.event('error', f'activate: {error}', self._driver)
            return Answer(False, str(error))
        return await call(self._graph, self._vent, Trigger.Request(), 'vent', self._driver)

    async def _activate(self) -> Answer:
        """Activate; a driver that refuses is configured first."""
        activate, configure = Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_CONFIGURE
        done = await self._transit(activate)
        if not done and await self._transit(configure):
            done = await self._transit(activate)
        text = 'active' if done else 'it did not activate: read its diagnostics'
        self._graph.event('info' if done else 'error', f'activate: {text}', self._driver)
        return Answer(done, text)

    async def _transit(self, transition: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=transition))
        return (await self._graph.ask(self._change, request, TRANSITION_TIMEOUT_S)).success
