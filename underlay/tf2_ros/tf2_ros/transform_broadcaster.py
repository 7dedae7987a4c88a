"""Sends moving frames on /tf."""

from rclpy.qos import QoSProfile
from tf2_msgs.msg import TFMessage


class TransformBroadcaster:
    """Publisher of transforms that carry a stamp and change."""

    def __init__(self, node, qos=None):
        self.pub_tf = node.create_publisher(
            TFMessage, '/tf', QoSProfile(depth=100) if qos is None else qos
        )

    def sendTransform(self, transform):
        """Publish one TransformStamped or an iterable of them."""
        self.pub_tf.publish(
            TFMessage(transforms=list(transform) if hasattr(transform, '__iter__') else [transform])
        )
