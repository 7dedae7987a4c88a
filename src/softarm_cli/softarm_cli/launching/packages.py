"""Executables of packages, found through the ament index."""

import os
import socket
import sys
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

_OURS = ('soft_arm_', 'softarm_', 'pneumatic_driver', 'abb_rws_')


def find_executable(package: str, executable: str) -> str:
    """Return the path of a package's executable.

    Raises:
        LookupError: If package or executable is unknown; the message lists the executables.
    """
    try:
        prefix = get_package_prefix(package)
    except (PackageNotFoundError, ValueError) as error:
        raise LookupError(
            f'package {package!r} is not found on {socket.gethostname()}: {_how_to_get(package)}'
        ) from error
    folder = Path(prefix) / 'lib' / package
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    present = {file.name: str(file) for file in files if os.access(file, os.X_OK)}
    if executable not in present:
        raise LookupError(
            f'package {package!r} has no executable {executable!r}; '
            f'it has: {", ".join(present) or "none"}'
        )
    return present[executable]


def has_package(argv: list[str] | None = None) -> int:
    """Print whether a package is installed, for conditions in launch files."""
    [package] = sys.argv[1:] if argv is None else argv
    try:
        get_package_prefix(package)
        answer = 'true'
    except (PackageNotFoundError, ValueError):
        answer = 'false'
    sys.stdout.write(answer)
    return 0


def is_ours(package: str) -> bool:
    """Return whether a package belongs to this workspace."""
    return package.startswith(_OURS)


def _how_to_get(package: str) -> str:
    if is_ours(package):
        return 'run: make build, then . ./env.sh'
    return (
        'check its name. On a ROS machine, run: sudo apt-get install '
        f'ros-jazzy-{package.replace("_", "-")}; without ROS it cannot run here'
    )
