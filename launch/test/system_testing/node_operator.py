"""Operator of a lifecycle node: its process and a ROS client."""

import os
import subprocess
import tempfile
import time

import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.executors import SingleThreadedExecutor


class NodeOperator:
    """Client of a node, which it also starts and ends.

    Args:
        namespace: Namespace of both.
        node_name: Name of the node.

    Attributes:
        process: Process of the node; None before `launch`.
    """

    def __init__(self, namespace: str, node_name: str):
        self._namespace, self._node_name = namespace, node_name
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node('operator', namespace=namespace, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self.process: subprocess.Popen | None = None
        self._known = False  # whether the node has answered
        # A file, because a full pipe would block the node.
        self._output = tempfile.TemporaryFile('a+')  # noqa: SIM115

    def launch(self, command: list, environment: dict[str, str], **parameters) -> None:
        """Start the node with its parameters and additional environment variables."""
        given = [word for k, v in parameters.items() for word in ('-p', f'{k}:={v}')]
        self.process = subprocess.Popen(
            [*command, '--ros-args', '-r', f'__ns:={self._namespace}', *given],
            stderr=self._output,
            text=True,
            env=os.environ | environment,
        )

    @property
    def output(self) -> str:
        """Standard error of the node."""
        self._output.seek(0)
        return self._output.read()

    def listen(self, kind, topic: str, profile=10) -> list:
        """Return a list that receives all messages of a topic."""
        messages = []
        self._node.create_subscription(kind, topic, messages.append, profile)
        return messages

    def wait(self, condition, deadline_s: float = 120.0, what: str = 'the condition') -> float:
        """Wait for a condition while the node runs; return the elapsed time [s]."""
        began_s = time.monotonic()
        while not condition():
            assert self.process.poll() is None, self.output
            assert time.monotonic() - began_s < deadline_s, (
                f'{what} not within {deadline_s} s; the node said:\n{self.output}'
            )
            self._executor.spin_once(timeout_sec=0.02)
        return time.monotonic() - began_s

    def call(self, kind, name: str, **fields):
        """Call a service; return its response."""
        if not self._known:
            _ = self.state
        client = self._node.create_client(kind, name)
        self.wait(client.service_is_ready, what=f'service {name}')
        future = client.call_async(kind.Request(**fields))
        self.wait(future.done, what=f'answer of {name}')
        self._node.destroy_client(client)
        return future.result()

    def transition(self, number: int) -> bool:
        """Request a transition of the lifecycle; return its success."""
        service = f'{self._node_name}/change_state'
        return self.call(ChangeState, service, transition=Transition(id=number)).success

    @property
    def state(self) -> str:
        """State of the lifecycle, requested every second until the node answers.

        A node that has not discovered its client within 100 ms drops the answer (rmw_fastrtps),
        as happens to the first client of a node that starts on a busy machine.
        """
        client = self._node.create_client(GetState, f'{self._node_name}/get_state')
        answers, next_s = [], 0.0

        def answered():
            nonlocal next_s
            if client.service_is_ready() and time.monotonic() >= next_s:
                next_s = time.monotonic() + 1.0
                answers.append(client.call_async(GetState.Request()))
            return any(future.done() for future in answers)

        self.wait(answered, what=f'state of {self._node_name}')
        self._node.destroy_client(client)
        self._known = True
        return next(f for f in answers if f.done()).result().current_state.label

    def close(self) -> None:
        """End the process and the client."""
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait(60.0)
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)
