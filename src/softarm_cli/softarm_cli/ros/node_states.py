"""Requests to running nodes: lifecycle states, transitions, responsiveness."""

from collections.abc import Iterable
from typing import Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import GetParameterTypes
from std_srvs.srv import Trigger

from softarm_cli.errors import GraphError
from softarm_cli.graph.names import nearest
from softarm_cli.graph.running_nodes import NO_ANSWER
from softarm_cli.ros.graph import Graph

ANSWER_S = 4.0
TRANSITION_S = 15.0  # includes the connection to the device
_GET_STATE = 'lifecycle_msgs/srv/GetState'
_GET_PARAMETER_TYPES = 'rcl_interfaces/srv/GetParameterTypes'
# Transitions from one state to another.
_STEPS = {
    ('unconfigured', 'active'): (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE),
    ('unconfigured', 'inactive'): (Transition.TRANSITION_CONFIGURE,),
    ('inactive', 'active'): (Transition.TRANSITION_ACTIVATE,),
    ('active', 'inactive'): (Transition.TRANSITION_DEACTIVATE,),
}


def lifecycle_states(graph: Graph) -> dict[str, str]:
    """Return the state of every lifecycle node by its name: `active` and so on, or `no answer`."""
    answers = _ask(graph, GetState, _services_of_type(graph, _GET_STATE))
    return {
        name: NO_ANSWER if answer is None else answer.current_state.label
        for name, answer in answers.items()
    }


def unresponsive_nodes(graph: Graph) -> list[str]:
    """Return the nodes that do not answer a parameter service within 4 s."""
    answers = _ask(graph, GetParameterTypes, _services_of_type(graph, _GET_PARAMETER_TYPES))
    return sorted(name for name, answer in answers.items() if answer is None)


def lifecycle_node(graph: Graph, name: str) -> str:
    """Return the full name of the lifecycle node with this full name, or this name in a namespace.

    Raises:
        GraphError: If the name is unknown or ambiguous.
    """
    services = _services_of_type(graph, _GET_STATE)
    known = sorted(service.rpartition('/')[0] for service in services)
    found = [node for node in known if node == name or node.endswith(f'/{name}')]
    if len(found) > 1:
        raise GraphError(f'{name} is the name of {" and ".join(found)}: give the full name')
    if not found:
        hint = nearest(name, known, f'there are: {", ".join(known) or "none"}')
        raise GraphError(f'unknown lifecycle node {name}; {hint}')
    return found[0]


def change_state(graph: Graph, name: str, wanted: str) -> str:
    """Bring a lifecycle node to `active` or `inactive`; return its new state.

    Raises:
        GraphError: If it does not answer.
    """
    state = lifecycle_states(graph).get(name, NO_ANSWER)
    for step in _STEPS.get((state, wanted), ()):
        request = ChangeState.Request(transition=Transition(id=step))
        if not _call(graph, ChangeState, f'{name}/change_state', request).success:
            break
    return lifecycle_states(graph).get(name, NO_ANSWER)


def clear_faults(graph: Graph, name: str) -> tuple[bool, str]:
    """Call `clear_faults` in a driver's namespace; return whether it succeeded, and its message."""
    answer = _call(graph, Trigger, f'{name.rpartition("/")[0]}/clear_faults', Trigger.Request())
    return answer.success, answer.message


def _services_of_type(graph: Graph, kind: str) -> list[str]:
    return [name for name, found in graph.services().items() if found == kind]


def _call(graph: Graph, kind: Any, service: str, request: Any) -> Any:
    client = graph.node.create_client(kind, service)
    try:
        if not graph.holds(client.service_is_ready, ANSWER_S):
            raise GraphError(f'no node offers the service {service}')
        future = client.call_async(request)
        if not graph.holds(future.done, TRANSITION_S):
            raise GraphError(f'{service} does not answer within {TRANSITION_S:g} s: softarm doctor')
        return future.result()
    finally:
        graph.node.destroy_client(client)


def _ask(graph: Graph, kind: Any, services: Iterable[str]) -> dict[str, Any]:
    """Call all services at once with an empty request; return the answers by the node's name.

    The answer is None after a time-out.
    """
    clients = {name: graph.node.create_client(kind, name) for name in services}
    graph.holds(lambda: all(c.service_is_ready() for c in clients.values()), ANSWER_S)
    futures = {name: client.call_async(kind.Request()) for name, client in clients.items()}
    graph.holds(lambda: all(future.done() for future in futures.values()), ANSWER_S)
    for client in clients.values():
        graph.node.destroy_client(client)
    return {
        name.rpartition('/')[0]: future.result() if future.done() else None
        for name, future in futures.items()
    }
