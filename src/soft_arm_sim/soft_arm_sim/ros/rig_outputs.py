"""Outputs of the virtual rig: images, motion capture and the true tip."""

from collections import deque
from contextlib import ExitStack

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.time import Time

from soft_arm_description.robot import Robot
from soft_arm_node_kit import qos
from soft_arm_node_kit.node import Node
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.parameters import CalibrationJig, CameraParameters
from soft_arm_sim.motion_capture import VirtualMotionCapture, load_motion_capture
from soft_arm_sim.ros.camera_node import CameraNode
from soft_arm_sim.ros.conversions import pose_message

_D435I_FRAMES = (  # z of the optical frame points ahead
    ('link', 'color_frame', [[1, 0, 0, 0], [0, 1, 0, 0.015], [0, 0, 1, 0], [0, 0, 0, 1]]),
    (
        'color_frame',
        'color_optical_frame',
        [[0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1]],
    ),
)


class MotionCapturePublisher:
    """Publishes the measured body on the tip on `~/motion_capture/pose`, stamped on arrival.

    Args:
        node: The virtual rig.
        seed: Draws the noise.
    """

    def __init__(self, node: Node, seed: int):
        self._system = VirtualMotionCapture(load_motion_capture(), seed)
        self.period_s = 1.0 / self._system.parameters.rate_hz
        self._latency_ns = round(1e9 * self._system.parameters.latency_s)
        self._waiting: deque[tuple[int, np.ndarray]] = deque()  # arrival time, pose
        self.stamp_ns = -1  # of the newest pose
        self._newest: PoseStamped | None = None
        self._publisher = node.create_publisher(PoseStamped, '~/motion_capture/pose', qos.STATE)

    def measure(self, now_ns: int, T_base_tip: np.ndarray) -> None:
        """Measure the tip now [ns], and publish the poses that arrive now."""
        self._waiting.append((now_ns + self._latency_ns, self._system.measured(T_base_tip)))
        frame, stamp = self._system.parameters.world_frame, Time(nanoseconds=now_ns).to_msg()
        while self._waiting and self._waiting[0][0] <= now_ns:
            self.stamp_ns = now_ns
            self._newest = pose_message(self._waiting.popleft()[1], frame, stamp)
            self.publish_again()

    def publish_again(self) -> None:
        """Publish the newest pose."""
        if self._newest is not None:
            self._publisher.publish(self._newest)


class RigOutputs:
    """Camera, motion capture and true tip of the rig; use it in the executor's thread (OpenGL).

    Args:
        node: The virtual rig.
        robot: The robot file.
        parameters: Of the camera.
        jig: Pegs of the calibration jig.
        camera_name: Name of the camera's node.
        seed: Draws the noise.
        devices: Stack that closes the camera.
        camera_frames: Whether the camera's frames are published.

    Attributes:
        camera: The camera.
        camera_node: Its node.
        rate_hz: Its rate [Hz].
        motion_capture: The motion-capture system.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        parameters: CameraParameters,
        jig: CalibrationJig,
        camera_name: str,
        seed: int,
        devices: ExitStack,
        *,
        camera_frames: bool = True,
    ):
        self.rate_hz, self._frame = parameters.image.rate_hz, robot.base.frame
        self.motion_capture = MotionCapturePublisher(node, seed)
        self._truth = node.create_publisher(PoseStamped, '~/debug/tip_truth', qos.STATE)
        self.camera = VirtualCamera(robot, parameters, jig, seed)
        devices.callback(self.camera.close)
        self.camera_node = CameraNode(
            camera_name,
            '/camera',
            ('~/color', '~/aligned_depth_to_color'),
            parameters.stated_image,
            frames=[
                (f'{camera_name}_{parent}', f'{camera_name}_{child}', np.array(T, float))
                for parent, child, T in (_D435I_FRAMES if camera_frames else ())
            ],
            simulated=node.get_parameter('use_sim_time').value,
        )
        devices.callback(self.camera_node.destroy_node)

    def publish_frame(self, qpos: np.ndarray, time_ns: int) -> None:
        """Render the plant at joint positions (nq,); publish colour and depth."""
        frame = self.camera.capture(qpos)
        self.camera_node.publish(frame.rgb, frame.depth, Time(nanoseconds=time_ns).to_msg())

    def publish_truth(self, T_base_tip: np.ndarray, time_ns: int) -> None:
        """Publish the true pose of the tip (4, 4)."""
        stamp = Time(nanoseconds=time_ns).to_msg()
        self._truth.publish(pose_message(T_base_tip, self._frame, stamp))
