"""The motion-capture system beside the virtual rig, as a ROS driver of one publishes it."""

from collections import deque

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.time import Time

from soft_arm_node_kit import qos
from soft_arm_node_kit.node import Node
from soft_arm_sim.motion_capture import VirtualMotionCapture, load_motion_capture
from soft_arm_sim.ros.conversions import pose_message


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
        self._waiting: deque[tuple[int, np.ndarray]] = deque()  # when each pose arrives
        self.stamp_ns = -1  # of the newest pose
        self._newest: PoseStamped | None = None
        self._publisher = node.create_publisher(PoseStamped, '~/motion_capture/pose', qos.STATE)

    def measure(self, now_ns: int, T_base_tip: np.ndarray) -> None:
        """Measure the tip now [ns], and publish what arrives now."""
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
