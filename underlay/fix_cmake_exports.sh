#!/bin/sh
# The ROS wheels' CMake exports carry paths of the machine that built them; point them at this virtual environment.
set -e
venv=${1:?usage: fix_cmake_exports.sh VENV}
python_include=$("$venv/bin/python" -c "import sysconfig; print(sysconfig.get_paths()['include'])")
numpy_include=$("$venv/bin/python" -c "import numpy; print(numpy.get_include())")
grep -rlE '/opt/python/cp3[0-9]+-cp3[0-9]+' "$venv/share" --include='*.cmake' | while read -r file; do
  sed -i -E "s#/opt/python/cp3[0-9]+-cp3[0-9]+/include/python3\.[0-9]+#$python_include#g
             s#/opt/python/cp3[0-9]+-cp3[0-9]+/lib/python3\.[0-9]+/site-packages/numpy/_core/include#$numpy_include#g" "$file"
done
