"""`softarm node`: list the nodes that run, with their processes and lifecycle states."""

import json
import sys
from collections import Counter

from soft_arm_description.command_line import CommandLine


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code."""
    parser = CommandLine(
        prog='softarm node',
        description='List the nodes that run, with their processes and lifecycle states.',
        epilog='example: softarm node list',
    )
    commands = parser.add_subparsers(required=True, metavar='list')
    listing = commands.add_parser('list', help='every node with its process and, of a driver, its state')
    listing.add_json()
    return parser.answer(argv, _list)


def _list(options) -> int:
    from soft_arm_bringup.graph import Graph  # with rclpy: not needed for --help
    from soft_arm_bringup.node_states import lifecycle_states

    with Graph() as graph:
        graph.discover()
        nodes = graph.nodes()
        states = lifecycle_states(graph)
    times = Counter(node.name for node in nodes)
    if options.json:
        print(json.dumps([{'name': n.name, 'pid': n.pid, 'elsewhere': n.elsewhere, 'state': states.get(n.name)} for n in nodes]))
        return 0
    for node in nodes:
        doubled = f'  runs {times[node.name]} times' if times[node.name] > 1 else ''
        print(f'{node.name:40s} {node.where:20s} {states.get(node.name, "")}{doubled}'.rstrip())
    if not nodes:
        print('no nodes: nothing runs in this ROS domain', file=sys.stderr)
    return 0
