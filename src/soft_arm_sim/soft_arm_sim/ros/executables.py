"""Executables of this package's nodes."""

from soft_arm_node_kit.executable import Executable

virtual_cell = Executable('soft_arm_sim.ros.virtual_cell_node')
virtual_robots = Executable('soft_arm_sim.ros.virtual_robots_node')
virtual_rig = Executable('soft_arm_sim.ros.virtual_rig_node')
