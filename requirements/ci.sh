#!/bin/bash
# With CI=true: what tests need that are skipped without it. Nothing else of ours needs any of it.
# torch is pinned: where CI runs that version is the CPU build; elsewhere its wheel may bring CUDA along, so this is not for everyone.
set -euo pipefail
cd "$(dirname "$0")/.."
contents=$(cat requirements/ci.sh requirements/train.in requirements/clients.in | sha256sum)
if [ "$(cat .venv/ci_stamp 2>/dev/null)" = "$contents" ]; then exit 0; fi

missing=''
need() { command -v "$1" >/dev/null || missing="$missing ${*:2}"; }
need avr-gcc gcc-avr avr-libc binutils-avr
need mbpoll mbpoll
need ip iproute2
grep -qx ID=debian /etc/os-release && need chromium chromium   # Ubuntu's is a snap, which containers cannot install
if [ -n "$missing" ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing for tests:$missing"
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
  else
    echo "setup: tests that need them will be skipped:$missing" >&2
  fi
fi
echo 'setup: torch, onnx, playwright and public clients, for tests'
PYTHONPATH='' .venv/bin/pip list --format freeze --disable-pip-version-check >.venv/frozen.txt  # nothing that is there is replaced
.venv/bin/pip install --disable-pip-version-check -q -c .venv/frozen.txt torch==2.13.0 playwright==1.65.2 -r requirements/train.in
rm -rf .venv/clients
.venv/bin/pip install --disable-pip-version-check -q --no-deps --target .venv/clients -r requirements/clients.in
echo "$contents" >.venv/ci_stamp
