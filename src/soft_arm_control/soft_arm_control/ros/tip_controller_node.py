"""Node `tip_controller`: moves the tip to targets in closed loop with its measured pose.

In: actions `move_tip` and `follow_path` (see tip_goals.py); `pressures`, `tip_pose`, an image's
`color/camera_info`, `/diagnostics` (why tip_tracker finds no tip). Out: `pressure_command` at 50 Hz
from the first goal on, `target` when it changes. A lost tip, a stale camera or missing pressures
end the goal.
"""

from collections import deque

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseWithCovarianceStamped
from sensor_msgs.msg import CameraInfo
from visualization_msgs.msg import Marker

from soft_arm_control.errors import MessageError
from soft_arm_control.ros import conversions
from soft_arm_control.ros.driver_state import DriverState
from soft_arm_control.ros.inputs import Inputs
from soft_arm_control.ros.loop_report import loop_values
from soft_arm_control.ros.tip_controller_parameters import TipControllerParameters
from soft_arm_control.ros.tip_goals import TipGoals
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.controller import Status, TipController
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.calibration import load_calibration
from soft_arm_description.named_values import pressures_from_msg
from soft_arm_description.rig import load_rig
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import diagnostics, qos
from soft_arm_node_kit.graph import OnlyPublisher
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare
from soft_arm_node_kit.runner import run
from soft_arm_node_kit.ticker import Ticker

MAX_LATENCY_SAMPLES = 3000
MARKER_TICKS = 5
MAX_REASON_LENGTH = 100  # characters of the tracker's message


class TipControllerNode(Node):
    """Connect `soft_arm_control.tip.controller.TipController` to topics and actions."""

    def __init__(self):
        super().__init__('tip_controller')
        p = declare(self, TipControllerParameters)
        self._arm, self._measured = load_bellows_arm(p.robot, p.rig), p.measured
        dynamics = load_calibration(load_rig(p.rig), Dynamics, self._arm.robot).values
        self._controller = TipController(self._arm, dynamics)
        self._valve_delay_s = dynamics.valve_delay_s
        self._status, self._ticks = Status(), 0
        self._tracker = f'{self.get_namespace().strip("/")}/tip_tracker'.lstrip('/')
        self._uncommanded_stamp_s: float | None = None  # of the newest tip pose
        self._latencies_s: deque[float] = deque(maxlen=MAX_LATENCY_SAMPLES)
        self._inputs = Inputs(self)
        subscribe, liveness = self._inputs.subscribe, self._controller.liveness
        subscribe(ChamberPressures, 'pressures', self._on_pressures, qos.SENSOR)
        subscribe(PoseWithCovarianceStamped, 'tip_pose', self._on_tip_pose, qos.SENSOR)
        subscribe(CameraInfo, 'color/camera_info', self._on_image, qos.SENSOR)
        self._driver = DriverState(self, 'pneumatic_driver', liveness, self._on_diagnostics)
        self._command = OnlyPublisher(self, ChamberPressures, 'pressure_command', qos.COMMAND)
        self._command_rate = diagnostics.RateMeter(self.now_s)
        self._marker = self.create_publisher(Marker, 'target', qos.LATCHED)
        self._shown_m: np.ndarray | None = None  # target of the newest marker
        self._goals = TipGoals(self, self._arm, self._controller, p, self._command.others)
        self._by_camera = p.by_camera
        self._ticker = Ticker(self, PERIOD_S, self._tick, phase_s=PERIOD_S / 2)
        diagnostics.Reporter(self, self._arm.robot.name, self._report)

    def destroy_node(self) -> None:
        """Close the actions with the node."""
        self._goals.runner.destroy()
        super().destroy_node()

    def _on_pressures(self, stamp_s: float, message: ChamberPressures) -> None:
        pressures_pa = pressures_from_msg(message, self._arm.robot, MessageError)
        self._controller.add_pressures(stamp_s, pressures_pa)

    def _on_tip_pose(self, stamp_s: float, message: PoseWithCovarianceStamped) -> None:
        tip = conversions.tip_from_msg(message, self._arm.robot.base.frame)
        self._controller.add_tip_pose(stamp_s, *tip)
        self._uncommanded_stamp_s = stamp_s

    def _on_image(self, stamp_s: float, info: CameraInfo) -> None:
        self._controller.add_image(stamp_s)
        if self._by_camera and np.isfinite(info.k).all() and info.k[0] > 0.0:  # 0: not calibrated
            self._goals.camera_info = info

    def _on_diagnostics(self, status: DiagnosticStatus) -> None:
        if status.name == self._tracker:
            self._controller.tip_trouble = status.message[:MAX_REASON_LENGTH]

    def _tick(self) -> None:
        now_s = self.now_s()
        self._goals.runner.before_tick(now_s)
        pressures_pa, self._status = self._controller.step(now_s)
        if pressures_pa is not None:
            self._publish(pressures_pa)
        self._goals.runner.after_tick(self._status, now_s)

    def _publish(self, pressures_pa: np.ndarray) -> None:
        self._command.publish(conversions.command_message(pressures_pa, self._arm.robot, self))
        self._command_rate.tick()
        if self._uncommanded_stamp_s is not None:
            self._latencies_s.append(self.now_s() - self._uncommanded_stamp_s)
            self._uncommanded_stamp_s = None
        self._ticks += 1
        if self._ticks % MARKER_TICKS == 0:
            self._show_target(self._controller.target_m)

    def _show_target(self, target_m: np.ndarray | None) -> None:
        """Publish the marker of a target [m] that has changed."""
        if target_m is not None and not np.array_equal(target_m, self._shown_m):
            self._shown_m = target_m
            self._marker.publish(conversions.target_marker(target_m, self._arm.robot, self))

    def _report(self) -> tuple[bytes, str, dict]:
        values = self._inputs.values() | {'command_hz': self._command_rate.rate_hz}
        values |= loop_values(self._controller.bias_filter, self._valve_delay_s, self._latencies_s)
        values['known_configurations'] = len(self._controller.residual_model)
        values['last_goal'] = self._goals.runner.failure or 'none failed'
        if reason := self._not_ready_reason():
            return diagnostics.WARN, reason, values | {'ready': False}
        self._inputs.fault = ''  # the node is ready, so the fault was harmless
        return diagnostics.OK, self._status.phase, values

    def _not_ready_reason(self) -> str:
        if others := self._command.others():
            return f'{others[0]} also publishes pressure_command: end it'
        if not self._goals.ik_ready:
            return 'waiting for solve_ik: inverse_kinematics does not run, or is not ready yet'
        now_s, open_loop = self.now_s(), not self._measured
        return self._inputs.explained(self._controller.not_ready_reason(now_s, open_loop))


def main() -> int:
    """Run the node."""
    return run(TipControllerNode)
