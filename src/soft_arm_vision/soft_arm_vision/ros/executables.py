"""Executables of this package's nodes."""

from soft_arm_node_kit.executable import Executable

camera_frame = Executable('soft_arm_vision.ros.camera_frame_node')
finger_detector = Executable('soft_arm_vision.ros.finger_detector_node')
tip_from_pose = Executable('soft_arm_vision.ros.tip_from_pose_node')
tip_tracker = Executable('soft_arm_vision.ros.tip_tracker_node')
