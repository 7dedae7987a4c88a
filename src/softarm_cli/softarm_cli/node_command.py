"""`softarm node`: list running nodes, activate and deactivate drivers."""

import argparse
import json
import sys
from collections import Counter
from dataclasses import asdict

from soft_arm_io.command_line import CommandLine
from softarm_cli.graph.names import graph_name

_EXAMPLES = """examples:
  softarm node list
  softarm node activate pneumatic_driver                   after a vent or a lost link
  softarm node activate pneumatic_driver --clear-faults    after a latched fault is repaired
"""


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code."""
    parser = CommandLine(
        prog='softarm node',
        description='List the running nodes with their processes and lifecycle states; '
        'activate and deactivate drivers.',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar='list|activate|deactivate')
    listing = commands.add_parser(
        'list', help='list every node with its process, and the state of drivers'
    )
    listing.add_json()
    listing.set_defaults(action=_list)
    activate = commands.add_parser(
        'activate', help='activate a driver, so that it accepts commands'
    )
    activate.add_flag('--clear-faults', 'clear latched faults first; remove their cause before')
    activate.set_defaults(action=_change, wanted='active')
    deactivate = commands.add_parser(
        'deactivate', help='deactivate a driver: it vents and ignores commands'
    )
    deactivate.set_defaults(action=_change, wanted='inactive', clear_faults=False)
    for command in (activate, deactivate):
        command.add_argument(
            'name',
            type=graph_name,
            help='name of a lifecycle node, such as /soft_arm/pneumatic_driver or pneumatic_driver',
        )
    return parser.answer(argv, lambda options: options.action(options))


def _list(options: argparse.Namespace) -> int:
    from softarm_cli.ros.graph import Graph  # slow import
    from softarm_cli.ros.node_states import lifecycle_states

    with Graph() as graph:
        graph.discover()
        nodes = graph.nodes()
        states = lifecycle_states(graph)
    times = Counter(node.name for node in nodes)
    if options.json:
        print(json.dumps([{**asdict(n), 'state': states.get(n.name)} for n in nodes]))
        return 0
    for node in nodes:
        doubled = f'  runs {times[node.name]} times' if times[node.name] > 1 else ''
        print(f'{node.name:40s} {node.where:20s} {states.get(node.name, "")}{doubled}'.rstrip())
    if not nodes:
        print('no nodes: nothing runs in this ROS domain', file=sys.stderr)
    return 0


def _change(options: argparse.Namespace) -> int:
    from softarm_cli.ros.graph import Graph
    from softarm_cli.ros.node_states import change_state, clear_faults, lifecycle_node

    with Graph() as graph:
        graph.discover()
        name = lifecycle_node(graph, options.name)
        if options.clear_faults:
            cleared, message = clear_faults(graph, name)
            print(f'{name}: {message}', file=sys.stdout if cleared else sys.stderr)
        state = change_state(graph, name, options.wanted)
    if state == options.wanted:
        print(f'{name}: {state}')
        return 0
    print(f'softarm node: {name} stays {state}; run: softarm doctor', file=sys.stderr)
    return 1
