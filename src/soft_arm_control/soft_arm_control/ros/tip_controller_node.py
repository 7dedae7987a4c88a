"""Node `tip_controller`: moves the tip to targets in closed loop through the camera.

In: actions `move_tip` and `follow_path` (see tip_goals.py); `pressures` (50 Hz), `tip_pose` (30
Hz), `color/camera_info` (one for each image), `/diagnostics` (why tip_tracker finds no tip).
Out: `pressure_command` at 50 Hz from the first goal on (in simulated time half way between two
exchanges of the driver), `target` for rviz, diagnostics. A message with a value that is not finite,
another frame or an old stamp is ignored. A lost ring, a stale camera or missing pressures end the
goal; the arm stops and holds the present pressures. When the driver has been silent or inactive
(`pneumatic_driver/transition_event`) for a second nothing is commanded until the next goal. A
second publisher of `pressure_command` is not allowed: the node ends if there is one at its start,
and rejects goals while there is one later.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped
from sensor_msgs.msg import CameraInfo
from visualization_msgs.msg import Marker

from soft_arm_control.errors import MessageError
from soft_arm_control.outcome import Outcome
from soft_arm_control.ros import conversions
from soft_arm_control.ros.driver_state import DriverState
from soft_arm_control.ros.tip_goals import TipGoals
from soft_arm_control.ros.unusable_messages import UnusableMessages
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.controller import Status, TipController
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.calibration import load_calibration
from soft_arm_description.rig import load_rig
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import diagnostics, qos
from soft_arm_node_kit.graph import OnlyPublisher
from soft_arm_node_kit.messages import pressures_from_msg
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run
from soft_arm_node_kit.ticker import Ticker

LATENCIES_KEPT = 3000
MARKER_TICKS = 5
LONGEST_TROUBLE = 100  # characters of the ring detector's message


@dataclass(frozen=True)
class TipControllerParameters:
    """Parameters of the node."""

    robot: str = parameter(description='name or path of the robot file')
    rig: str = parameter(description='rig whose calibration is used')
    measured: bool = parameter(
        True, 'whether anything measures the tip; false: only goals in open loop can be reached'
    )
    tolerance_m: float = parameter(
        0.001, 'tolerance of a goal without one [m]', minimum=1e-4, maximum=0.1
    )
    timeout_s: float = parameter(
        10.0, 'timeout of a goal without one [s]', minimum=0.1, maximum=600.0
    )


class TipControllerNode(Node):
    """Connect `soft_arm_control.tip.controller.TipController` to topics and actions."""

    def __init__(self):
        super().__init__('tip_controller')
        p = declare(self, TipControllerParameters)
        self._arm, self._measured = load_bellows_arm(p.robot, p.rig), p.measured
        dynamics = load_calibration(load_rig(p.rig), Dynamics, self._arm.robot).values
        self._controller = TipController(self._arm, dynamics)
        self._status = Status('idle', 0.0, None, None, 0)
        self._problem = ''  # of the last goal
        self._ticks = 0
        self._ignored = UnusableMessages(self)
        self._detector = f'{self.get_namespace().strip("/")}/tip_tracker'.lstrip('/')
        # Stamp of the newest ring pose, until a command follows it.
        self._unanswered_stamp_s: float | None = None
        self._latencies_s: deque[float] = deque(maxlen=LATENCIES_KEPT)
        self._rates = {
            name: diagnostics.RateMeter(self.now_s)
            for name in ('pressures_hz', 'tip_pose_hz', 'camera_hz', 'command_hz')
        }
        self.create_subscription(ChamberPressures, 'pressures', self._on_pressures, qos.SENSOR)
        self.create_subscription(
            PoseWithCovarianceStamped, 'tip_pose', self._on_tip_pose, qos.SENSOR
        )
        self.create_subscription(CameraInfo, 'color/camera_info', self._on_camera_info, qos.SENSOR)
        self._driver_state = DriverState(self, 'pneumatic_driver', self._controller.liveness)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, qos.STATE)
        self._command = OnlyPublisher(self, ChamberPressures, 'pressure_command', qos.COMMAND)
        self._marker = self.create_publisher(Marker, 'target', qos.LATCHED)
        self._goals = TipGoals(
            self, self._arm, self._controller, p.tolerance_m, p.timeout_s, self._command.others
        )
        self._ticker = Ticker(self, PERIOD_S, self._tick, phase_s=PERIOD_S / 2)
        self._reporter = diagnostics.Reporter(self, self._arm.robot.name, self._report)

    def destroy_node(self) -> None:
        """Close the actions with the node."""
        self._goals.runner.destroy()
        super().destroy_node()

    def _on_pressures(self, message: ChamberPressures) -> None:
        with self._ignored.of('pressures'):
            stamp_s = conversions.recent_s(message.header.stamp, self.now_s())
            self._controller.add_pressures(
                stamp_s, pressures_from_msg(message, self._arm.robot, MessageError)
            )
            self._rates['pressures_hz'].tick()

    def _on_tip_pose(self, message: PoseWithCovarianceStamped) -> None:
        with self._ignored.of('tip_pose'):
            stamp_s = conversions.recent_s(message.header.stamp, self.now_s())
            self._controller.add_tip_pose(
                stamp_s, *conversions.tip_from_msg(message, self._arm.robot.base.frame)
            )
            self._unanswered_stamp_s = stamp_s
            self._rates['tip_pose_hz'].tick()

    def _on_camera_info(self, message: CameraInfo) -> None:
        with self._ignored.of('camera_info'):
            self._controller.add_image(conversions.recent_s(message.header.stamp, self.now_s()))
            self._rates['camera_hz'].tick()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._detector:
                self._controller.tip_trouble = status.message[:LONGEST_TROUBLE]

    def _tick(self) -> None:
        now = self.get_clock().now()
        now_s = now.nanoseconds * 1e-9
        self._goals.runner.before_tick(now_s)
        pressures_pa, status = self._controller.step(now_s)
        if pressures_pa is not None:
            self._publish(pressures_pa, now)
        if status.outcome is not None:
            self._note(status)
        self._goals.runner.after_tick(status, now_s)
        self._status = status

    def _publish(self, pressures_pa: np.ndarray, now) -> None:
        self._command.publish(conversions.command_message(pressures_pa, self._arm.robot, self))
        self._rates['command_hz'].tick()
        if self._unanswered_stamp_s is not None:
            self._latencies_s.append(self.now_s() - self._unanswered_stamp_s)
            self._unanswered_stamp_s = None
        self._ticks += 1
        target_m = self._controller.target_m
        if target_m is not None and self._ticks % MARKER_TICKS == 0:
            self._marker.publish(conversions.target_marker(target_m, self._arm.robot, now.to_msg()))

    def _note(self, status: Status) -> None:
        good = status.outcome in (Outcome.REACHED, Outcome.CANCELLED)
        self._problem = '' if good else f'{status.outcome.value}: {status.message}'
        if not good:
            self.get_logger().warning(self._problem)

    def _report(self) -> tuple[bytes, str, dict]:
        values = {name: meter.rate_hz for name, meter in self._rates.items()}
        if self._latencies_s:
            for percent in (50, 99):
                latency_s = float(np.percentile(self._latencies_s, percent))
                values[f'image_to_command_p{percent}_s'] = latency_s
        values['known_configurations'] = len(self._controller.residual_model)
        values['ignored_messages'] = self._ignored.count
        values['last_goal'] = self._problem or 'none failed'
        if lacking := self._lacking():
            return diagnostics.WARN, lacking, values | {'ready': False}
        self._ignored.last = ''  # nothing is lacking, so it was harmless
        return diagnostics.OK, self._status.phase, values

    def _lacking(self) -> str:
        """Return why a goal would fail now, in one line; empty if it would not."""
        if others := self._command.others():
            return f'{others[0]} also publishes pressure_command: end it'
        if not self._goals.ik_ready:
            return 'waiting for solve_ik: inverse_kinematics does not run, or is not ready yet'
        lacking = self._controller.lacking(self.now_s(), open_loop=not self._measured)
        return f'{lacking}; {self._ignored.last}' if lacking and self._ignored.last else lacking


def main() -> int:
    """Run the node."""
    return run(TipControllerNode)
