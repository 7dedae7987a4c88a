"""`softarm run`: run one executable of a package."""

import argparse
import os
import sys

from soft_arm_bringup.launch_description import find_executable


def main(argv: list[str]) -> int:
    """Entry point; the executable takes this process's place."""
    parser = argparse.ArgumentParser(prog='softarm run', description='Run one executable of a package.')
    parser.add_argument('package')
    parser.add_argument('executable')
    parser.add_argument('arguments', nargs=argparse.REMAINDER, help='passed on, e.g. --ros-args -r __ns:=/soft_arm -p rate_hz:=50.0')
    options = parser.parse_args(argv)
    try:
        path = find_executable(options.package, options.executable)
    except LookupError as error:
        print(f'softarm run: {error.args[0]}', file=sys.stderr)
        return 2
    os.execv(path, [path, *options.arguments])
