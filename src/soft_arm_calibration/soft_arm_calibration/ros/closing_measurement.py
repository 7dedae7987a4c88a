"""Close the finger in free air on a running cell and record it, for `softarm calibrate grasp`."""

import contextlib
import math
from collections.abc import Callable

import numpy as np
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from soft_arm_control.errors import ExperimentError, MessageError
from soft_arm_control.grasping.gripper import PERIOD_S, GraspSettings
from soft_arm_control.grasping.no_load_fit import Closing
from soft_arm_control.ros import grip_conversions as conversions
from soft_arm_control.ros.conversions import command_message
from soft_arm_description.robot import Robot
from soft_arm_msgs.msg import ChamberPressures, GripperState
from soft_arm_node_kit import qos
from soft_arm_node_kit.graph import CELL_EMULATION, DeviceWatch
from soft_arm_node_kit.messages import seconds
from soft_arm_node_kit.session import Session

NAMESPACE = 'gripper'
BELOW_LIMIT_PA = 5.0e3  # margin between the end of a closing and the finger's highest pressure
QUIET_S = 0.5  # time without a command of another node before a closing
REST_S = 1.5  # time in vacuum before each closing, and of waiting for late images after it


class ClosingMeasurement(Session):
    """A session that records in a thread, and commands the finger while a closing runs.

    The gripper controller must be idle.
    """

    def __init__(self, robot: Robot):
        super().__init__(
            'calibrate_grasp',
            NAMESPACE,
            remedy='are the driver and the finger detector active?',
            error=ExperimentError,
        )
        self._robot, self._settings = robot, GraspSettings()
        self._samples: list[tuple[float, float, float]] = []
        self._shapes: list[tuple[float, np.ndarray]] = []
        self._ramp_s: float | None = None  # when the closing began; None: in vacuum
        self._commanding = False
        # A publisher from the first closing on: with another one the controller takes no goal.
        self._command: Publisher | None = None
        self._heard_s = -math.inf  # the last command of another node

    def begin(self) -> None:
        """Record in a thread."""
        node = self.node
        node.create_subscription(GripperState, 'state', self._on_state, qos.STATE)
        node.create_subscription(JointState, 'piece_angles', self._on_shape, qos.STATE)
        node.create_subscription(
            ChamberPressures, 'pressure_command', self._on_command, qos.ANY_COMMAND
        )
        self.devices = DeviceWatch(node, CELL_EMULATION, NAMESPACE)
        node.create_timer(PERIOD_S, self._send)
        self.spin_in_thread()

    def wait_until_ready(self, timeout_s: float, check: Callable[[], None]) -> None:
        """Wait for the first pressures and shapes.

        Raises:
            ExperimentError: If they do not come in time.
        """
        self.wait_for(
            lambda: len(self._samples) > 10 and len(self._shapes) > 5,
            timeout_s,
            'gripper/state and gripper/piece_angles',
            check,
        )

    def close_once(self, check: Callable[[], None]) -> Closing:
        """Close from vacuum to near the highest pressure at the rate of a grasp, then vent.

        Raises:
            ExperimentError: If another node commands the finger, or samples stop coming.
        """
        if self.now_s() - self._heard_s < QUIET_S:
            raise ExperimentError(
                'another node is sending gripper/pressure_command: run `softarm gripper release`, '
                'or stop that node'
            )
        begin_s = self.now_s()
        self._ramp_s = None
        self._commanding = True
        try:
            self.wait_for(
                lambda: self._samples[-1][0] > begin_s + REST_S, 2 * REST_S, 'gripper/state', check
            )
            first, self._ramp_s = len(self._samples), self.now_s()
            top_s = (
                self._ramp_s + (self._top_pa - self._settings.open_pa) / self._settings.rate_pa_s
            )
            self.wait_for(
                lambda: self._samples[-1][0] >= top_s,
                top_s - self._ramp_s + 2.0,
                'gripper/state',
                check,
            )
            samples = np.array(self._samples[first:])
            self.wait_for(
                lambda: self._shapes[-1][0] >= top_s, REST_S, 'gripper/piece_angles', check
            )
        finally:
            self._commanding = False
        shapes = [
            (t, bends_rad) for t, bends_rad in self._shapes if samples[0, 0] <= t <= samples[-1, 0]
        ]
        return Closing(
            *samples.T,
            np.array([t for t, _ in shapes]),
            np.array([bends_rad for _, bends_rad in shapes]),
        )

    @property
    def _top_pa(self) -> float:
        return float(self._robot.pressure_limits_pa[1, 0]) - BELOW_LIMIT_PA

    def _send(self) -> None:
        if not self._commanding:
            return
        elapsed_s = 0.0 if self._ramp_s is None else self.now_s() - self._ramp_s
        self._command = self._command or self.node.create_publisher(
            ChamberPressures, 'pressure_command', qos.COMMAND
        )
        pressure_pa = min(
            self._settings.open_pa + self._settings.rate_pa_s * elapsed_s, self._top_pa
        )
        self._command.publish(command_message([pressure_pa], self._robot, self.node))

    def _on_command(self, _message: ChamberPressures) -> None:
        if self._command is None:
            self._heard_s = self.now_s()

    def _on_state(self, message: GripperState) -> None:
        with contextlib.suppress(MessageError):
            pressure_pa = conversions.pressure_pa(message, self._robot)
            self._samples.append(
                (seconds(message.header.stamp), pressure_pa, conversions.set_point_pa(message))
            )

    def _on_shape(self, message: JointState) -> None:
        with contextlib.suppress(MessageError):
            self._shapes.append(
                (seconds(message.header.stamp), conversions.bends_from_msg(message, self._robot))
            )
