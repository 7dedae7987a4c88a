"""`softarm run`: run one executable of a package."""

import os

from soft_arm_io.command_line import CommandLine, refuse
from softarm_cli.launching.packages import find_executable


def main(argv: list[str]) -> int:
    """Entry point: replace this process by the executable; return 2 if it does not exist."""
    parser = CommandLine(prog='softarm run', description='Run one executable of a package.')
    parser.add_argument('package')
    parser.add_argument('executable')
    parser.epilog = 'More arguments are passed on: --ros-args -r __ns:=/soft_arm -p rate_hz:=50.0'
    options = parser.parse_args(argv[:2])
    try:
        path = find_executable(options.package, options.executable)
    except LookupError as error:
        return refuse(parser.prog, error.args[0])
    os.execv(path, [path, *argv[2:]])
