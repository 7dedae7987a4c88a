"""Session of a program with running nodes: waits with deadlines, calls and goals."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

import rclpy
from rclpy.action.client import ActionClient
from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from soft_arm_io.command_line import uninterrupted
from soft_arm_node_kit.executor import make_executor
from soft_arm_node_kit.node import Node

DISCOVERY_TIMEOUT_S = 4.0  # DDS discovery takes up to 3 s
RESPONSE_TIMEOUT_S = 10.0


class Session:
    """Context manager that creates and destroys `node` in a separate ROS context.

    The node spins while a method waits; after `spin_in_thread` it always spins.

    Args:
        name: Name of the node.
        namespace: Namespace of the node.
        remedy: What to do about a node or a message that is missing, for errors.
        error: What is raised if a node, a message or an answer is missing.
        domain: ROS domain; None is the domain of the environment.
        use_sim_time: Whether the node's clock follows /clock. Deadlines are on the wall clock.
    """

    def __init__(
        self,
        name: str,
        namespace: str = '',
        *,
        remedy: str = 'see `softarm doctor`',
        error: type[Exception] = TimeoutError,
        domain: int | None = None,
        use_sim_time: bool = False,
    ):
        self._name, self._namespace, self._domain = name, namespace, domain
        self._remedy, self._error = remedy, error
        self._use_sim_time = use_sim_time
        self._changed, self._stopping = threading.Condition(), threading.Event()
        self._thread: threading.Thread | None = None
        self._action_clients: dict[str, ActionClient] = {}

    def __enter__(self) -> Self:
        self._context = Context()
        rclpy.init(
            args=[],
            context=self._context,
            domain_id=self._domain,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self.node = Node(
            self._name,
            context=self._context,
            namespace=self._namespace,
            enable_rosout=False,
            start_parameter_services=False,
            use_global_arguments=False,
            parameter_overrides=[Parameter('use_sim_time', value=self._use_sim_time)],
        )
        self._executor = make_executor(self._use_sim_time, self._context)
        self._executor.add_node(self.node)
        with ExitStack() as unfinished:  # closes the session if `begin` fails
            unfinished.callback(self.__exit__)
            self.begin()
            unfinished.pop_all()
        return self

    def begin(self) -> None:
        """Subscribe and wait for what the session needs; an error closes the session."""

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._executor.shutdown()
        for client in self._action_clients.values():
            client.destroy()  # else they keep the node in the graph
        self.node.destroy_node()
        self._context.try_shutdown()

    def spin_in_thread(self) -> None:
        """Run callbacks in a thread from now on, until the session ends."""
        self._thread = threading.Thread(target=self._spin, name=self._name)
        self._thread.start()

    def now_s(self) -> float:
        """Return the time of the node's clock [s]."""
        return float(self.node.get_clock().now().nanoseconds) * 1e-9

    def wait_for(
        self,
        condition: Callable[[], Any],
        timeout_s: float,
        what: str | Callable[[], str],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Run callbacks until a condition on them or on the graph holds; `check` may raise.

        Raises the session's error, which says `what` did not come, when the time is over.
        """
        if not self.holds(condition, timeout_s, check):
            missing = what if isinstance(what, str) else what()
            raise self._error(f'waited {timeout_s:.4g} s for {missing}: {self._remedy}')

    def holds(
        self,
        condition: Callable[[], Any],
        timeout_s: float,
        check: Callable[[], None] = lambda: None,
    ) -> bool:
        """Wait as `wait_for` does; return whether the condition holds in time."""
        end_s = time.monotonic() + timeout_s
        with self._changed:
            while not condition():
                check()
                left_s = end_s - time.monotonic()
                if left_s <= 0:
                    return False
                if self._thread is None:
                    with uninterrupted():  # a message just taken would be lost
                        self._executor.spin_once(timeout_sec=min(left_s, 0.1))
                else:
                    self._changed.wait(min(left_s, 0.1))
        return True

    def call(self, kind: Any, service: str, request: Any) -> Any:
        """Call a service; return its response."""
        client = self.node.create_client(kind, service)
        name = self.node.resolve_service_name(service)
        try:
            self.wait_for(client.service_is_ready, DISCOVERY_TIMEOUT_S, name)
            return self._result(client.call_async(request), f'the answer of {name}')
        finally:
            self.node.destroy_client(client)

    def action_client(self, kind: Any, name: str) -> ActionClient:
        """Return the client of an action, which lives until `drop_action_client` or the end."""
        if name not in self._action_clients:
            self._action_clients[name] = ActionClient(self.node, kind, name)
        return self._action_clients[name]

    def drop_action_client(self, name: str) -> None:
        """Destroy the client of an action in the thread of the session.

        Its server must have ended a while ago: `EventsExecutor` crashes if a message for the client
        waits to be processed (it releases the client's wait set without the GIL).
        """
        client = self._action_clients.pop(name, None)
        if client is not None:
            client.destroy()

    def send(self, client: Any, goal: Any, on_feedback: Any = None) -> Future:
        """Send a goal to an action server that runs; return the future of the goal's handle."""
        if self._thread is None:
            return client.send_goal_async(goal, on_feedback)
        # Sent from this thread, an answer that overtakes the end of the call would be dropped.
        sent = self._executor.create_task(client.send_goal_async, goal, on_feedback)
        return self._result(sent, 'the goal to be sent')

    def act(
        self,
        kind: Any,
        action: str,
        goal: Any,
        limit_s: float,
        on_feedback: Callable[[Any], None] = lambda _: None,
    ) -> Any:
        """Send a goal; return its result. Ctrl-C cancels the goal, and the result says so."""
        client = self.action_client(kind, action)
        self.wait_for(
            client.server_is_ready, DISCOVERY_TIMEOUT_S, self.node.resolve_service_name(action)
        )
        try:
            with uninterrupted():
                sent = self.send(client, goal, lambda message: on_feedback(message.feedback))
            result = self._accepted(sent).get_result_async()
            self.wait_for(
                lambda: result.done() or not client.server_is_ready(), limit_s, 'the result'
            )
            if not result.done():
                raise self._error(f'the node of {action} has ended: run `softarm doctor`')
        except KeyboardInterrupt:
            handle = self._accepted(sent)
            handle.cancel_goal_async()
            result = handle.get_result_async()
        return self._result(result, 'the end of the cancelled goal').result

    def _accepted(self, sent: Future) -> Any:
        handle = self._result(sent, 'the goal to be accepted')
        if not handle.accepted:
            raise self._error('the goal was not accepted: see the log of the node')
        return handle

    def _result(self, future: Future, what: str) -> Any:
        self.wait_for(future.done, RESPONSE_TIMEOUT_S, what)
        return future.result()

    def _spin(self) -> None:
        while not self._stopping.is_set():
            self._executor.spin_once(timeout_sec=0.1)
            with self._changed:
                self._changed.notify_all()
