"""Operator of a lifecycle node: its process and a ROS client."""

import os
import subprocess
import tempfile
import time

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState

from system_testing.probe import Probe


class NodeOperator(Probe):
    """Client of a node, which it also starts and ends.

    Args:
        namespace: Namespace of both.
        node_name: Name of the node.

    Attributes:
        process: Process of the node; None before `launch`.
    """

    def __init__(self, namespace: str, node_name: str):
        super().__init__('operator', namespace)
        self._operated = node_name
        self.process: subprocess.Popen | None = None
        self._known = False  # whether the node has answered
        # A file, because a full pipe would block the node.
        self._output = tempfile.TemporaryFile('a+')  # noqa: SIM115

    def launch(self, command: list, environment: dict[str, str], **parameters) -> None:
        """Start the node with its parameters and additional environment variables."""
        given = [word for k, v in parameters.items() for word in ('-p', f'{k}:={v}')]
        self.process = subprocess.Popen(
            [*command, '--ros-args', '-r', f'__ns:={self.get_namespace()}', *given],
            stderr=self._output,
            text=True,
            env=os.environ | environment,
        )

    @property
    def output(self) -> str:
        """Standard error of the node."""
        self._output.seek(0)
        return self._output.read()

    def said(self):
        return f'the node said:\n{self.output}'

    def wait(self, condition, what='the condition', each=None):
        """Wait for a condition while the node runs."""

        def holds():
            assert self.process.poll() is None, self.output
            return condition()

        super().wait(holds, what, each)

    def call(self, kind, name, request=None, **fields):
        """Call a service; return its response."""
        if not self._known:
            _ = self.state
        return super().call(kind, name, request, **fields)

    def transition(self, number: int) -> bool:
        """Request a transition of the lifecycle; return its success."""
        service = f'{self._operated}/change_state'
        return self.call(ChangeState, service, transition=Transition(id=number)).success

    @property
    def state(self) -> str:
        """State of the lifecycle, requested every second until the node answers.

        A node that has not discovered its client within 100 ms drops the answer (rmw_fastrtps),
        as happens to the first client of a node that starts on a busy machine.
        """
        client = self._service_client(GetState, f'{self._operated}/get_state')
        answers, next_s = [], 0.0

        def answered():
            nonlocal next_s
            if client.service_is_ready() and time.monotonic() >= next_s:
                next_s = time.monotonic() + 1.0
                answers.append(client.call_async(GetState.Request()))
            return any(future.done() for future in answers)

        self.wait(answered, f'state of {self._operated}')
        self._known = True
        return next(f for f in answers if f.done()).result().current_state.label

    def close(self) -> None:
        """End the process and the client."""
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait(60.0)
        super().close()
