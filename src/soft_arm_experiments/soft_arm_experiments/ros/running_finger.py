"""The finger of a running cell, real or virtual, for its calibration: sets pressures, waits for them, and takes pictures."""

import queue
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import CameraInfo, Image

from soft_arm_control.ros.conversions import command_message
from soft_arm_description.rig import Devices
from soft_arm_description.robot import Robot
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import qos
from soft_arm_node_kit.graph import CELL_EMULATION, DeviceWatch
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ros.conversions import pictures_of, stamp_ns
from soft_arm_vision.ros.newest_pair import NewestPair

GRIPPER, CAMERA = '/gripper', '/finger_camera'
COMMAND_PERIOD_S = 0.05
NEAR_PA = 3e3  # regulators are off by 1 % or so; the sensor's reading is what counts
STILL_PA, STILL_S = 300.0, 1.0
FIND_S, SETTLE_S, PICTURE_S = 10.0, 15.0, 5.0


class RunningFinger:
    """As `finger_session.VirtualFinger`, through the topics of the gripper and its camera. Use as a context manager.

    Commands stop when it ends, and the driver then vents the finger, as it does when this program
    dies.

    Args:
        robot: Robot file of the finger.
        frames: Pictures at each pressure.
    """

    def __init__(self, robot: Robot, frames: int):
        self._robot, self._frames = robot, frames
        self._target_pa: float | None = None
        self._readings: list[tuple[float, float]] = []  # when [s], pressure [Pa]
        self._info, self._taken = None, queue.SimpleQueue()

    def __enter__(self) -> 'RunningFinger':
        self._context = rclpy.Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node(
            'calibrate_finger',
            context=self._context,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._devices = DeviceWatch(self._node, CELL_EMULATION, GRIPPER.strip('/'))
        self._pair = NewestPair(lambda colour, depth: self._taken.put((colour, depth)))
        self._command = self._node.create_publisher(
            ChamberPressures, f'{GRIPPER}/pressure_command', qos.COMMAND
        )
        self._node.create_subscription(
            ChamberPressures, f'{GRIPPER}/pressures', self._on_pressures, qos.STATE
        )
        self._node.create_subscription(
            CameraInfo, f'{CAMERA}/color/camera_info', self._on_info, qos.SENSOR
        )
        self._node.create_subscription(
            Image, f'{CAMERA}/color/image_raw', self._pair.put_colour, qos.SENSOR
        )
        self._node.create_subscription(
            Image, f'{CAMERA}/depth/image_raw', self._pair.put_depth, qos.SENSOR
        )
        self._node.create_timer(COMMAND_PERIOD_S, self._send)
        with ExitStack() as unfinished:  # closes what is open when something here fails
            unfinished.callback(self.__exit__)
            for what, known in (
                ('pressures', lambda: self._readings),
                ('camera info', lambda: self._info),
            ):
                self._spin_until(
                    known,
                    FIND_S,
                    lambda what=what: (
                        f'no {what} within {FIND_S:.0f} s: is launch/cell.launch.xml running?'
                    ),
                )
            unfinished.pop_all()
        return self

    def __exit__(self, *_) -> None:
        self._pair.close()
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    @property
    def intrinsics(self) -> Intrinsics:
        """Of the camera."""
        return Intrinsics.of_camera_info(self._info)

    @property
    def devices(self) -> Devices:
        """Devices of the cell, `virtual` or `real`."""
        return self._devices.devices

    def check_devices(self, rig: str, devices: str) -> None:
        """Make sure that the cell has these devices. Raises VisionError if it has not."""
        if mismatch := self._devices.mismatch(rig, devices):
            raise VisionError(f'{mismatch}; nothing was saved')

    def settle(self, target_pa: float) -> float:
        """Go to a pressure and wait until it stands still; the mean [Pa] of what was read meanwhile.

        Raises:
            VisionError: If it does not come there.
        """
        self._target_pa, self._since_s = target_pa, time.monotonic()
        self._readings.clear()
        self._spin_until(
            self._still,
            SETTLE_S,
            lambda: (
                f'pressure {self._readings[-1][1] if self._readings else float("nan"):.0f} Pa did not stand within {NEAR_PA:.0f} Pa of '
                f'{target_pa:.0f} Pa in {SETTLE_S:.0f} s: is the driver active, and nobody else commanding?'
            ),
        )
        return float(np.mean([pressure_pa for _, pressure_pa in self._readings]))

    def pictures(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Colour and depth taken from now on, `frames` times. Raises VisionError if too few come."""
        after_ns, found = self._node.get_clock().now().nanoseconds, []

        def enough() -> bool:
            while not self._taken.empty():
                colour, depth = self._taken.get()
                if stamp_ns(colour.header.stamp) > after_ns:
                    found.append(pictures_of(colour, depth))
            return len(found) >= self._frames

        limit_s = PICTURE_S + self._frames / 5
        self._spin_until(
            enough,
            limit_s,
            lambda: (
                f'{len(found)} of {self._frames} pictures came in {limit_s:.0f} s: {self._pair.trouble}'
            ),
        )
        return found[: self._frames]

    def _still(self) -> bool:
        """Whether all readings of the last STILL_S are near the target and near each other; older ones are dropped."""
        now_s = time.monotonic()
        self._readings = [reading for reading in self._readings if reading[0] > now_s - STILL_S]
        values_pa = [pressure_pa for _, pressure_pa in self._readings]
        return (
            now_s - self._since_s > STILL_S
            and len(values_pa) > 5
            and abs(np.mean(values_pa) - self._target_pa) < NEAR_PA
            and np.ptp(values_pa) < 2 * STILL_PA
        )

    def _send(self) -> None:
        if self._target_pa is not None:
            self._command.publish(command_message([self._target_pa], self._robot, self._node))

    def _on_pressures(self, message: ChamberPressures) -> None:
        given = dict(zip(message.names, message.pressures_pa, strict=False))
        if self._robot.chambers[0] in given:
            self._readings.append((time.monotonic(), given[self._robot.chambers[0]]))

    def _on_info(self, info: CameraInfo) -> None:
        self._info = info

    def _spin_until(self, done: Callable, limit_s: float, message: Callable[[], str]) -> None:
        deadline = time.monotonic() + limit_s
        while not done():
            if time.monotonic() > deadline:
                raise VisionError(message())
            self._executor.spin_once(timeout_sec=0.1)
