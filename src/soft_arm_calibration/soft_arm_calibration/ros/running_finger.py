"""Calibrate the finger of a running cell, real or virtual: set pressures and take pictures."""

import queue
import time
from contextlib import ExitStack
from typing import Self

import numpy as np

from soft_arm_control.ros.conversions import command_message
from soft_arm_description.rig import Devices, RigCamera
from soft_arm_description.robot import Robot
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import qos
from soft_arm_node_kit.graph import CELL_EMULATION, DeviceWatch
from soft_arm_node_kit.session import Session
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import Frame
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ros.camera_input import CameraInput

GRIPPER, CAMERA = '/gripper', '/finger_camera'
COMMAND_PERIOD_S = 0.05
NEAR_PA = 3e3  # regulators are off by about 1 %; the calibration uses the sensor's reading
STILL_PA, STILL_S = 300.0, 1.0
FIND_S, SETTLE_S, PICTURE_S = 10.0, 15.0, 5.0


class RunningFinger(Session):
    """A `finger_session.Finger` through the topics of the gripper and its camera.

    Use as a context manager. When it ends or this program dies, the commands stop, and the driver
    vents the finger.

    Args:
        robot: Robot file of the finger.
        camera: How its camera publishes depth.
        frames: Pictures at each pressure.
    """

    def __init__(self, robot: Robot, camera: RigCamera, frames: int):
        super().__init__(
            'calibrate_finger',
            remedy='are launch/cell.launch.xml and its camera running, and the driver active?',
            error=VisionError,
        )
        self._robot, self._camera, self._frames = robot, camera, frames
        self._target_pa: float | None = None
        self._readings: list[tuple[float, float]] = []  # when [s], pressure [Pa]
        self._taken: queue.SimpleQueue[Frame | VisionError] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        super().__enter__()
        self._devices = DeviceWatch(self.node, CELL_EMULATION, GRIPPER.strip('/'))
        self._input = CameraInput(
            self.node,
            lambda _, found: self._taken.put(found),
            f'{CAMERA}/',
            camera=self._camera,
            depth_topic='depth/image_raw',
        )
        self._command = self.node.create_publisher(
            ChamberPressures, f'{GRIPPER}/pressure_command', qos.COMMAND
        )
        self.node.create_subscription(
            ChamberPressures, f'{GRIPPER}/pressures', self._on_pressures, qos.STATE
        )
        self.node.create_timer(COMMAND_PERIOD_S, self._send)
        with ExitStack() as unfinished:  # closes what is open when something here fails
            unfinished.callback(self.__exit__)
            self.wait_for(lambda: self._readings, FIND_S, f'{GRIPPER}/pressures')
            self.wait_for(lambda: self._input.intrinsics, FIND_S, f'{CAMERA}/color/camera_info')
            unfinished.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._input.pair.close()
        super().__exit__(*error)

    @property
    def intrinsics(self) -> Intrinsics:
        """Intrinsics of the camera."""
        return self._input.intrinsics

    @property
    def devices(self) -> Devices:
        """Devices of the cell, `virtual` or `real`."""
        return self._devices.devices

    def check_devices(self, rig: str, devices: str) -> None:
        """Raise VisionError unless the cell has these devices."""
        if mismatch := self._devices.mismatch(rig, devices):
            raise VisionError(f'{mismatch}; nothing was saved')

    def settle(self, target_pa: float) -> float:
        """Set a pressure, wait until it has settled, and return the mean of the readings [Pa].

        Raises:
            VisionError: If the pressure does not settle near the target.
        """
        self._target_pa = target_pa
        self._since_s = time.monotonic()
        self._readings.clear()
        self.wait_for(
            self._still,
            SETTLE_S,
            lambda: (
                f'a pressure that stays within {NEAR_PA:.0f} Pa of {target_pa:.0f} Pa (the last is '
                f'{self._readings[-1][1] if self._readings else float("nan"):.0f} Pa; no other '
                'node may command the finger)'
            ),
        )
        return float(np.mean([pressure_pa for _, pressure_pa in self._readings]))

    def pictures(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the next `frames` pairs of colour and depth; raise VisionError if late."""
        after_ns = self.node.get_clock().now().nanoseconds
        found: list[tuple[np.ndarray, np.ndarray]] = []
        trouble = ''

        def enough() -> bool:
            nonlocal trouble
            while not self._taken.empty():
                frame = self._taken.get()
                if isinstance(frame, VisionError):
                    trouble = str(frame)
                elif frame.stamp_ns > after_ns:
                    found.append((frame.rgb, frame.depth_m))
            return len(found) >= self._frames

        self.wait_for(
            enough,
            PICTURE_S + self._frames / 5,
            lambda: (
                f'{self._frames} pictures, of which {len(found)} arrived: '
                f'{trouble or self._input.pair.trouble}'
            ),
        )
        return found[: self._frames]

    def _still(self) -> bool:
        """Return whether all readings of the last `STILL_S` agree and are near the target."""
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
            self._command.publish(command_message([self._target_pa], self._robot, self.node))

    def _on_pressures(self, message: ChamberPressures) -> None:
        given = dict(zip(message.names, message.pressures_pa, strict=False))
        if self._robot.chambers[0] in given:
            self._readings.append((time.monotonic(), given[self._robot.chambers[0]]))
