"""Calibrate the finger of a running cell, real or virtual: set pressures and take pictures."""

import time

import numpy as np

from soft_arm_calibration.ros.camera_session import FIRST_S, CameraSession
from soft_arm_control.ros.conversions import command_message
from soft_arm_description.rig import RigCamera
from soft_arm_description.robot import Robot
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import qos
from soft_arm_node_kit.graph import CELL_EMULATION

GRIPPER, CAMERA = '/gripper', '/finger_camera'
COMMAND_PERIOD_S = 0.05
NEAR_PA = 3e3  # regulators are off by about 1 %; the calibration uses the sensor's reading
STILL_PA, STILL_S = 300.0, 1.0
SETTLE_S, PICTURE_S = 15.0, 5.0


class RunningFinger(CameraSession):
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
            CAMERA,
            'calibrate_finger',
            'are launch/cell.launch.xml and its camera running, and the driver active?',
            CELL_EMULATION,
            GRIPPER.strip('/'),
            camera=camera,
            depth_topic='depth/image_raw',
        )
        self._robot, self._frames = robot, frames
        self._target_pa: float | None = None
        self._readings: list[tuple[float, float]] = []  # when [s], pressure [Pa]

    def begin(self) -> None:
        """Subscribe and command, and wait for the first pressure."""
        super().begin()
        self._command = self.node.create_publisher(
            ChamberPressures, f'{GRIPPER}/pressure_command', qos.COMMAND
        )
        self.node.create_subscription(
            ChamberPressures, f'{GRIPPER}/pressures', self._on_pressures, qos.STATE
        )
        self.node.create_timer(COMMAND_PERIOD_S, self._send)
        self.wait_for(lambda: self._readings, FIRST_S, f'{GRIPPER}/pressures')

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
        return self.measure(
            lambda frame: (frame.rgb, frame.depth_m),
            self._frames,
            PICTURE_S + self._frames / 5,
            'the finger',
            self.node.get_clock().now().nanoseconds,
        )

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
