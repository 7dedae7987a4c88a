"""Node `pneumatic_driver`.

Named chambers on ROS topics <-> the channels of a valve board on Modbus. `pcu2v_driver` is built on
it.

In: `pressure_command`. Out: `pressures` (rate_hz, while configured; stamped when the board
    answered), diagnostics.
Services: `vent` from any state (an active node becomes inactive), `clear_faults` (the same, and
    gives the board its key).
Configure connects and verifies, activate enables; deactivate, cleanup, shutdown, an error, SIGTERM
and SIGINT vent. Without a command
for command_timeout_s the board is vented, and the next command moves the arm again. After link loss
or a fault of the board the node
becomes inactive and stays vented. It activates itself again only with `auto_recover` (for the
virtual rig: on a real rig nobody
should be surprised by an arm that comes back), and never after `vent`. A command that is not
acceptable is refused as a whole. One source at a time is obeyed: as long as its commands are fresh,
those of any other are refused (see command_arbiter.py). All times are of the wall clock; with
`use_sim_time`, which is for emulated devices only, they are of /clock: the device is then exchanged
with at each multiple of 1 / rate_hz, and the tick answered when `pressures` are published. The
link's own time-outs are of the wall clock in any case.
"""

import time

from rclpy.duration import Duration
from rclpy.time import Time
from std_srvs.srv import Trigger

from pneumatic_driver.board import Board
from pneumatic_driver.channels import ChannelMap
from pneumatic_driver.command_arbiter import CommandArbiter
from pneumatic_driver.device import Device
from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import CommandError, LinkError, PneumaticDriverError
from pneumatic_driver.exchange import Exchange
from pneumatic_driver.ros.conversions import NOT_CONFIRMED, driver_status, pressures_message
from pneumatic_driver.ros.driver_lifecycle import DriverLifecycleNode
from pneumatic_driver.ros.driver_parameters import DriverParameters
from pneumatic_driver.valve_board_map import map_for
from soft_arm_description.robot import load_robot
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import diagnostics, qos, runner
from soft_arm_node_kit.graph import on_this_machine
from soft_arm_node_kit.log_bridge import LogBridge
from soft_arm_node_kit.parameters import ParameterError, declare
from soft_arm_node_kit.ticker import Ticker

# of a command, by its stamp: allows for a busy machine and clocks that are slightly apart, and
# excludes the replay of a recording
LONGEST_AGE_S = 2.0
STAMP_REMEDY = (
    "stamp it with the time at which it is sent (`ros2 topic pub` does with 'header: auto')"
)


class PneumaticDriverNode(DriverLifecycleNode):
    """Translates; `pneumatic_driver.driver.Driver` drives."""

    def __init__(
        self,
        name: str = 'pneumatic_driver',
        parameters: type[DriverParameters] = DriverParameters,
        device: type[Device] = Board,
    ):
        super().__init__(name)
        p = declare(self, parameters)
        self._log_bridge = LogBridge('pneumatic_driver', self.get_logger())
        self._refused, self._notices, self._published = 0, [], None
        self._arbiter = CommandArbiter(p.command_timeout_s)
        robot = load_robot(p.robot)
        register_map = map_for(p.map, robot).with_link(p.host, p.port, p.serial_device)
        simulated = self.get_parameter('use_sim_time').value
        if simulated and not on_this_machine(str(register_map.link)):
            raise ParameterError(
                f'{name}: use_sim_time is true, but {register_map.link} is not on this machine: a '
                'real device is watched on the wall clock; leave use_sim_time out'
            )
        self.clock = self.now_s if simulated else time.monotonic  # of commands and exchanges
        device = device(register_map, p.accept_unverified_map, self.clock)
        self._channels = ChannelMap(robot, device.map.device.name, device.channels)
        self._wake = self.create_guard_condition(self._on_driver)
        self._driver = Driver(
            device,
            None if simulated else p.rate_hz,
            p.command_timeout_s,
            lambda _: self._wake.trigger(),
            self._notice,
            self.clock,
        )
        self._pressures = self.create_publisher(ChamberPressures, 'pressures', qos.STATE)
        self._rate = diagnostics.RateMeter(self.clock)
        self.create_subscription(
            ChamberPressures, 'pressure_command', self._on_command, qos.ANY_COMMAND
        )
        self.create_service(
            Trigger,
            'vent',
            lambda _, response: self._on_trigger(self._driver.vent, 'vented', response),
        )
        self.create_service(
            Trigger,
            'clear_faults',
            lambda _, response: self._on_trigger(self._driver.clear_faults, 'cleared', response),
        )
        self._reporter = diagnostics.Reporter(
            self, hardware_id=self._driver.link, status=self._status
        )
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
            self._check_age(message.header.stamp)
            targets = self._channels.to_channels(message.names, message.pressures_pa)
            now_s = self.clock()
            self._arbiter.check(message.source, now_s)
            self._driver.command(targets)
            self._arbiter.accepted(message.source, now_s)
        except CommandError as error:
            self._refused += 1
            self.get_logger().error(f'pressure_command refused: {error}', throttle_duration_sec=1.0)

    def _check_age(self, stamp) -> None:
        """Refuse commands that may be a recording: without a stamp, or not of now."""
        made_s = stamp.sec + 1e-9 * stamp.nanosec
        if not made_s:
            raise CommandError(f'it has no stamp, as a replay may have none: {STAMP_REMEDY}')
        age_s = self.now_s() - made_s
        if abs(age_s) > LONGEST_AGE_S:
            raise CommandError(
                f'its stamp is {abs(age_s):.1f} s {"old" if age_s > 0.0 else "ahead"}, '
                f'{LONGEST_AGE_S:g} s are allowed: it is a replay, or the clock of its sender is '
                "not the driver's; nothing moves"
            )

    def _on_trigger(self, action, done: str, response: Trigger.Response) -> Trigger.Response:
        self._autostart = False  # whoever vents decides when the arm comes back
        try:
            action()
            response.success, response.message = True, f'{done}; activate the node to move again'
            self.follow_driver()
        except PneumaticDriverError as error:
            pending = f'{NOT_CONFIRMED}: ' if self._driver.vent_pending else ''
            response.success, response.message = False, f'{pending}{error}'
        return response

    def _notice(self, reason: str) -> None:
        self._notices.append(reason)
        self._wake.trigger()

    def publish(self, stamp: Time, exchange: Exchange) -> None:
        """Publish what one exchange brought; `stamp`: when the device answered."""
        self._pressures.publish(
            pressures_message(
                stamp, self._channels.chambers, self._channels.to_chambers(exchange.pressures_pa)
            )
        )

    def _exchange(self) -> None:
        try:
            self._driver.exchange_now()
        except LinkError as error:
            self.get_logger().error(str(error), throttle_duration_sec=5.0)
        self._on_driver()

    def _on_driver(self) -> None:
        exchange = self._driver.latest
        if exchange is not self._published:
            self._published = exchange
            self.publish(
                self.get_clock().now() - Duration(seconds=self.clock() - exchange.at_s),
                exchange,
            )
            self._rate.tick()
        while self._notices:
            self._disarmed(self._notices.pop(0))

    def _disarmed(self, reason: str) -> None:
        self.get_logger().error(f'inactive, the driver vents: {reason}')
        recover = self._autostart and self._auto_recover
        self.follow_driver()
        self._autostart, self._reason = recover, reason

    def _status(self) -> tuple[bytes, str, dict]:
        level, message, values = driver_status(
            self._driver, self._phase, self._reason, self.clock()
        )
        return (
            level,
            message,
            values | {'rate_hz': self._rate.rate_hz, 'refused_commands': self._refused},
        )


def main() -> int:
    """Entry point of the executable."""
    return runner.run(PneumaticDriverNode)
