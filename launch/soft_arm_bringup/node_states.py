"""What running nodes answer: their lifecycle states, and whether they answer at all."""

from collections.abc import Iterable

from lifecycle_msgs.srv import GetState
from rcl_interfaces.srv import GetParameterTypes

from soft_arm_bringup.graph import Graph

ANSWER_S = 4.0
NO_ANSWER = 'no answer'
_GET_STATE = 'lifecycle_msgs/srv/GetState'
_GET_PARAMETER_TYPES = 'rcl_interfaces/srv/GetParameterTypes'


def lifecycle_states(graph: Graph) -> dict[str, str]:
    """Return the state of every lifecycle node by its name, such as `active`, or `no answer` within four seconds."""
    answers = _ask(graph, GetState, (name for name, kind in graph.services().items() if kind == _GET_STATE))
    return {name: NO_ANSWER if answer is None else answer.current_state.label for name, answer in answers.items()}


def deaf_nodes(graph: Graph) -> list[str]:
    """Return the names of nodes that do not answer a request for no parameters within four seconds, which every node should."""
    services = (name for name, kind in graph.services().items() if kind == _GET_PARAMETER_TYPES)
    answers = _ask(graph, GetParameterTypes, services)
    return sorted(name for name, answer in answers.items() if answer is None)


def _ask(graph: Graph, kind: type, services: Iterable[str]) -> dict:
    """Call services with an empty request, all at once; answers by the node's name, None where none came in time."""
    futures = {}
    for service in services:
        client = graph.node.create_client(kind, service)
        futures[service.rpartition('/')[0]] = (client, service)
    graph.spin_until(lambda: all(client.service_is_ready() for client, _ in futures.values()), ANSWER_S)
    futures = {name: (client, client.call_async(kind.Request())) for name, (client, _) in futures.items()}
    graph.spin_until(lambda: all(future.done() for _, future in futures.values()), ANSWER_S)
    answers = {name: future.result() if future.done() else None for name, (_, future) in futures.items()}
    for client, _ in futures.values():
        graph.node.destroy_client(client)
    return answers
