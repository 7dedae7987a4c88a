"""ROS nodes and message conversions; nothing else imports ROS."""
