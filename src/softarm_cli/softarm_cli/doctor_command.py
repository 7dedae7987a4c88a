"""`softarm doctor`: say what is installed, what runs, what is wrong, and what to do."""

import json
import sys
from dataclasses import asdict

from soft_arm_description.command_line import CommandLine
from softarm_cli.shared_memory import remove_stale


def main(argv: list[str]) -> int:
    """Entry point; returns 0 if nothing is wrong, else 1."""
    parser = CommandLine(
        prog='softarm doctor',
        description='Say what is installed, what runs, what is wrong, and what to do. Exit code 1: something is wrong.',
        epilog='example: softarm doctor',
    )
    parser.add_json()
    parser.add_argument(
        '--remove-stale-memory',
        action='store_true',
        help='only remove the shared memory that killed nodes have left',
    )
    return parser.answer(argv, _examine)


def _examine(options) -> int:
    if options.remove_stale_memory:
        freed = remove_stale()
        if freed:
            print(f'{freed / 1e6:.0f} MB of shared memory of dead nodes removed', file=sys.stderr)
        return 0

    from softarm_cli.doctor.environment import (
        check_environment,
    )  # rclpy and its libraries: not needed above
    from softarm_cli.doctor.graph import Finding, look

    print('looking at the installation, then listening to the graph for 7 s ...', file=sys.stderr)
    checks = check_environment()
    report = look()
    wrong = [
        Finding(f'{check.name}: {check.found}', _sentence(check.remedy))
        for check in checks
        if check.remedy
    ]
    wrong += report.findings()
    if options.json:
        print(json.dumps(_plain(checks, report, wrong)))
        return 1 if wrong else 0
    for check in checks:
        print(f'{"wrong" if check.remedy else "ok":6s}{check.name:24s}{check.found}')
    _print_graph(report)
    if not wrong:
        print(
            '\nNothing is wrong.'
            if report.nodes
            else '\nNothing is wrong. No rig runs; to start the virtual one, run: softarm launch launch/sim.launch.xml'
        )
        return 0
    print('\nWrong:')
    for finding in wrong:
        print(f'  {finding.what}.\n      {finding.remedy}.')
    print(f'\nWhat I would do first: {_first(wrong[0].remedy)}.')
    return 1


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _first(remedy: str) -> str:
    return remedy[:1].lower() + remedy[1:]


def _print_graph(report) -> None:
    from softarm_cli.doctor.graph import hz

    print(f'\n{len(report.nodes)} nodes run')
    for node in report.nodes:
        status = report.diagnostics.get(node.name.lstrip('/'))
        said = _short(status.message) if status else ''
        print(
            f'      {node.name:36s}{node.where:16s}{report.states.get(node.name, ""):14s}{said}'.rstrip()
        )
    for topic in report.topics:
        verdict = 'none' if not topic.publishers else 'wrong' if topic.is_wrong else 'ok'
        print(
            f'{verdict:6s}{topic.name:52s}{hz(topic.rate_hz):>12s}  expected {hz(topic.expected_hz)}'
        )


def _short(message: str) -> str:
    from softarm_cli.doctor.graph import one_line

    return one_line(message)[:80]


def _plain(checks, report, wrong) -> dict:
    from softarm_cli.doctor.graph import one_line

    return {
        'checks': [*map(asdict, checks)],
        'nodes': [
            {
                **asdict(node),
                'state': report.states.get(node.name),
                'is_deaf': node.name in report.deaf,
            }
            for node in report.nodes
        ],
        'topics': [asdict(topic) for topic in report.topics],
        'diagnostics': [
            {
                'name': f'/{name}',
                'level': int.from_bytes(status.level, 'little'),
                'message': one_line(status.message),
            }
            for name, status in sorted(report.diagnostics.items())
        ],
        'wrong': [asdict(finding) for finding in wrong],
    }
