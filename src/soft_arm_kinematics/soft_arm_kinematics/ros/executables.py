"""Executables of this package's nodes."""

from soft_arm_node_kit.executable import Executable

forward_kinematics = Executable('soft_arm_kinematics.ros.forward_kinematics_node')
inverse_kinematics = Executable('soft_arm_kinematics.ros.inverse_kinematics_node')
contact_estimator = Executable('soft_arm_kinematics.ros.contact_estimator_node')
limb_states = Executable('soft_arm_kinematics.ros.limb_states_node')
