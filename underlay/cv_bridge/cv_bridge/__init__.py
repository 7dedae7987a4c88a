"""Stand-in for the part of ROS 2's `cv_bridge` that this workspace uses, where ROS is absent."""

from cv_bridge.core import CvBridge, CvBridgeError

__all__ = ['CvBridge', 'CvBridgeError']
