"""Executable of this package's node."""

from soft_arm_node_kit.executable import Executable

abb_rws_bridge = Executable('abb_rws_bridge.ros.bridge_node')
