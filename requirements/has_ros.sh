#!/bin/bash
# Exit code 0 if ROS 2 is sourced: rclpy in a prefix that is not a virtual environment, as that of the wheels is.
IFS=:
for prefix in ${AMENT_PREFIX_PATH:-}; do
  if [ -e "$prefix/share/ament_index/resource_index/packages/rclpy" ] && [ ! -e "$prefix/pyvenv.cfg" ]; then exit 0; fi
done
exit 1
