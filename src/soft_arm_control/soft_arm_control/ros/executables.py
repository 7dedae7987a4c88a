"""Executables of this package's nodes."""

from soft_arm_node_kit.executable import Executable

gripper_controller = Executable('soft_arm_control.ros.gripper_controller_node')
joy_to_limbs = Executable('soft_arm_control.ros.joy_to_limbs_node')
limb_controller = Executable('soft_arm_control.ros.limb_controller_node')
tip_controller = Executable('soft_arm_control.ros.tip_controller_node')
tip_estimator = Executable('soft_arm_control.ros.tip_estimator_node')
