#!/bin/bash
# Everything outside our sources: system libraries are checked (installed, if root on Debian or Ubuntu), Python packages go into .venv.
# A stamp in .venv holds what it was made from; the same again takes milliseconds, an interrupted run goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "setup: $*" >&2; exit 2; }
end() { [ "${CI:-}" = true ] && exec requirements/ci.sh; exit 0; }

[ "$(uname -sm)" = 'Linux x86_64' ] || fail "this is $(uname -sm); the pinned wheels are for Linux x86_64 only"

if requirements/has_ros.sh; then
  [ "${ROS_DISTRO:-}" = jazzy ] || fail "ROS_DISTRO is ${ROS_DISTRO:-not set}; this workspace is for ROS 2 Jazzy"
  lock=requirements/ros_machine.txt site=--system-site-packages candidates=${PYTHON:-/usr/bin/python3 python3} usable='import rclpy'
else
  # once made, .venv keeps its interpreter until PYTHON asks for another
  made_with=$(sed -n '1s/^[^ ]* \([^ ]*\) .*/\1/p' .venv/stamp 2>/dev/null || true)
  lock=requirements/wheels.txt site='' usable='' candidates=${PYTHON:-$made_with python3.12 python3.11 python3.13 python3}
fi
# The interpreter itself, also where this or another virtual environment is active and its python comes first.
python='' tried=''
for candidate in $candidates; do
  version=$("$candidate" -c "$usable"$'\nimport sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
  tried="$tried $candidate is $version,"
  case $version in 3.11 | 3.12 | 3.13) python=$("$candidate" -c 'import sys; print(sys._base_executable)') && break ;; esac
done
[ -n "$python" ] || fail "needs Python 3.11, 3.12 or 3.13;${tried:- none found,} give one with PYTHON=/path/to/python3.12"

place="$PWD $python $version"
contents=$(cat "$lock" requirements/pymodbus_oldest.txt underlay/fix_cmake_exports.sh | sha256sum)
if [ -f .venv/stamp ] && [ "$(cat .venv/stamp)" = "$place"$'\n'"$contents" ]; then end; fi

# What pip cannot bring. need COMMAND-THAT-MUST-SUCCEED PACKAGES...
missing=''
need() { check=$1; shift; eval "$check" >/dev/null 2>&1 || missing="$missing $*"; }
need 'command -v cmake' cmake
need 'command -v c++ || command -v g++ || command -v clang++' g++
need '[ -f "$("$python" -c "import sysconfig; print(sysconfig.get_path(\"include\"))")/Python.h" ]' "python$version-dev"
need '"$python" -c "import venv, ensurepip"' "python$version-venv"
need '"$python" requirements/check_gl.py' libegl1 libegl-mesa0 libgl1 libopengl0 libgl1-mesa-dri
need 'ldconfig -p | grep -F libusb-1.0.so.0' libusb-1.0-0   # open3d
[ -z "$site" ] || need 'command -v colcon' python3-colcon-common-extensions
if [ -n "$missing" ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing system packages:$missing"
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
  else
    fail "system packages are missing; run: sudo apt-get install -y$missing"
  fi
fi

# Another interpreter or another folder: scripts and paths inside .venv and install would point to the old one.
if [ -d .venv ] && [ "$(head -1 .venv/stamp 2>/dev/null)" != "$place" ]; then rm -rf .venv build install log; fi
echo "setup: Python $version packages into .venv (about 1.8 GB, a few minutes the first time)"
"$python" -m venv $site .venv
echo "$place" >.venv/stamp
.venv/bin/pip install --disable-pip-version-check --require-hashes -r "$lock"
rm -rf .venv/pymodbus_oldest
.venv/bin/pip install --disable-pip-version-check -q --require-hashes --no-deps --target .venv/pymodbus_oldest -r requirements/pymodbus_oldest.txt
[ -n "$site" ] || underlay/fix_cmake_exports.sh .venv
echo "$contents" >>.venv/stamp
end
