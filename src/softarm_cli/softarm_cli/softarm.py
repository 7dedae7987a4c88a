"""The `softarm` command: the commands of all packages under one name.

A package offers a command by an entry point in its setup.py, `name = module:main`, where
`main(argv)` returns the exit code: in group `softarm.commands` for `softarm NAME`, in
`softarm.GROUP` for `softarm GROUP NAME`, such as `softarm.calibrate`.
"""

import ast
import difflib
import importlib.util
import sys
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path

from soft_arm_io.command_line import uninterrupted

_GROUPS = {
    'calibrate': 'calibrate the rig',
    'experiment': 'run an experiment and report on it',
    'bench': 'measure how fast something is',
    'benchmark': 'compare models of arms on recordings of real ones',
    'train': 'train a network',
    'sim': 'simulate a robot, or emulate one device alone',
    'import': 'make robot files of the definitions of other simulators',
    'recording': 'convert, draw and evaluate recordings of any arm',
    'vision': 'fit a cylinder to a cloud, label and extract the frames of a recorded bag',
}


def main() -> int:
    """Console script; returns the exit code."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if sys.argv[1:] == ['--version']:
        print('softarm', version('softarm_cli'))
        return 0
    try:
        return _dispatch('softarm', 'softarm.commands', sys.argv[1:], _GROUPS)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the output has ended
        return 1


def _dispatch(prog: str, group: str, argv: list[str], groups: dict[str, str]) -> int:
    offered = {point.name: point for point in entry_points(group=group)}
    names = sorted([*offered, *groups])
    if not argv or argv[0] in ('-h', '--help'):
        print(f'usage: {prog} NAME ...\n')
        print(
            '\n'.join(
                f'  {name:14s}{groups[name] if name in groups else summary(offered[name])}'
                for name in names
            )
            or '  nothing is installed'
        )
        print(f'\n{prog} NAME --help shows more.')
        return 0 if argv else 2
    name, rest = argv[0], argv[1:]
    if name in groups:
        return _dispatch(f'{prog} {name}', f'softarm.{name}', rest, {})
    if name not in offered:
        nearest = difflib.get_close_matches(name, names, n=1)
        hint = (
            f'did you mean {nearest[0]!r}?' if nearest else f'known: {", ".join(names) or "none"}'
        )
        print(f'{prog}: unknown command {name!r}; {hint}', file=sys.stderr)
        return 2
    with uninterrupted():
        command = offered[name].load()
    return command(rest) or 0


def summary(point: EntryPoint) -> str:
    """Return the first line of the module's docstring after its colon, without importing it."""
    specification = importlib.util.find_spec(point.module)
    if specification is None or specification.origin is None:
        return f'(broken: module {point.module} does not exist)'
    docstring = ast.get_docstring(ast.parse(Path(specification.origin).read_text())) or ''
    return docstring.split('\n')[0].split(': ')[-1].rstrip('.')


if __name__ == '__main__':
    sys.exit(main())
