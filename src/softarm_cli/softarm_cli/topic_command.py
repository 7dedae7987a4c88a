"""`softarm topic`: list topics, print their messages, measure their rates."""

import argparse
import json
import math
import sys
import time
from typing import TYPE_CHECKING, Any

from soft_arm_io.command_line import CommandLine, number_in, positive_count
from softarm_cli.graph.names import topic_name

if TYPE_CHECKING:
    from softarm_cli.ros.graph import Graph

_EXAMPLES = """examples:
  softarm topic list
  softarm topic echo /soft_arm/pressures --once
  softarm topic echo /soft_arm/tip_pose --field pose.pose.position -n 5
  softarm topic hz /soft_arm/pressures
"""


def main(argv: list[str]) -> int:
    """Entry point; returns 0, 1 if nothing was received in time, 2 on bad input."""
    parser = CommandLine(
        prog='softarm topic',
        description='List topics, print their messages, measure their rates.',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar='list|echo|hz')
    listing = commands.add_parser(
        'list', help='list every topic with its type and the numbers of publishers and subscribers'
    )
    listing.add_argument(
        '-a', '--all', action='store_true', help='include hidden topics, such as topics of actions'
    )
    listing.add_json()
    listing.set_defaults(action=_list)
    echo = commands.add_parser('echo', help='print messages as YAML until Ctrl-C')
    echo.add_argument('topic', type=topic_name, help='name of the topic')
    echo.add_flag('--once', 'one message')
    echo.add_argument('-n', '--count', type=positive_count, help='end after this many messages')
    echo.add_argument('--field', help='one field, such as pose.position.x or pressures_pa[0]')
    echo.add_flag('--full', 'print lists of more than 128 entries completely')
    echo.add_json()
    echo.set_defaults(action=_echo)
    hz = commands.add_parser('hz', help='print the rate, once a second, until Ctrl-C')
    hz.add_argument('topic', type=topic_name, help='name of the topic')
    hz.add_argument('-n', '--count', type=positive_count, help='end after this many lines')
    hz.add_json()
    hz.set_defaults(action=_hz)
    for command in (echo, hz):
        command.add_option(
            '--timeout',
            number_in(0.1, 1e6),
            10.0,
            'end after this time without a message [s]',
            metavar='S',
        )
    return parser.answer(argv, _in_graph)


def _in_graph(options: argparse.Namespace) -> int:
    from softarm_cli.ros.graph import Graph  # slow import

    try:
        with Graph() as graph:
            return options.action(graph, options)
    except KeyboardInterrupt:
        return 0  # normal end


def _list(graph: 'Graph', options: argparse.Namespace) -> int:
    graph.discover()
    topics = {
        name: {
            'type': kind,
            'publishers': graph.publishers(name),
            'subscribers': graph.subscribers(name),
        }
        for name, kind in sorted(graph.topics().items())
        if options.all or '/_' not in name
    }
    topics = {
        name: topic for name, topic in topics.items() if topic['publishers'] or topic['subscribers']
    }
    if options.json:
        print(json.dumps(topics))
        return 0
    for name, topic in topics.items():
        ends = f'{len(topic["publishers"])} publish, {len(topic["subscribers"])} subscribe'
        print(f'{name:52s} {topic["type"]:44s} {ends}')
    if not topics:
        print('no topics: nothing runs in this ROS domain', file=sys.stderr)
    return 0


def _echo(graph: 'Graph', options: argparse.Namespace) -> int:
    from softarm_cli.graph.message_text import field
    from softarm_cli.graph.message_types import message_class

    left: float = 1 if options.once else options.count or math.inf
    problem: Exception | None = None
    came_s = time.monotonic()

    def show(message: Any) -> None:
        nonlocal left, problem, came_s
        if left <= 0 or problem is not None:
            return
        try:
            _print(field(message, options.field) if options.field else message, options)
        except (ValueError, OSError) as error:  # not raised through the executor
            problem = error
        left, came_s = left - 1, time.monotonic()

    topic, kind = graph.find_topic(options.topic)
    subscription = graph.node.create_subscription(
        message_class(kind), topic, show, graph.matching_qos(topic, 100)
    )
    while left > 0 and problem is None and time.monotonic() - came_s < options.timeout:
        graph.holds(lambda: left <= 0 or problem is not None, 0.5)
    subscription.destroy()
    if problem is not None:
        raise problem
    return 0 if left <= 0 else _silent(graph, topic, options.timeout)


def _print(value: Any, options: argparse.Namespace) -> None:
    import yaml

    from softarm_cli.graph.message_text import MAX_ENTRIES, finite, plain

    value = plain(value, sys.maxsize if options.full else MAX_ENTRIES)
    if options.json:
        print(json.dumps(finite(value)))
        return
    text = yaml.safe_dump(
        value, sort_keys=False, default_flow_style=None, width=1000, allow_unicode=True
    )
    print(text.removesuffix('...\n') + '---')


def _hz(graph: 'Graph', options: argparse.Namespace) -> int:
    from softarm_cli.graph.message_types import message_class
    from softarm_cli.ros.graph import best_effort

    topic, kind = graph.find_topic(options.topic)
    stamps_s: list[float] = []
    seconds, came_s, lines = 0, time.monotonic(), options.count or math.inf
    subscription = graph.node.create_subscription(
        message_class(kind),
        topic,
        lambda _raw: stamps_s.append(time.monotonic()),
        best_effort(1000),
        raw=True,
    )
    while seconds < lines and time.monotonic() - came_s < options.timeout:
        previous_s = stamps_s[-1:]
        stamps_s[:] = previous_s  # periods span two seconds
        graph.spin(1.0)
        if len(stamps_s) > len(previous_s):
            came_s = stamps_s[-1]
            _print_rate(stamps_s, options.json)
            seconds += 1
        elif not options.json:
            print('no message in this second')
    subscription.destroy()
    return 0 if seconds >= lines else _silent(graph, topic, options.timeout)


def _print_rate(stamps_s: list[float], as_json: bool) -> None:
    periods_s = [b - a for a, b in zip(stamps_s, stamps_s[1:], strict=False)]
    if not periods_s:
        print(json.dumps({'rate_hz': None, 'messages': 1}) if as_json else 'one message')
        return
    figures = {
        'rate_hz': len(periods_s) / sum(periods_s),
        'min_period_s': min(periods_s),
        'max_period_s': max(periods_s),
        'messages': len(periods_s),
    }
    if as_json:
        print(json.dumps(figures))
        return
    shortest_ms, longest_ms = 1e3 * min(periods_s), 1e3 * max(periods_s)
    print(
        f'{figures["rate_hz"]:8.2f} Hz, period {shortest_ms:.1f} .. {longest_ms:.1f} ms, '
        f'{len(periods_s)} messages'
    )


def _silent(graph: 'Graph', topic: str, timeout_s: float) -> int:
    by = ', '.join(graph.publishers(topic)) or 'no node'
    print(
        f'softarm topic: no message on {topic} for {timeout_s:g} s; its publisher is {by}; '
        'run: softarm doctor',
        file=sys.stderr,
    )
    return 1
