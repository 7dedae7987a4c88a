"""Close the finger in free air on a running cell and record it, for `softarm calibrate grasp`."""

import contextlib
import math
import threading
import time
from collections.abc import Callable

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from soft_arm_control.errors import ExperimentError, MessageError
from soft_arm_control.grasping.gripper import PERIOD_S, GraspSettings
from soft_arm_control.grasping.no_load_fit import Closing
from soft_arm_control.ros import grip_conversions as conversions
from soft_arm_control.ros.conversions import command_message, stamp_s
from soft_arm_description.robot import Robot
from soft_arm_msgs.msg import ChamberPressures, GripperState
from soft_arm_node_kit import qos
from soft_arm_node_kit.graph import CELL_EMULATION, DeviceWatch

NAMESPACE = 'gripper'
BELOW_LIMIT_PA = 5.0e3  # margin between the end of a closing and the finger's highest pressure
QUIET_S = 0.5  # time without a command of another node before a closing
REST_S = 1.5  # time in vacuum before each closing, and of waiting for late images after it


class ClosingMeasurement:
    """Record the finger and command its closings. Use as a context manager.

    A node spins in a thread; it sends commands while a closing runs only. The gripper controller
    must be idle.
    """

    def __init__(self, robot: Robot):
        self._robot, self._settings = robot, GraspSettings()
        self._samples: list[tuple[float, float, float]] = []
        self._shapes: list[tuple[float, np.ndarray]] = []
        self._ramp_s: float | None = None  # when the closing began; None: in vacuum
        self._commanding = False
        self._changed, self._stopping = threading.Condition(), threading.Event()

    def __enter__(self) -> 'ClosingMeasurement':
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = node = Node(
            'calibrate_grasp',
            context=self._context,
            namespace=NAMESPACE,
            use_global_arguments=False,
        )
        node.create_subscription(GripperState, 'state', self._on_state, qos.STATE)
        node.create_subscription(JointState, 'piece_angles', self._on_shape, qos.STATE)
        node.create_subscription(
            ChamberPressures, 'pressure_command', self._on_command, qos.ANY_COMMAND
        )
        # Created at the first closing: the controller accepts no goal while others may command.
        self._command: Publisher | None = None
        self._heard_s = -math.inf  # time of the last command of another node
        self.devices = DeviceWatch(node, CELL_EMULATION, NAMESPACE)
        node.create_timer(PERIOD_S, self._send)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._spin, name='calibrate grasp')
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def wait_until_ready(self, timeout_s: float, check: Callable[[], None]) -> None:
        """Wait for the first pressures and shapes.

        Raises:
            ExperimentError: If they do not come in time.
        """
        self._wait(
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
        if self._now_s() - self._heard_s < QUIET_S:
            raise ExperimentError(
                'another node is sending gripper/pressure_command: run `softarm gripper release`, '
                'or stop that node'
            )
        begin_s = self._now_s()
        self._ramp_s = None
        self._commanding = True
        try:
            self._wait(
                lambda: self._samples[-1][0] > begin_s + REST_S, 2 * REST_S, 'gripper/state', check
            )
            first, self._ramp_s = len(self._samples), self._now_s()
            top_s = (
                self._ramp_s + (self._top_pa - self._settings.open_pa) / self._settings.rate_pa_s
            )
            self._wait(
                lambda: self._samples[-1][0] >= top_s,
                top_s - self._ramp_s + 2.0,
                'gripper/state',
                check,
            )
            samples = np.array(self._samples[first:])
            self._wait(lambda: self._shapes[-1][0] >= top_s, REST_S, 'gripper/piece_angles', check)
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

    def _now_s(self) -> float:
        return self._node.get_clock().now().nanoseconds * 1e-9

    def _send(self) -> None:
        if not self._commanding:
            return
        elapsed_s = 0.0 if self._ramp_s is None else self._now_s() - self._ramp_s
        self._command = self._command or self._node.create_publisher(
            ChamberPressures, 'pressure_command', qos.COMMAND
        )
        pressure_pa = min(
            self._settings.open_pa + self._settings.rate_pa_s * elapsed_s, self._top_pa
        )
        self._command.publish(command_message([pressure_pa], self._robot, self._node))

    def _on_command(self, _message: ChamberPressures) -> None:
        if self._command is None:
            self._heard_s = self._now_s()

    def _on_state(self, message: GripperState) -> None:
        with contextlib.suppress(MessageError):
            pressure_pa = conversions.pressure_pa(message, self._robot)
            self._samples.append(
                (stamp_s(message.header.stamp), pressure_pa, conversions.set_point_pa(message))
            )

    def _on_shape(self, message: JointState) -> None:
        with contextlib.suppress(MessageError):
            self._shapes.append(
                (stamp_s(message.header.stamp), conversions.bends_from_msg(message, self._robot))
            )

    def _spin(self) -> None:
        while not self._stopping.is_set():
            self._executor.spin_once(timeout_sec=0.1)
            with self._changed:
                self._changed.notify_all()

    def _wait(
        self, condition: Callable[[], bool], timeout_s: float, what: str, check: Callable[[], None]
    ) -> None:
        deadline_s = time.monotonic() + timeout_s
        with self._changed:
            while not condition():
                check()
                if time.monotonic() > deadline_s:
                    raise ExperimentError(
                        f'waited {timeout_s:.0f} s for {what}: are the driver and the finger '
                        'detector active?'
                    )
                self._changed.wait(0.2)
