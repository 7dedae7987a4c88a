"""Node `abb_rws_bridge`: ABB controller over Robot Web Services.

Published while configured: `joint_states` and /tf at the rate limit of the controller, stamped with
the request time; `controller_state` and `io` (each value with its age); `event_log`; diagnostics.
Served while active: the action `move_joints` (reset the pointer, write the target, start, stop on
arrival) and the services `start`, `reset_pointer`, `set_speed_ratio`, `set_rapid_data`, `set_io`
and `set_motors` true. Served while configured: `stop`, `set_motors` false and `get_rapid_data`.
Without responses of the controller nothing is published and the diagnostics report it; the node
reconnects but does not resume a move. Deactivation ends a move and stops its program; cleanup,
shutdown, an error, SIGTERM and SIGINT also log out.
"""

from threading import Lock

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.credentials import load_credentials
from abb_rws_bridge.dialect import RWS1, RWS2
from abb_rws_bridge.errors import RwsError
from abb_rws_bridge.link import Link
from abb_rws_bridge.ros import bridge_diagnostics
from abb_rws_bridge.ros.bridge_parameters import BridgeParameters
from abb_rws_bridge.ros.bridge_publishers import BridgePublishers
from abb_rws_bridge.ros.commands import Commands
from abb_rws_bridge.ros.move_action import MoveAction
from abb_rws_bridge.session import Endpoint
from soft_arm_node_kit import diagnostics, runner
from soft_arm_node_kit.log_bridge import LogBridge
from soft_arm_node_kit.node import LifecycleNode
from soft_arm_node_kit.parameters import declare

_SUCCESS, _FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_AUTOSTART_PERIOD_S = 0.5


class AbbRwsBridgeNode(LifecycleNode):
    """Translate between ROS and `abb_rws_bridge.link.Link`, which talks to the controller."""

    def __init__(self):
        super().__init__('abb_rws_bridge')
        p = self._settings = declare(self, BridgeParameters)
        self._credentials = load_credentials(p.credentials_file or None)
        self._endpoint = Endpoint(
            p.host,
            p.port,
            p.tls,
            p.timeout_s,
            p.request_interval_s,
            p.ca_file or None,
            p.verify_tls,
        )
        self._make_controller()  # raises for invalid settings
        self._log_bridge = LogBridge('abb_rws_bridge', self.get_logger())
        self._phase, self._news, self._news_lock = 'unconfigured', set(), Lock()
        self._wake = self.create_guard_condition(self._on_news)
        self._link = Link(self._make_controller, self._on_change, p.ping_s)
        # a waiting command must block neither a stop nor the lifecycle
        group = ReentrantCallbackGroup()
        self._move = MoveAction(self, self._link, self._wake, group, p)
        self._commands = Commands(self, self._link, self._move, self._wake, group)
        self._output = BridgePublishers(self, p)
        self._reporter = diagnostics.Reporter(
            self, hardware_id=str(self._endpoint.url), status=self._status
        )
        self._autostart = p.autostart
        self.create_timer(_AUTOSTART_PERIOD_S, self._start_by_itself)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Connect and wait for the state of the controller."""
        return self._transition(
            lambda: self._link.open(self._settings.connect_timeout_s), 'inactive'
        )

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Accept commands."""
        return self._transition(lambda: None, 'active')

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Reject commands; end a running move and its program."""
        return self._transition(self._move.cancel, 'inactive')

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Log out."""
        return self._transition(self._link.close, 'unconfigured')

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Log out."""
        return self._transition(self._link.close, 'finalized')

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Log out."""
        return self._transition(self._link.close, 'unconfigured')

    def destroy_node(self) -> None:
        """Stop a move and log out, also after SIGTERM, SIGINT and exceptions."""
        self._link.close()
        self._log_bridge.close()
        self._move.destroy()
        super().destroy_node()

    def _make_controller(self) -> Controller:
        return Controller(
            self._endpoint, self._credentials, RWS1 if self._settings.generation == 1 else RWS2
        )

    def _transition(self, action, phase: str) -> TransitionCallbackReturn:
        try:
            action()
        except RwsError as error:
            self.get_logger().error(str(error), throttle_duration_sec=5.0)
            return _FAILURE
        self.get_logger().info(f'{self._phase} -> {phase}, {self._endpoint.url}')
        self._phase = phase
        self._commands.active = self._move.active = phase == 'active'
        return _SUCCESS

    def _on_change(self, name: str) -> None:
        """Record a refreshed value and wake the node; runs in the link's thread."""
        with self._news_lock:
            self._news.add(name)
        self._wake.trigger()

    def _on_news(self) -> None:
        with self._news_lock:
            names, self._news = self._news, set()
        if self._phase in ('inactive', 'active'):
            self._output.publish(self._link.known, names)

    def _start_by_itself(self) -> None:
        if self._autostart and self._phase == 'unconfigured':
            self.trigger_configure()
        if self._autostart and self._phase == 'inactive':
            self.trigger_activate()

    def _status(self) -> tuple[bytes, str, dict]:
        level, message, values = bridge_diagnostics.status(
            self._link, self._phase, self._settings.stale_after_s
        )
        values['joint_rate_hz'] = self._output.joint_rate.rate_hz
        values['refused_commands'] = self._commands.refused
        return level, message, values


def main() -> int:
    """Entry point of the executable."""
    return runner.run(AbbRwsBridgeNode)
