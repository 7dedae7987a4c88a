"""ROS node and message conversions; no other folder of the package imports ROS."""
