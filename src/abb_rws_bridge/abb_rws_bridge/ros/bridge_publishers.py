"""Publishers of the bridge: each new value once, stamped with its request time."""

import math
import time

from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

from abb_rws_bridge import irb120
from abb_rws_bridge.event_log import NewEntries
from abb_rws_bridge.monitor import Knowledge
from abb_rws_bridge.ros import conversions
from abb_rws_bridge.ros.bridge_parameters import BridgeParameters
from abb_rws_bridge.values import Aged
from soft_arm_msgs.msg import ControllerEvent, ControllerState, IoSignals
from soft_arm_node_kit import diagnostics, qos


class BridgePublishers:
    """Publishers of the bridge node."""

    def __init__(self, node: Node, parameters: BridgeParameters):
        self.joint_rate = diagnostics.RateMeter()
        self._node, self._prefix, self._signals = node, parameters.frame_prefix, parameters.signals
        self._joints = node.create_publisher(JointState, 'joint_states', qos.STATE)
        self._state = node.create_publisher(ControllerState, 'controller_state', qos.LATCHED)
        self._io = node.create_publisher(IoSignals, 'io', qos.LATCHED)
        self._log = node.create_publisher(ControllerEvent, 'event_log', qos.STATE)
        self._transforms = TransformBroadcaster(node)
        self._static_transforms = StaticTransformBroadcaster(node)
        self._static_transforms.sendTransform(
            conversions.base_transform(
                parameters.base_position_m,
                math.radians(parameters.base_yaw_deg),
                node.get_clock().now().to_msg(),
                parameters.frame_prefix,
            )
        )
        self._description = node.create_publisher(String, 'robot_description', qos.LATCHED)
        self._description.publish(String(data=irb120.urdf(parameters.frame_prefix)))
        self._asked_s, self._new_entries = 0.0, NewEntries()

    def publish(self, known: Knowledge, names: set[str]) -> None:
        """Publish the named values."""
        if 'joints' in names and known.joints is not None and known.joints.asked_s > self._asked_s:
            self._publish_joints(known.joints)
        if 'signals' in names and known.signals is not None:
            self._io.publish(
                conversions.io_signals(
                    known.signals.value, self._signals, self._stamp(known.signals)
                )
            )
        if 'event_log' in names and known.event_log is not None:
            self._publish_log(known.event_log)
        if names - {'joints', 'signals', 'event_log'}:
            self._state.publish(
                conversions.controller_state(known, self._node.get_clock().now().to_msg())
            )

    def _publish_joints(self, joints: Aged) -> None:
        self._asked_s = joints.asked_s
        stamp = self._stamp(joints)
        self._joints.publish(conversions.joint_state(joints.value, stamp, self._prefix))
        self._transforms.sendTransform(conversions.transforms(joints.value, stamp, self._prefix))
        self.joint_rate.tick()

    def _publish_log(self, log: Aged) -> None:
        """Publish new entries and warn about omitted ones."""
        entries, left_out = self._new_entries.take(log.value)
        for entry in entries:
            self._log.publish(conversions.controller_event(entry, self._stamp(log)))
        if left_out:
            self._node.get_logger().warning(
                f"{left_out} of {left_out + len(entries)} new entries of the controller's log were "
                'not published: see the log on the controller'
            )

    def _stamp(self, value: Aged):
        return (
            self._node.get_clock().now()
            - Duration(nanoseconds=int((time.monotonic() - value.asked_s) * 1e9))
        ).to_msg()
