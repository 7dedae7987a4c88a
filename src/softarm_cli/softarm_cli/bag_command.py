"""`softarm bag`: record, replay, list, plot and compare bags (MCAP, readable by `ros2 bag`).

Other packages offer further commands by entry points of the group `softarm.bag`.
"""

import argparse
import json
import signal
import sys
import threading
import time
from importlib.metadata import entry_points
from pathlib import Path

from soft_arm_io.command_line import (
    CommandLine,
    input_path,
    number_in,
    output_folder,
    plot_file,
    whole_number_in,
)
from softarm_cli.graph.names import graph_name, topic_name
from softarm_cli.softarm import summary

_EXAMPLES = """examples:
  softarm bag record -o out/monday --images        every topic and the cameras' images, until Ctrl-C
  softarm bag plot out/monday                      pressures and tip as a picture, out/monday.png
  softarm bag evaluate out/monday out/tuesday      camera, models and controller, compared
  softarm bag play out/monday --namespace replay   everything but commands, under /replay/..
"""
_SAFETY = """Set points (pressure_command, limb_configuration and others, in any namespace) are
omitted unless --topics or --commands includes them, and never sent to a subscribed node. Topics
with another publisher are refused, and so are recorded names while a driver runs: give
--namespace or --domain."""


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code."""
    offered = {point.name: point for point in entry_points(group='softarm.bag')}
    if argv and argv[0] in offered:
        return offered[argv[0]].load()(argv[1:]) or 0
    parser = CommandLine(
        prog='softarm bag',
        description='Record, replay, list, plot and compare bags (MCAP, readable by ros2 bag).',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = '|'.join(['record', 'play', 'info', 'plot', *sorted(offered)])
    commands = parser.add_subparsers(required=True, metavar=names)
    for name, point in sorted(offered.items()):
        commands.add_parser(name, help=summary(point))
    record = commands.add_parser('record', help='record topics until Ctrl-C')
    record.add_argument(
        'topics',
        nargs='*',
        type=topic_name,
        help='full names of topics (default: all but raw images and point clouds)',
    )
    record.add_argument(
        '-o',
        '--output',
        type=output_folder,
        help='folder of the bag (default: out/bag_<date>_<time>)',
    )
    record.add_flag(
        '--images', 'include the raw images of every camera; two of 640 x 480 at 30 Hz: 46 MB/s'
    )
    record.set_defaults(action=_record)
    replay = commands.add_parser(
        'play',
        help='publish the messages of a bag, except for commands',
        description=_SAFETY,
    )
    replay.add_argument('bag', type=input_path)
    replay.add_argument(
        '-r',
        '--rate',
        type=number_in(0.01, 1000.0),
        default=1.0,
        help='2 is twice as fast (default: %(default)s)',
    )
    _add_topics(replay, 'only these topics, by their full names in the bag')
    replay.add_flag('--commands', 'include set points; refused if a node subscribes to them')
    replay.add_argument(
        '--namespace',
        type=graph_name,
        help='prefix of every topic: --namespace replay sends /replay/soft_arm/pressures',
    )
    replay.add_argument(
        '--domain',
        type=whole_number_in(0, 232),
        help='ROS domain to play into (default: ROS_DOMAIN_ID)',
    )
    replay.add_flag(
        '--clock',
        'publish /clock: recorded, or else the time of recording; waits for nodes with '
        'use_sim_time that acknowledge images',
    )
    replay.add_flag(
        '--sensors',
        'only measurements (pressures, images, camera infos, camera frames) and --topics, for '
        'nodes that recompute everything else',
    )
    replay.add_argument(
        '--wait-for',
        nargs='+',
        type=topic_name,
        default=(),
        metavar='NODE',
        help='full names of nodes to wait for, in the namespace of recorded pressures',
    )
    replay.set_defaults(action=_play)
    info = commands.add_parser('info', help='list the topics of a bag')
    info.add_argument('bag', type=input_path)
    info.add_json()
    info.set_defaults(action=_info)
    picture = commands.add_parser(
        'plot',
        help='plot pressures and commands, the tip by model, vision and truth, and its errors',
    )
    picture.add_argument('bag', type=input_path)
    picture.add_argument(
        '-o',
        '--output',
        type=plot_file,
        help='.png, .pdf or .svg (default: <bag>.png next to the bag)',
    )
    _add_topics(picture, 'plot every number of these topics instead')
    picture.set_defaults(action=_plot)
    return parser.answer(argv, lambda options: options.action(options))


def _add_topics(parser: CommandLine, purpose: str) -> None:
    parser.add_argument(
        '--topics', nargs='+', type=topic_name, default=(), metavar='NAME', help=purpose
    )


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _record(options: argparse.Namespace) -> int:
    from tqdm import tqdm

    from softarm_cli.ros.bag_recorder import Recorder

    stop = _stop_on_signals()
    out = options.output or Path('out') / time.strftime('bag_%Y%m%d_%H%M%S')
    recorder = Recorder()
    recorder.start(options.topics or None, out, options.images)
    print(f'recording into {out}; Ctrl-C ends it', file=sys.stderr)
    with tqdm(unit=' messages', file=sys.stderr, disable=not sys.stderr.isatty()) as progress:
        while not stop.wait(0.5):
            progress.update(recorder.message_count - progress.n)
            progress.set_postfix_str(
                f'{len(recorder.topics)} topics, {recorder.byte_count / 1e6:.1f} MB'
            )
    result = recorder.stop()
    megabytes = result['byte_count'] / 1e6
    print(
        f'{result["message_count"]} messages of {len(result["topics"])} topics, '
        f'{megabytes:.1f} MB, in {out}'
    )
    missing = sorted(set(options.topics) - set(result['topics']))
    if missing:
        print(f'softarm bag: no node published {", ".join(missing)}', file=sys.stderr)
    return 1 if missing else 0


def _play(options: argparse.Namespace) -> int:
    from tqdm import tqdm

    from softarm_cli.bags.file import Bag
    from softarm_cli.bags.replay import Replay
    from softarm_cli.ros.bag_player import play

    stop = _stop_on_signals()
    replay = Replay(
        tuple(options.topics),
        options.commands,
        options.namespace or '',
        options.domain,
        options.rate,
        options.clock,
        options.sensors,
        tuple(options.wait_for),
    )
    with tqdm(unit='s', file=sys.stderr, disable=not sys.stderr.isatty()) as progress:

        def report_start(bag: Bag, left_out: dict[str, str]) -> None:
            progress.total = round(bag.duration_s, 1)
            _report_left_out(left_out)

        count = play(
            options.bag,
            replay,
            stop,
            report_start,
            lambda elapsed_s: progress.update(elapsed_s - progress.n),
        )
    print(f'{count} messages published')
    return 0


def _report_left_out(left_out: dict[str, str]) -> None:
    if left_out:
        print(
            f'left out: {", ".join(f"{topic} ({why})" for topic, why in left_out.items())}',
            file=sys.stderr,
        )


def _info(options: argparse.Namespace) -> int:
    from softarm_cli.bags.file import open_bag

    with open_bag(options.bag) as bag:
        topics = {
            c.topic: {'type': c.msgtype, 'message_count': c.msgcount} for c in bag.connections
        }
        found = {
            'duration_s': bag.duration_s,
            'message_count': bag.message_count,
            'is_cut': bag.is_cut,
            'topics': topics,
            'left_out': bag.foreign,
        }
    if options.json:
        print(json.dumps(found))
        return 0
    print(f'{options.bag}: {found["duration_s"]:.1f} s, {found["message_count"]} messages')
    for name, topic in topics.items():
        print(f'  {name:40s} {topic["type"]:42s} {topic["message_count"]:8d}')
    return 0


def _plot(options: argparse.Namespace) -> int:
    from softarm_cli.bags.file import open_bag
    from softarm_cli.bags.plot import draw, panels

    with open_bag(options.bag) as bag:
        out = options.output or options.bag.resolve().with_name(f'{options.bag.resolve().name}.png')
        drawn = panels(bag, options.topics)
    draw(drawn, options.bag.resolve().name, out)
    print(f'{out}: {"; ".join(panel.title for panel in drawn)}')
    return 0
