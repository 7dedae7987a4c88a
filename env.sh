# source me (bash): the environment of this workspace, on a machine with ROS 2 Jazzy sourced or without any ROS.
# ROS_DOMAIN_ID and ROS_AUTOMATIC_DISCOVERY_RANGE are kept where you have set them; DDS stays on this host otherwise.
_ws=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
_venv=${SOFT_ARM_VENV:-$_ws/.venv}
case ":${PATH}:" in *":$_venv/bin:"*) ;; *) export PATH=$_venv/bin:$PATH ;; esac

if ! "$_ws/requirements/has_ros.sh" && [ -d "$_venv/share/rclpy" ]; then
  # ROS from PyPI wheels. Their RPATHs are wrong, so the loader is told where every bundled library lies.
  _libs=$_venv/lib
  for _dir in "$_venv"/lib/python3*/site-packages/ros_*.libs; do _libs=$_libs:$_dir; done
  case ":${LD_LIBRARY_PATH:-}:" in *":$_venv/lib:"*) ;; *) export LD_LIBRARY_PATH=$_libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ;; esac
  export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1   # the path is complete: python need not restart itself to set it
  export AMENT_PREFIX_PATH=$_venv CMAKE_PREFIX_PATH=$_venv
  export ROS_DISTRO=jazzy ROS_VERSION=2 ROS_PYTHON_VERSION=3
  export FASTRTPS_DEFAULT_PROFILES_FILE=${FASTRTPS_DEFAULT_PROFILES_FILE:-$_ws/launch/dds/loopback_shm.xml}
fi
export FASTRTPS_DEFAULT_PROFILES_FILE=${FASTRTPS_DEFAULT_PROFILES_FILE:-$_ws/launch/dds/network_shm.xml}
export ROS_AUTOMATIC_DISCOVERY_RANGE=${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}
export ROS_DOMAIN_ID=${ROS_DOMAIN_ID:-77}
export MUJOCO_GL=${MUJOCO_GL:-egl}
export SOFT_ARM_WS=$_ws
[ -f "$_ws/install/local_setup.bash" ] && . "$_ws/install/local_setup.bash"
unset _ws _venv _libs _dir
