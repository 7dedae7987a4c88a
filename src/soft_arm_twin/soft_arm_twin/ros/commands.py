"""What every set of commands of a system has in common."""

from collections.abc import Awaitable
from typing import Any, Protocol

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from std_srvs.srv import Trigger

from soft_arm_twin.controls import Button, Control
from soft_arm_twin.errors import TwinError
from soft_arm_twin.ros.live_graph import LiveGraph
from soft_arm_twin.source import Answer

TRANSITION_S = 15.0  # a driver connects to its device meanwhile


class Commands(Protocol):
    """Controls of one system, and what they do."""

    def controls(self) -> tuple[Control, ...]:
        """Return the controls as they are now."""

    def command(self, name: str, value: Any) -> Answer | Awaitable[Answer]:
        """Carry out a command; `name` is that of one of the controls."""

    def released(self) -> None:
        """End what needs an owner."""


class Vent:
    """Vents a driver from any page, and activates it again.

    Args:
        graph: The session.
        namespace: Namespace of the driver.
        driver: Name of its node.
    """

    def __init__(self, graph: LiveGraph, namespace: str, driver: str):
        at = namespace.rstrip('/')
        self._graph, self._name, self._driver = graph, at.strip('/'), f'{at}/{driver}'
        self._client = graph.node.create_client(Trigger, f'{at}/vent')
        self._change = graph.node.create_client(ChangeState, f'{self._driver}/change_state')

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
        """Return whether a control is one of these."""
        return name in (f'{self._name}/vent', f'{self._name}/activate')

    async def command(self, name: str) -> Answer:
        """Vent or activate; return what the driver says."""
        try:
            if name.endswith('/activate'):
                return await self._activate()
            response = await self._graph.ask(self._client, Trigger.Request())
        except TwinError as error:
            self._graph.event('error', f'vent: {error}', self._driver)
            return Answer(False, str(error))
        level = 'info' if response.success else 'error'
        self._graph.event(level, f'vent: {response.message or "done"}', self._driver)
        return Answer(response.success, response.message)

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
        return (await self._graph.ask(self._change, request, TRANSITION_S)).success
