"""Executables of this package's nodes."""

from soft_arm_node_kit.executable import Executable

pcu2v_driver = Executable('pneumatic_driver.ros.pcu2v_node')
pneumatic_driver = Executable('pneumatic_driver.ros.driver_node')
