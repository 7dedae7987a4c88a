"""`softarm launch`: run an XML launch file; `ros2 launch` runs the same files."""

import argparse
import shlex
import sys
import tempfile
from pathlib import Path

from soft_arm_io.command_line import CommandLine
from softarm_cli.launching.checks import check
from softarm_cli.launching.description import Argument, declared_arguments, describe
from softarm_cli.launching.processes import run
from softarm_cli.launching.xml import LaunchError
from softarm_cli.shared_memory import remove_stale


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code."""
    parser = CommandLine(prog='softarm launch', description='Run a ROS 2 XML launch file.')
    parser.add_argument('file', type=Path, help='launch file, e.g. launch/sim.launch.xml')
    parser.add_argument(
        'arguments', nargs='*', metavar='NAME:=VALUE', help='arguments of the launch file'
    )
    parser.add_argument(
        '-s', '--show-args', action='store_true', help='list the arguments of the launch file'
    )
    parser.add_argument(
        '-p', '--print', action='store_true', help='print the processes that would be started'
    )
    return parser.answer(argv, _launch)


def _launch(options: argparse.Namespace) -> int:
    if options.show_args:
        _show(declared_arguments(options.file))
        return 0
    with tempfile.TemporaryDirectory(prefix='softarm_launch_') as scratch:
        given = dict(map(_pair, options.arguments))
        _warn_of_undeclared(options.file, given)
        description = describe(options.file, given, Path(scratch))
        if options.print:
            for process in description.processes:
                print(f'[{process.name}] {shlex.join(process.command)}')
            return 0
        check(description.processes)
        remove_stale()
        return run(description.processes)


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition(':=')
    if not separator or not name:
        raise LaunchError(f'{text!r} is not of the form NAME:=VALUE')
    return name, value


def _warn_of_undeclared(file: Path, given: dict[str, str]) -> None:
    """Warn about arguments without effect, which `ros2 launch` ignores silently."""
    declared = declared_arguments(file)
    for name in given:
        if name not in declared:
            known = ', '.join(sorted(declared)) or 'none'
            print(
                f'[WARNING] [launch]: argument {name!r} is not declared and has no effect; '
                f'declared: {known}',
                file=sys.stderr,
                flush=True,
            )


def _show(arguments: dict[str, Argument]) -> None:
    for argument in arguments.values():
        default = 'required' if argument.default is None else f'default: {argument.default!r}'
        choices = f'; one of: {", ".join(argument.choices)}' if argument.choices else ''
        print(f'{argument.name} ({default}{choices})\n    {argument.description}')
