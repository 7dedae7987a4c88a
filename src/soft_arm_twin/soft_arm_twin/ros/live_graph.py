"""Discovery of the systems of a ROS graph, and subscriptions to their topics.

Robots are identified by their files: the node that publishes `configuration` has the parameter
`robot`, the node that publishes the `scene` of an assembly has `assembly` and `world`. The player
of a bag has neither; then they are taken from the `hardware_id` in the recorded diagnostics of the
kinematics node and of `virtual_robots`.
"""

import asyncio
import concurrent.futures
import importlib
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from rcl_interfaces.srv import GetParameters

from soft_arm_description.assembly import load_assembly
from soft_arm_description.robot import load_robot
from soft_arm_description.world import load_world
from soft_arm_io.errors import InputError
from soft_arm_node_kit import qos
from soft_arm_node_kit.graph import UNNAMED, node_name
from soft_arm_node_kit.session import Session
from soft_arm_twin.errors import TwinError
from soft_arm_twin.graph.known_graph import KnownGraph
from soft_arm_twin.ros.servers import Server

DISCOVERY_PERIOD_S = 1.0
RESPONSE_TIMEOUT_S = 3.0
_PROFILES = {'stream': qos.SENSOR, 'latched': qos.LATCHED, 'report': qos.STATE}


class LiveGraph(Session):
    """Session that updates a `KnownGraph`. Use it in a `with` statement.

    Args:
        on_system: Callback with each new system, in the thread of the session.
        domain: ROS domain; None is the domain of the environment.
        robots: Robot files by namespace, for publishers without parameters; the key '' holds for
            all namespaces.

    Attributes:
        known: State of the graph.
        asked_s: Time of the server's last request for the panel [s], monotonic; it asks ten times
            a second while a page is open.
    """

    def __init__(
        self,
        on_system: Callable[[Any], None] = lambda _: None,
        domain: int | None = None,
        robots: Mapping[str, str] | None = None,
    ):
        super().__init__('softarm_twin', domain=domain)
        self.known, self._on_system = KnownGraph(self.now_s), on_system
        self._robots = {place.strip('/'): file for place, file in (robots or {}).items()}
        self.asked_s = -math.inf
        self._asked: set[str] = set()  # topics whose system is known, or cannot be drawn
        self._pending: dict[str, tuple[float, Any]] = {}  # time of the request and its client
        self._takes: dict[str, list[Callable[[Any, float], None]]] = {}
        self._servers: list[Server] = []

    def service(self, kind: Any, name: str) -> Server:
        """Return a service of another node, by its full name."""
        return self._add_server(
            Server(
                name,
                count=partial(self.node.count_services, name),
                create=partial(self.node.create_client, kind, name),
                is_ready=lambda client: client.service_is_ready(),
                destroy=self.node.destroy_client,
            )
        )

    def action(self, kind: Any, name: str, on_gone: Callable[[], None]) -> Server:
        """Return an action of another node, by its full name; see `Server`."""
        return self._add_server(
            Server(
                name,
                count=partial(self.node.count_services, f'{name}/_action/send_goal'),
                create=partial(self.action_client, kind, name),
                is_ready=lambda client: client.server_is_ready(),
                destroy=lambda _: self.drop_action_client(name),
                on_gone=on_gone,
            )
        )

    def _add_server(self, server: Server) -> Server:
        server.look()
        self._servers.append(server)
        return server

    def listen(self) -> None:
        """Discover systems in a thread."""
        self.node.create_timer(DISCOVERY_PERIOD_S, self._look)
        self._look()
        self.spin_in_thread()

    def ask(
        self, server: Server, request: Any, timeout_s: float = RESPONSE_TIMEOUT_S
    ) -> Awaitable[Any]:
        """Call a service from the thread of an asyncio loop.

        Returns:
            An awaitable of its response; TwinError if no node offers or answers it in time.
        """
        answer: concurrent.futures.Future = concurrent.futures.Future()

        def send() -> None:
            if server.client is None or not server.offered:
                answer.set_exception(TwinError(f'{server.name} is not offered: softarm doctor'))
                return
            server.client.call_async(request).add_done_callback(
                lambda future: answer.cancelled() or answer.set_result(future.result())
            )

        self._executor.create_task(send)
        return _within(answer, timeout_s, server.name)

    def post(self, act: Callable[[], None]) -> None:
        """Run a function in the thread of the session."""
        self._executor.create_task(act)

    def event(self, level: Any, text: str, source: str = 'twin') -> None:
        """Add an event of the twin."""
        self.known.journal.add(level, source, text)

    def _look(self) -> None:
        for topic, types in self.node.get_topic_names_and_types():
            namespace, _, name = topic.rpartition('/')
            if topic in self._asked or self._is_pending(topic):
                continue
            if 'soft_arm_msgs/msg/ControllerState' in types:
                self._asked.add(topic)
                self._found(self.known.add_industrial_robot(namespace))
            elif 'soft_arm_msgs/msg/GripperState' in types and name == 'state':
                self._asked.add(topic)
                self._found(self.known.add_gripper(namespace))
            elif name == 'configuration' and 'soft_arm_msgs/msg/ArmConfiguration' in types:
                self._ask(topic, ['robot'], partial(self._add_robot, namespace))
            elif name == 'scene' and 'visualization_msgs/msg/MarkerArray' in types:
                self._ask(topic, ['assembly', 'world'], partial(self._add_assembly, namespace))
        self._subscribe()
        for server in self._servers:
            server.look()

    def _ask(self, topic: str, names: list[str], add: Callable[..., None]) -> None:
        """Ask the publisher of a topic for parameters, and `add` with their values."""
        publishers = {node_name(i) for i in self.node.get_publishers_info_by_topic(topic)}
        for publisher in publishers - {UNNAMED}:
            if '/_' in publisher:  # the hidden player of a bag has no parameters
                self._add_reported(topic, names, add)
                return
            client = self.node.create_client(GetParameters, f'{publisher}/get_parameters')
            if not client.service_is_ready():
                self.node.destroy_client(client)
                return  # retried at the next look
            self._pending[topic] = time.monotonic(), client

            def answered(future: Any, client: Any = client, publisher: str = publisher) -> None:
                if self._pending.pop(topic, (0.0, None))[1] is not client:
                    return  # too late: it has been asked again
                self.node.destroy_client(client)
                self._asked.add(topic)
                values = [value.string_value for value in future.result().values]
                if len(values) != len(names) or not all(values):
                    self.event('warning', f'{publisher} has no parameter {names[0]}: not drawn')
                    return
                self._add(publisher, values, add)

            client.call_async(GetParameters.Request(names=names)).add_done_callback(answered)

    def _is_pending(self, topic: str) -> bool:
        """Return whether an answer is awaited; give up a request of which the node has ended."""
        asked_s, client = self._pending.get(topic, (-math.inf, None))
        if time.monotonic() - asked_s < RESPONSE_TIMEOUT_S:
            return True
        if self._pending.pop(topic, None):
            self.node.destroy_client(client)
        return False

    def _add_reported(self, topic: str, names: list[str], add: Callable[..., None]) -> None:
        """Add with the values in the diagnostics, as soon as they have been received."""
        place = topic.rpartition('/')[0].strip('/')
        served = self.known.health.hardware_ids()
        if names == ['robot']:
            given = self._robots.get(place) or self._robots.get('')
            nodes = (n for n in served if n.rpartition('/')[0] == place)
            values = [served[node] for node in nodes if node.endswith('_kinematics')][:1]
            values = [given] if given else values
        else:
            values = served.get(f'{place}/virtual_robots', '').split(' in ')
        if len(values) == len(names):
            self._asked.add(topic)
            self._add(topic, values, add)

    def _add(self, source: str, values: list[str], add: Callable[..., None]) -> None:
        try:
            add(*values)
        except InputError as error:
            self.event('error', f'{source}: {error}')

    def _add_robot(self, namespace: str, robot: str) -> None:
        self._found(self.known.add_robot(namespace, load_robot(robot)))
        self._subscribe()

    def _add_assembly(self, namespace: str, assembly: str, world: str) -> None:
        robots = self.known.add_assembly(namespace, load_assembly(assembly), load_world(world))
        for robot in robots:
            self._found(robot)
        self._subscribe()

    def _found(self, system: Any) -> None:
        self.event('info', f'found {system.name}')
        self._on_system(system)

    def _subscribe(self) -> None:
        """Subscribe to each new topic; its messages go to all systems that share it."""
        takes: dict[str, list[Callable[[Any, float], None]]] = {}
        for topic in self.known.topics():
            takes.setdefault(topic.name, []).append(topic.take)
            if topic.name not in self._takes:
                self._takes[topic.name] = []
                self.node.create_subscription(
                    type_of(topic.type_name),
                    topic.name,
                    partial(self._hear, topic.name),
                    _PROFILES[topic.delivery],
                )
        self._takes = takes

    def _hear(self, name: str, message: Any) -> None:
        now_s = time.monotonic()
        for take in self._takes[name]:
            take(message, now_s)


async def _within(answer: concurrent.futures.Future, timeout_s: float, service: str) -> Any:
    try:
        return await asyncio.wait_for(asyncio.wrap_future(answer), timeout_s)
    except TimeoutError:
        raise TwinError(
            f'{service} gave no answer within {timeout_s:g} s: softarm doctor'
        ) from None


def type_of(name: str) -> Any:
    """Return the class of a type such as `std_msgs/msg/String`."""
    package, kind, type_name = name.split('/')
    return getattr(importlib.import_module(f'{package}.{kind}'), type_name)
