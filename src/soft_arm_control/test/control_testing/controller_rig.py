"""Base of the nodes that simulate the environment of a controller, and the controller's process."""

import subprocess
import sys

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import qos
from soft_arm_node_kit.testing import SpinningNode


def start(node: str, *parameters: str, namespace: str) -> subprocess.Popen:
    """Start a node of this package in a separate process."""
    code = f'import sys; from soft_arm_control.ros.{node}_node import main; sys.exit(main())'
    arguments = ['--ros-args', '-r', f'__ns:={namespace}']
    arguments += [word for parameter in parameters for word in ('-p', parameter)]
    return subprocess.Popen(
        [sys.executable, '-c', code, *arguments], stderr=subprocess.PIPE, text=True
    )


class ControllerRig(SpinningNode):
    """Client of the controller; subclasses publish its inputs and call `spin`.

    Attributes:
        status: Last diagnostics of the controller.
    """

    def __init__(self, namespace: str, controller: str):
        super().__init__('rig', namespace)
        self.status, self._foreign = DiagnosticStatus(), None
        self._controller = f'{namespace}/{controller}'
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, qos.STATE)

    def _on_diagnostics(self, message):
        for status in message.status:
            if status.name == self._controller:
                self.status = status

    def reports(self, *words: str) -> None:
        """Wait until the diagnostics contain all words."""
        self.wait(lambda: all(w in self.status.message for w in words), f'diagnostics: {words}')

    def reports_no(self, word: str) -> None:
        """Wait until the diagnostics do not contain a word."""
        self.wait(lambda: word not in self.status.message, f'diagnostics without {word!r}')

    def also_command(self, wanted: bool) -> None:
        if wanted:
            self._foreign = self.create_publisher(ChamberPressures, 'pressure_command', qos.COMMAND)
        else:
            self.destroy_publisher(self._foreign)

    def send_to(self, client, goal):
        """Send a goal; return its handle, the future of its result, and its feedback so far."""
        feedback = []
        self.wait(client.server_is_ready, 'the action is offered')
        sent = self.called(
            lambda: client.send_goal_async(
                goal, feedback_callback=lambda message: feedback.append(message.feedback)
            )
        )
        self.wait(sent.done, 'the goal is answered')
        return sent.result(), self.called(sent.result().get_result_async), feedback

    def result(self, sent):
        self.wait(sent[1].done, 'the goal ends')
        return sent[1].result().result

    def cancel(self, sent):
        cancelled = self.called(sent[0].cancel_goal_async)
        self.wait(cancelled.done, 'the cancellation is answered')
        return self.result(sent)
