"""What running nodes answer: their lifecycle states, how to change them, and whether they answer at all."""

from collections.abc import Iterable

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import GetParameterTypes
from std_srvs.srv import Trigger

from softarm_cli.errors import GraphError
from softarm_cli.graph.graph import Graph, nearest

ANSWER_S = 4.0
TRANSITION_S = 15.0  # a driver connects to its device meanwhile
NO_ANSWER = 'no answer'
_GET_STATE = 'lifecycle_msgs/srv/GetState'
_GET_PARAMETER_TYPES = 'rcl_interfaces/srv/GetParameterTypes'


def lifecycle_states(graph: Graph) -> dict[str, str]:
    """Return the state of every lifecycle node by its name, such as `active`, or `no answer` within four seconds."""
    answers = _ask(
        graph, GetState, (name for name, kind in graph.services().items() if kind == _GET_STATE)
    )
    return {
        name: NO_ANSWER if answer is None else answer.current_state.label
        for name, answer in answers.items()
    }


def deaf_nodes(graph: Graph) -> list[str]:
    """Return the names of nodes that do not answer a request for no parameters within four seconds, which every node should."""
    services = (name for name, kind in graph.services().items() if kind == _GET_PARAMETER_TYPES)
    answers = _ask(graph, GetParameterTypes, services)
    return sorted(name for name, answer in answers.items() if answer is None)


def lifecycle_node(graph: Graph, name: str) -> str:
    """Return the full name of the lifecycle node with this name, or with this name in its namespace.

    Raises:
        GraphError: If there is none or more than one.
    """
    known = sorted(
        service.rpartition('/')[0]
        for service, kind in graph.services().items()
        if kind == _GET_STATE
    )
    found = [node for node in known if node == name or node.endswith(f'/{name}')]
    if len(found) > 1:
        raise GraphError(f'{name} is the name of {" and ".join(found)}: give the full name')
    if not found:
        raise GraphError(
            f'there is no node {name} with a lifecycle; {nearest(name, known, "there are: " + (", ".join(known) or "none"))}'
        )
    return found[0]


def change_state(graph: Graph, name: str, wanted: str) -> str:
    """Bring a lifecycle node to `active` or `inactive`, over the states between; return the state that it is in then.

    Raises:
        GraphError: If it does not answer.
    """
    state = lifecycle_states(graph).get(name, NO_ANSWER)
    steps = {
        ('unconfigured', 'active'): (
            Transition.TRANSITION_CONFIGURE,
            Transition.TRANSITION_ACTIVATE,
        ),
        ('unconfigured', 'inactive'): (Transition.TRANSITION_CONFIGURE,),
        ('inactive', 'active'): (Transition.TRANSITION_ACTIVATE,),
        ('active', 'inactive'): (Transition.TRANSITION_DEACTIVATE,),
    }
    for step in steps.get((state, wanted), ()):
        if not _call(
            graph,
            ChangeState,
            f'{name}/change_state',
            ChangeState.Request(transition=Transition(id=step)),
        ).success:
            break
    return lifecycle_states(graph).get(name, NO_ANSWER)


def clear_faults(graph: Graph, name: str) -> tuple[bool, str]:
    """Call the service `clear_faults` in a driver's namespace; return whether it succeeded, and what it said."""
    answer = _call(graph, Trigger, f'{name.rpartition("/")[0]}/clear_faults', Trigger.Request())
    return answer.success, answer.message


def _call(graph: Graph, kind: type, service: str, request):
    client = graph.node.create_client(kind, service)
    try:
        if not graph.spin_until(client.service_is_ready, ANSWER_S):
            raise GraphError(f'nobody offers the service {service}')
        future = client.call_async(request)
        if not graph.spin_until(future.done, TRANSITION_S):
            raise GraphError(f'{service} does not answer within {TRANSITION_S:g} s: softarm doctor')
        return future.result()
    finally:
        graph.node.destroy_client(client)


def _ask(graph: Graph, kind: type, services: Iterable[str]) -> dict:
    """Call services with an empty request, all at once; answers by the node's name, None where none came in time."""
    futures = {}
    for service in services:
        client = graph.node.create_client(kind, service)
        futures[service.rpartition('/')[0]] = (client, service)
    graph.spin_until(
        lambda: all(client.service_is_ready() for client, _ in futures.values()), ANSWER_S
    )
    futures = {
        name: (client, client.call_async(kind.Request())) for name, (client, _) in futures.items()
    }
    graph.spin_until(lambda: all(future.done() for _, future in futures.values()), ANSWER_S)
    answers = {
        name: future.result() if future.done() else None for name, (_, future) in futures.items()
    }
    for client, _ in futures.values():
        graph.node.destroy_client(client)
    return answers
