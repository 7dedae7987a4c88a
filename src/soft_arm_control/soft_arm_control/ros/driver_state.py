"""Report to the liveness monitor of a controller whether the driver is active.

The driver's `transition_event` arrives immediately. Its diagnostics (value `state`, every second)
correct events that another node sent.
"""

from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import State, TransitionEvent

from soft_arm_control.errors import MessageError
from soft_arm_control.liveness_monitor import LivenessMonitor
from soft_arm_control.ros.conversions import recent_s
from soft_arm_node_kit import qos
from soft_arm_node_kit.node import Node

_LABELS = {
    State.PRIMARY_STATE_UNCONFIGURED: 'unconfigured',
    State.PRIMARY_STATE_INACTIVE: 'inactive',
    State.PRIMARY_STATE_ACTIVE: 'active',
    State.PRIMARY_STATE_FINALIZED: 'finalized',
}


class DriverState:
    """Subscribe to the state of a driver in the node's namespace.

    Args:
        node: Node that subscribes.
        driver: Name of the driver's node.
        liveness: Monitor that receives the state.
        on_diagnostics: Receives every status of /diagnostics.
    """

    def __init__(
        self,
        node: Node,
        driver: str,
        liveness: LivenessMonitor,
        on_diagnostics: Callable[[DiagnosticStatus], None] = lambda _: None,
    ):
        self._node, self._on_status = node, on_diagnostics
        self._liveness = liveness
        self._name = f'{node.get_namespace().strip("/")}/{driver}'.lstrip('/')
        node.create_subscription(
            TransitionEvent, f'{driver}/transition_event', self._on_transition, qos.STATE
        )
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, qos.STATE)

    def _on_transition(self, message: TransitionEvent) -> None:
        state = message.goal_state
        # Other states are steps of a transition, or invalid.
        if _LABELS.get(state.id) == state.label:
            self._liveness.add_driver_state(self._node.now_s(), state.label == 'active')

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._on_status(status)
            states = [v.value for v in status.values if v.key == 'state']
            if status.name != self._name or not states:
                continue
            try:
                stamp_s = recent_s(message.header.stamp, self._node.now_s())
            except MessageError:
                continue
            self._liveness.add_driver_state(stamp_s, states[0] == 'active')
