"""Executable of this package's node."""

from soft_arm_node_kit.executable import Executable

report_ready = Executable('softarm_cli.ros.report_ready_node')
