"""Sends frames that never move on /tf_static, latched: who subscribes later receives them too."""

from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage


class StaticTransformBroadcaster:
    """Publisher of transforms that hold for all times."""

    def __init__(self, node, qos=None):
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.pub_tf = node.create_publisher(
            TFMessage, '/tf_static', latched if qos is None else qos
        )
        self._sent = {}

    def sendTransform(self, transform):
        """Publish one or several transforms, together with all before: one message is latched."""
        for one in transform if hasattr(transform, '__iter__') else [transform]:
            self._sent[one.child_frame_id] = one
        self.pub_tf.publish(TFMessage(transforms=list(self._sent.values())))
