"""Node `abb_rws_bridge`: connect an ABB controller (Robot Web Services) to ROS.

Published while configured: `joint_states` and /tf at the rate the controller allows, stamped with
the time of the request; `controller_state` and `io` (each value with its age); `event_log`;
diagnostics. Served only while active: the action `move_joints` (reset the pointer, write the
target, start, stop on arrival) and the services `start`, `reset_pointer`, `set_speed_ratio`,
`set_rapid_data`, `set_io` and `set_motors` true. Served whenever configured: `stop`, `set_motors`
false and `get_rapid_data`. While the controller does not answer, the node publishes nothing and the
diagnostics report it; the node reconnects by itself but does not resume a move. Deactivation ends a
move and stops its program; cleanup, shutdown, an error, SIGTERM and SIGINT also log out.
"""

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.credentials import load_credentials
from abb_rws_bridge.errors import RwsError
from abb_rws_bridge.link import Link
from abb_rws_bridge.monitor import BUSY, CONNECTING, LOST, REFUSED, UP
from abb_rws_bridge.ros import conversions
from abb_rws_bridge.ros.bridge_parameters import BridgeParameters
from abb_rws_bridge.ros.bridge_publishers import BridgePublishers
from abb_rws_bridge.ros.commands import Commands
from abb_rws_bridge.ros.move_action import MoveAction
from abb_rws_bridge.rws1 import RWS1
from abb_rws_bridge.rws2 import RWS2
from abb_rws_bridge.session import Endpoint
from soft_arm_node_kit import diagnostics, runner
from soft_arm_node_kit.log_bridge import LogBridge
from soft_arm_node_kit.node import LifecycleNode
from soft_arm_node_kit.parameters import declare

_SUCCESS, _FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_AUTOSTART_PERIOD_S = 0.5
_REMEDIES = {
    CONNECTING: 'wait; if it stays so, check the parameters host and port',
    LOST: 'check that the controller is on, the cable, and the parameters host and port',
    BUSY: 'log other clients out of the controller, or wait 5 minutes until their sessions expire',
    REFUSED: 'check user and password of the credentials',
}
"""Remedy by the state of the link."""


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
        self._make_controller()  # refuses settings that cannot be used
        self._log_bridge = LogBridge('abb_rws_bridge', self.get_logger())
        self._phase, self._news = 'unconfigured', set()
        self._wake = self.create_guard_condition(self._on_news)
        self._link = Link(self._make_controller, self._on_change, p.ping_s)
        # A command that waits must hold neither a stop nor the lifecycle.
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
        """Connect, and wait until the state of the controller is known."""
        return self._transition(
            lambda: self._link.open(self._settings.connect_timeout_s), 'inactive'
        )

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Accept commands from now on."""
        return self._transition(lambda: None, 'active')

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Accept no more commands; end a running move and its program."""
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
        """Stop a move and log out: also after SIGTERM, SIGINT and exceptions."""
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
        self._news.add(name)
        self._wake.trigger()

    def _on_news(self) -> None:
        names, self._news = self._news, set()
        if self._phase in ('inactive', 'active'):
            self._output.publish(self._link.known, names)

    def _start_by_itself(self) -> None:
        if self._autostart and self._phase == 'unconfigured':
            self.trigger_configure()
        if self._autostart and self._phase == 'inactive':
            self.trigger_activate()

    def _status(self) -> tuple[bytes, str, dict]:
        known, age_s = self._link.known, conversions.age_s(self._link.known.joints)
        stale = not age_s <= self._settings.stale_after_s  # NaN, never told, is stale too
        connected = self._phase in ('inactive', 'active')
        level = (
            diagnostics.OK
            if not connected or known.ready and not stale
            else diagnostics.ERROR
            if known.link != UP
            else diagnostics.WARN
        )
        values = {
            'state': self._phase,
            'ready': self._phase == 'active',
            'link': known.link,
            'joint_age_s': age_s,
            'joint_rate_hz': self._output.joint_rate.rate_hz,
            'events': self._link.events_live,
            'controller_sessions': self._link.sessions_used,
            'refused_commands': self._commands.refused,
        }
        return level, self._message(connected, stale), values

    def _message(self, connected: bool, stale: bool) -> str:
        """Return what is wrong and the remedy, or the state of the node."""
        known = self._link.known
        if not connected:
            return f'{self._phase}: configure and activate the node, or set its parameter autostart'
        if known.link != UP:
            return f'link {known.link} {known.error[:180]}: {_REMEDIES[known.link]}'
        if stale:
            limit = f'{self._settings.stale_after_s:g} s {known.error[:150]}'.strip()
            return f'joint angles are older than {limit}: check the load of network and controller'
        if not known.ready:
            return 'the controller has no RAPID tasks yet: it is starting, wait'
        return known.error or self._phase


def main() -> int:
    """Entry point of the executable."""
    return runner.run(AbbRwsBridgeNode)
