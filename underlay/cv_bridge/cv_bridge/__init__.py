"""Stand-in for ROS 2's `cv_bridge` where it is not installed: the part this workspace uses, under the same names and calls."""

from cv_bridge.core import CvBridge, CvBridgeError

__all__ = ['CvBridge', 'CvBridgeError']
