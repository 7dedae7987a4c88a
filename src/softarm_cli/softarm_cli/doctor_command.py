"""`softarm doctor`: report installation, running graph, faults and remedies."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from soft_arm_io.command_line import CommandLine, one_line
from softarm_cli.shared_memory import remove_stale

if TYPE_CHECKING:  # these import rclpy, which would slow --help
    from softarm_cli.doctor.environment import Check
    from softarm_cli.doctor.report import Finding, Report


def main(argv: list[str]) -> int:
    """Entry point; returns 0 if nothing is wrong, else 1."""
    parser = CommandLine(
        prog='softarm doctor',
        description='Report the installation, the running graph, faults and their remedies. '
        'The exit code is 1 if something is wrong.',
        epilog='example: softarm doctor',
    )
    parser.add_json()
    parser.add_flag('--remove-stale-memory', 'only remove shared memory left by killed nodes')
    return parser.answer(argv, _examine)


def _examine(options: argparse.Namespace) -> int:
    if options.remove_stale_memory:
        freed = remove_stale()
        if freed:
            print(f'{freed / 1e6:.0f} MB of shared memory of dead nodes removed', file=sys.stderr)
        return 0

    from softarm_cli.doctor.environment import check_environment
    from softarm_cli.doctor.report import Finding
    from softarm_cli.ros.examination import examine

    print('examining the installation, then the graph for 7 s ...', file=sys.stderr)
    checks, report = check_environment(), examine()
    wrong = [
        Finding(f'{check.name}: {check.found}', check.remedy[:1].upper() + check.remedy[1:])
        for check in checks
        if check.remedy
    ]
    wrong += report.findings()
    if options.json:
        print(json.dumps(_plain(checks, report, wrong)))
    else:
        _print(checks, report, wrong)
    return 1 if wrong else 0


def _print(checks: list[Check], report: Report, wrong: list[Finding]) -> None:
    for check in checks:
        print(f'{"wrong" if check.remedy else "ok":6s}{check.name:24s}{check.found}')
    print(f'\n{len(report.nodes)} nodes run')
    for node in report.nodes:
        status = report.diagnostics.get(node.name)
        message = one_line(status.message)[:80] if status else ''
        state = report.states.get(node.name, '')
        print(f'      {node.name:36s}{node.where:16s}{state:14s}{message}'.rstrip())
    for topic in report.topics:
        verdict = 'wrong' if topic.is_wrong else 'ok'
        rate = 'silent' if topic.rate_hz is None else f'{topic.rate_hz:.1f} Hz'
        print(f'{verdict:6s}{topic.name:52s}{rate:>12s}  expected {topic.expected_hz:.1f} Hz')
    if wrong:
        print('\nWrong:')
        for finding in wrong:
            print(f'  {finding.what}.\n      {finding.remedy}.')
        first = wrong[0].remedy
        print(f'\nDo this first: {first[:1].lower()}{first[1:]}.')
    else:
        start = ' No rig runs; to start the virtual one, run: softarm launch launch/sim.launch.xml'
        print('\nNothing is wrong.' + ('' if report.nodes else start))


def _plain(checks: list[Check], report: Report, wrong: list[Finding]) -> dict[str, Any]:
    return {
        'checks': [asdict(check) for check in checks],
        'nodes': [
            {
                **asdict(node),
                'state': report.states.get(node.name),
                'is_unresponsive': node.name in report.unresponsive,
            }
            for node in report.nodes
        ],
        'topics': [asdict(topic) for topic in report.topics],
        'diagnostics': [
            {'name': name, **asdict(status)} for name, status in sorted(report.diagnostics.items())
        ],
        'wrong': [asdict(finding) for finding in wrong],
    }
