"""Node `pneumatic_driver`: named chambers on ROS topics <-> channels of a valve board on Modbus.

In: `pressure_command`. Out: `pressures` (rate_hz, while configured; stamped with the board's
    answer), diagnostics. Services: `vent` from any state (an active node becomes inactive);
    `clear_faults` (vents, clears latched faults, and an active node becomes inactive; an armed
    driver without a latched fault is left as it is).

Configure connects and verifies, activate enables; deactivate, cleanup, shutdown, errors, SIGTERM
and SIGINT vent. Without a command for command_timeout_s the board is vented, and the next command
moves the arm again. After link loss or a fault the node becomes inactive and stays vented; it
reactivates itself only with `auto_recover` (for virtual rigs), and never after `vent`. Invalid
commands are refused as a whole, and a second source is refused (`command_arbiter`).

Times are on the wall clock. With `use_sim_time`, for emulated devices only, they are on /clock: the
device is exchanged with at each multiple of 1 / rate_hz, and the tick is acknowledged when
`pressures` are published. Time-outs of the link always use the wall clock.
"""

import time

from rclpy.duration import Duration
from rclpy.time import Time

from pneumatic_driver.board import Board
from pneumatic_driver.channels import ChannelMap
from pneumatic_driver.command_arbiter import CommandArbiter, check_age
from pneumatic_driver.device import Device
from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import CommandError, LinkError
from pneumatic_driver.exchange import Exchange
from pneumatic_driver.ros.conversions import driver_status, pressures_message
from pneumatic_driver.ros.driver_lifecycle import DriverLifecycleNode
from pneumatic_driver.ros.driver_parameters import DriverParameters
from pneumatic_driver.valve_board_map import map_for
from soft_arm_description.robot import load_robot
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import diagnostics, qos, runner
from soft_arm_node_kit.graph import on_this_machine
from soft_arm_node_kit.log_bridge import LogBridge
from soft_arm_node_kit.messages import seconds
from soft_arm_node_kit.parameters import ParameterError, declare
from soft_arm_node_kit.ticker import Ticker


class PneumaticDriverNode(DriverLifecycleNode):
    """ROS interface of `Driver`; `pcu2v_driver` derives from it."""

    def __init__(
        self,
        name: str = 'pneumatic_driver',
        parameters: type[DriverParameters] = DriverParameters,
        device_type: type[Device] = Board,
    ):
        super().__init__(name)
        p = declare(self, parameters)
        self._log_bridge = LogBridge('pneumatic_driver', self.get_logger())
        self._refused, self._disarm_reasons, self._published = 0, [], None
        self._arbiter = CommandArbiter(p.command_timeout_s)
        robot = load_robot(p.robot)
        register_map = map_for(p.map, robot).with_link(p.host, p.port, p.serial_device)
        simulated = self.get_parameter('use_sim_time').value
        link = str(register_map.link)
        if simulated and not on_this_machine(link):
            raise ParameterError(
                f'{name}: use_sim_time is true, but {link} is not on this machine: real devices '
                'need the wall clock; leave use_sim_time out'
            )
        self.clock = self.now_s if simulated else time.monotonic
        device = device_type(register_map, p.accept_unverified_map, self.clock)
        self._channels = ChannelMap(robot, device.map.device.name, device.channels)
        self._wake = self.create_guard_condition(self._on_driver)
        self._driver = Driver(
            device,
            None if simulated else p.rate_hz,
            p.command_timeout_s,
            lambda _: self._wake.trigger(),
            self._on_disarm,
            self.clock,
        )
        self._pressures = self.create_publisher(ChamberPressures, 'pressures', qos.STATE)
        self._rate = diagnostics.RateMeter(self.clock)
        self.create_subscription(
            ChamberPressures, 'pressure_command', self._on_command, qos.ANY_COMMAND
        )
        self._reporter = diagnostics.Reporter(self, link, self._status)
        self._auto_recover = p.auto_recover
        if simulated:
            self._ticker = Ticker(self, 1.0 / p.rate_hz, self._exchange)
        self.begin(p.autostart)

    def destroy_node(self) -> None:
        """Vent, then close: also after SIGTERM, SIGINT and exceptions."""
        self._driver.close()
        self._log_bridge.close()
        super().destroy_node()

    def _on_command(self, message: ChamberPressures) -> None:
        try:
            stamp_s = seconds(message.header.stamp)
            check_age(self.now_s() - stamp_s if stamp_s else None)
            targets_pa = self._channels.to_channels(message.names, message.pressures_pa)
            now_s = self.clock()
            self._arbiter.check(message.source, now_s)
            self._driver.command(targets_pa)
            self._arbiter.accepted(message.source, now_s)
        except CommandError as error:
            self._refused += 1
            log, refusal = self.get_logger(), f'pressure_command refused: {error}'
            if self._driver.armed:
                log.error(refusal, throttle_duration_sec=1.0)
            else:  # its source need not know yet
                log.warning(refusal, throttle_duration_sec=5.0)

    def publish(self, stamp: Time, exchange: Exchange) -> None:
        """Publish one exchange; `stamp` is the time of the device's answer."""
        pressures_pa = self._channels.to_chambers(exchange.pressures_pa)
        self._pressures.publish(pressures_message(stamp, self._channels.chambers, pressures_pa))

    def _exchange(self) -> None:
        try:
            self._driver.exchange_now()
        except LinkError as error:
            self.get_logger().error(str(error), throttle_duration_sec=5.0)
        self._on_driver()

    def _on_disarm(self, reason: str) -> None:  # in the driver's thread
        self._disarm_reasons.append(reason)
        self._wake.trigger()

    def _on_driver(self) -> None:
        exchange = self._driver.latest
        if exchange is not self._published:
            self._published = exchange
            age = Duration(seconds=self.clock() - exchange.at_s)
            self.publish(self.get_clock().now() - age, exchange)
            self._rate.tick()
        while self._disarm_reasons:
            self.disarmed(self._disarm_reasons.pop(0), self._auto_recover)

    def _status(self) -> tuple[bytes, str, dict]:
        name, phase, reason = self.get_fully_qualified_name(), self._phase, self._reason
        level, message, values = driver_status(self._driver, name, phase, reason, self.clock())
        values |= {'rate_hz': self._rate.rate_hz, 'refused_commands': self._refused}
        return level, message, values


def main() -> int:
    """Entry point of the executable."""
    return runner.run(PneumaticDriverNode)
