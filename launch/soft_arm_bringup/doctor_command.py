"""`softarm doctor`: say what is installed, what runs, how fast, and what is wrong."""

import json
import sys
from dataclasses import asdict

from soft_arm_bringup.shared_memory import remove_stale
from soft_arm_description.command_line import CommandLine

_ADVICE = 'See whether its node runs (above), what /diagnostics says, and whether the machine is overloaded'


def main(argv: list[str]) -> int:
    """Entry point; returns 0 if nothing is wrong, else 1."""
    parser = CommandLine(prog='softarm doctor', description='Say what is installed, what runs, how fast, and what is wrong.')
    parser.add_json()
    parser.add_argument('--remove-stale-memory', action='store_true', help='only remove the shared memory that killed nodes have left')
    options = parser.parse_args(argv)
    if options.remove_stale_memory:
        freed = remove_stale()
        if freed:
            print(f'{freed / 1e6:.0f} MB of shared memory of dead nodes removed', file=sys.stderr)
        return 0

    from soft_arm_bringup.doctor import check_environment, look_at_graph  # rclpy and its libraries: not needed above

    print('looking at the installation, then listening to the graph for 5 s ...', file=sys.stderr)
    checks = check_environment()
    nodes, topics = look_at_graph()
    wrong = [f'{check.name}: {check.found}. {check.remedy}' for check in checks if check.remedy]
    wrong += [f'{topic.name}: {_hz(topic.rate_hz)} instead of {_hz(topic.expected_hz)}. {_ADVICE}' for topic in topics if topic.is_wrong]
    if options.json:
        print(json.dumps({'checks': [*map(asdict, checks)], 'nodes': nodes, 'topics': [*map(asdict, topics)], 'wrong': wrong}))
        return 1 if wrong else 0
    for check in checks:
        print(f'{"wrong" if check.remedy else "ok":6s}{check.name:24s}{check.found}')
    print(f'\n{len(nodes)} nodes run{": " + ", ".join(nodes) if nodes else ""}')
    for topic in topics:
        expected = '' if topic.expected_hz is None else f'expected {_hz(topic.expected_hz)}'
        print(f'{"wrong" if topic.is_wrong else "ok":6s}{topic.name:52s}{_hz(topic.rate_hz):>12s}  {expected}')
    print('\nNothing is wrong.' if not wrong else '\nWrong:\n' + '\n'.join(f'  {line}' for line in wrong))
    return 1 if wrong else 0


def _hz(rate: float | None) -> str:
    return 'silent' if rate is None else f'{rate:.1f} Hz'
