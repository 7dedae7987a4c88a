#!/bin/bash
# Build the workspace. Python sources are linked, so only what is generated or copied counts: messages, build files, the set of files.
set -eo pipefail  # not -u: colcon's setup files use variables that may be unset
cd "$(dirname "$0")/.."
. ./env.sh
paths='src launch benchmarks' python=.venv/bin/python
requirements/has_ros.sh || paths="$paths $(echo underlay/*/)"   # one by one: the folder as a whole is hidden from colcon

made_from=$(
  { cat .venv/stamp
    find $paths -type f \( -name package.xml -o -name 'setup.*' -o -name CMakeLists.txt -o -name '*.msg' -o -name '*.srv' -o -name '*.action' \) \
      -print0 | sort -z | xargs -0 sha256sum
    find $paths -type f -not -path '*/test/*' -not -name '*.py' -not -path '*/__pycache__/*' -not -path '*.egg-info/*' | sort
  } | sha256sum)
if [ -f install/.stamp ] && [ "$(cat install/.stamp)" = "$made_from" ]; then exit 0; fi

echo 'build: colcon'
rm -f install/.stamp
# colcon under the interpreter of .venv: the nodes' scripts then start with it and find its packages
"$python" "$(command -v colcon)" build --symlink-install --base-paths $paths --cmake-args -DBUILD_TESTING=OFF "-DPython3_EXECUTABLE=$PWD/$python"

echo 'build: compiling the kinematics (once)'
. ./env.sh
echo '[[0, 0, 0.2], [0, 0, 2]]' | softarm kinematics ik --target-m - --axis 0 0 1 --json >/dev/null
echo 'build: compiling the steps of the simulation (once)'
softarm sim robot two_module_arm --duration 0.05 >/dev/null
echo "build: compiling the ring's fit (once)"
softarm bench vision --frames 2 >/dev/null || echo 'build: it will be compiled when it is first used'
echo "$made_from" >install/.stamp
