"""A program's short connection to running nodes: one goal or one call, with deadlines and a clear end."""

import time
from collections.abc import Callable
from typing import Self

import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from soft_arm_control.errors import NothingOffersError

FIND_S = 4.0  # DDS discovery takes up to 3 s
ANSWER_S = 10.0


class ProgramClient:
    """Context manager; a goal that is interrupted is cancelled.

    Args:
        name: Of the node.
        namespace: Of the nodes that are called.
        launch_file: What offers them, for errors.
    """

    def __init__(self, name: str, namespace: str, launch_file: str):
        self._name, self._namespace, self._launch_file = name, namespace, launch_file

    def __enter__(self) -> Self:
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = Node(
            self._name, context=self._context, namespace=self._namespace, use_global_arguments=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        return self

    def __exit__(self, *_exception) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def call(self, kind, service: str, request):
        """Call a service; returns its response.

        Raises:
            NothingOffersError: If nobody offers it or it does not answer.
        """
        client = self._node.create_client(kind, service)
        try:
            self._find(client.service_is_ready, service)
            return self._wait(
                client.call_async(request), ANSWER_S, f'the answer of {client.srv_name}'
            )
        finally:
            self._node.destroy_client(client)

    def act(
        self,
        kind,
        action: str,
        goal,
        limit_s: float,
        on_feedback: Callable[[object], None] = lambda _: None,
    ):
        """Send a goal and wait for its end; returns the result. An interrupt cancels the goal, and the result says so.

        Raises:
            NothingOffersError: If nobody offers the action, or it does not answer.
        """
        client = ActionClient(self._node, kind, action)
        try:
            self._find(client.server_is_ready, action)
            sent = client.send_goal_async(
                goal, feedback_callback=lambda message: on_feedback(message.feedback)
            )
            try:
                future = self._accepted(sent).get_result_async()
                self._until(
                    lambda: future.done() or not client.server_is_ready(),
                    limit_s,
                    f'no result within {limit_s:g} s',
                )
                if not future.done():
                    raise NothingOffersError(
                        f'the node that offers {action} has ended: run `softarm doctor`'
                    )
                result = future.result()
            except KeyboardInterrupt:
                handle = self._accepted(sent)
                handle.cancel_goal_async()
                result = self._wait(
                    handle.get_result_async(), ANSWER_S, 'the end of the cancelled goal'
                )
        finally:
            client.destroy()
        return result.result

    def _accepted(self, sent):
        handle = self._wait(sent, ANSWER_S, 'the goal to be accepted')
        if not handle.accepted:
            raise NothingOffersError('the goal was not accepted: see the log of the node')
        return handle

    def _find(self, is_ready: Callable[[], bool], name: str) -> None:
        full = name if name.startswith('/') else f'/{self._namespace}/{name}'
        self._until(
            is_ready,
            FIND_S,
            f'nothing offers {full}: start a rig with: softarm launch {self._launch_file}',
        )

    def _wait(self, future, timeout_s: float, what: str):
        self._until(
            future.done, timeout_s, f'waited {timeout_s:g} s for {what}: run `softarm doctor`'
        )
        return future.result()

    def _until(self, condition: Callable[[], bool], timeout_s: float, otherwise: str) -> None:
        end_s = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > end_s:
                raise NothingOffersError(otherwise)
            self._executor.spin_once(timeout_sec=0.05)
