"""Base of the nodes that simulate the environment of a controller."""

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import qos
from system_testing.probe import Probe


class ControllerRig(Probe):
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

    def send_to(self, kind, name, goal):
        """Send a goal; return its handle, the future of its result, and its feedback so far."""
        handle, feedback = self.send_goal(kind, name, goal)
        return handle, self.called(handle.get_result_async), feedback

    def ended(self, sent):
        return self.result(sent[1], 'the goal ends').result

    def cancel(self, sent):
        self.result(self.called(sent[0].cancel_goal_async), 'the cancellation is answered')
        return self.ended(sent)
