"""Node `pneumatic_driver`: named chambers on ROS topics <-> the channels of a valve board on Modbus.

In: `pressure_command`. Out: `pressures` (rate_hz, while configured; stamped when the board answered), diagnostics.
Services: `vent` from any state (an active node becomes inactive), `clear_faults` (the same, and gives the board its key).
Configure connects and verifies, activate enables; deactivate, cleanup, shutdown, an error, SIGTERM and SIGINT vent. Without a command
for command_timeout_s the board is vented, and the next command moves the arm again. After link loss or a fault of the board the node
becomes inactive and stays vented. It activates itself again only with `auto_recover` (for the virtual rig: on a real rig nobody
should be surprised by an arm that comes back), and never after `vent`. A command that is not acceptable is refused as a whole.
"""

import logging
import time

from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from std_srvs.srv import Trigger

from pneumatic_driver.board import Board
from pneumatic_driver.channels import ChannelMap
from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import CommandError, PneumaticDriverError
from pneumatic_driver.register_map import load_map
from pneumatic_driver.ros.conversions import exchange_values, pressures_message
from pneumatic_driver.ros.driver_parameters import DriverParameters
from soft_arm_description.robot import load_robot
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import diagnostics, qos, runner
from soft_arm_node_kit.parameters import declare

_SUCCESS, _FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_AUTOSTART_PERIOD_S = 0.5


class PneumaticDriverNode(LifecycleNode):
    """Translates; `pneumatic_driver.driver.Driver` drives."""

    def __init__(self):
        super().__init__('pneumatic_driver')
        p = declare(self, DriverParameters)
        logging.getLogger('pymodbus').setLevel(logging.CRITICAL)  # its errors reach us as exceptions, said once
        self._phase = 'unconfigured'
        self._refused, self._reason, self._notices, self._published = 0, '', [], None
        board = Board(load_map(p.map).with_link(p.host, p.port, p.serial_device), p.accept_unverified_map)
        self._link = str(board.map.link)
        self._channels = ChannelMap(load_robot(p.robot), board.channels)
        self._wake = self.create_guard_condition(self._on_driver)
        self._driver = Driver(board, p.rate_hz, p.command_timeout_s, lambda _: self._wake.trigger(), self._notice)
        self._pressures = self.create_publisher(ChamberPressures, 'pressures', qos.STATE)
        self._rate = diagnostics.RateMeter()
        self.create_subscription(ChamberPressures, 'pressure_command', self._on_command, qos.COMMAND)
        self.create_service(Trigger, 'vent', lambda _, response: self._on_trigger(self._driver.vent, 'vented', response))
        self.create_service(Trigger, 'clear_faults', lambda _, response: self._on_trigger(self._driver.clear_faults, 'cleared', response))
        self._reporter = diagnostics.Reporter(self, hardware_id=self._link, status=self._status)
        self._autostart, self._auto_recover = p.autostart, p.auto_recover
        self.create_timer(_AUTOSTART_PERIOD_S, self._start_by_itself)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Connect, verify, vent."""
        return self._transition(self._driver.connect, 'inactive')

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Enable the board, from ambient pressure."""
        return self._transition(self._driver.arm, 'active')

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Vent. A board that does not answer is vented by its own watchdog: the node is inactive in any case."""
        self._autostart = False  # who takes the arm out of service decides when it comes back
        self._transition(self._driver.vent, 'inactive')
        self._phase = 'inactive'
        return _SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Vent and close the connection."""
        self._autostart = False
        return self._transition(self._driver.disconnect, 'unconfigured')

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Vent and close the connection; the service `vent` still works."""
        return self._transition(self._driver.disconnect, 'finalized')

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Vent and close the connection."""
        return self._transition(self._driver.disconnect, 'unconfigured')

    def destroy_node(self) -> None:
        """Vent, then close: also after SIGTERM, SIGINT and exceptions."""
        self._driver.close()
        super().destroy_node()

    def _transition(self, action, phase: str) -> TransitionCallbackReturn:
        try:
            action()
        except PneumaticDriverError as error:
            self.get_logger().error(str(error), throttle_duration_sec=5.0)
            return _FAILURE
        self.get_logger().info(f'{self._phase} -> {phase}, {self._link}')
        self._phase, self._reason = phase, ''
        return _SUCCESS

    def _on_command(self, message: ChamberPressures) -> None:
        try:
            self._driver.command(self._channels.to_channels(message.names, message.pressures_pa))
        except CommandError as error:
            self._refused += 1
            self.get_logger().error(f'pressure_command refused: {error}', throttle_duration_sec=1.0)

    def _on_trigger(self, action, done: str, response: Trigger.Response) -> Trigger.Response:
        self._autostart = False  # whoever vents decides when the arm comes back
        try:
            action()
            response.success, response.message = True, f'{done}; activate the node to move again'
        except PneumaticDriverError as error:
            response.success, response.message = False, str(error)
        if self._phase == 'active':
            self.trigger_deactivate()
        return response

    def _notice(self, reason: str) -> None:
        self._notices.append(reason)
        self._wake.trigger()

    def _on_driver(self) -> None:
        exchange = self._driver.latest
        if exchange is not self._published:
            self._published = exchange
            stamp = self.get_clock().now() - Duration(seconds=time.monotonic() - exchange.at_s)
            self._pressures.publish(pressures_message(stamp, self._channels.chambers, self._channels.to_chambers(exchange.pressures_pa)))
            self._rate.tick()
        while self._notices:
            self._disarmed(self._notices.pop(0))

    def _disarmed(self, reason: str) -> None:
        self.get_logger().error(f'vented, inactive: {reason}')
        recover = self._autostart and self._auto_recover
        if self._phase == 'active':
            self.trigger_deactivate()
        self._autostart, self._reason = recover, reason

    def _start_by_itself(self) -> None:
        if self._autostart and self._phase == 'unconfigured':
            self.trigger_configure()
        if self._autostart and self._phase == 'inactive':
            self.trigger_activate()

    def _status(self) -> tuple[bytes, str, dict]:
        driver, latest = self._driver, self._driver.latest
        problem = self._reason or driver.link_error
        level = diagnostics.ERROR if problem or (latest and latest.faults) else diagnostics.WARN if driver.stale else diagnostics.OK
        message = problem or ('vented: no commands' if driver.stale else self._phase)
        values = {'state': self._phase, 'rate_hz': self._rate.rate_hz, 'refused_commands': self._refused, 'late_cycles': driver.overruns}
        return level, message, values | (exchange_values(latest) if latest else {})


def main() -> int:
    """Entry point of the executable."""
    return runner.run(PneumaticDriverNode)
