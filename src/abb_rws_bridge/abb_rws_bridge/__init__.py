"""Client and ROS node for ABB controllers over Robot Web Services."""
