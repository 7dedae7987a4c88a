"""`softarm bag`: record, replay and list bags (MCAP, readable by `ros2 bag`)."""

import json
import signal
import sys
import threading
import time
from pathlib import Path

from tqdm import tqdm

from soft_arm_bringup.bag import BagError, Recorder, open_bag, play
from soft_arm_description.command_line import CommandLine, input_path, number_in, output_folder


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code."""
    parser = CommandLine(prog='softarm bag', description='Record, replay and list bags (MCAP, readable by ros2 bag).')
    commands = parser.add_subparsers(required=True, metavar='record|play|info')
    record = commands.add_parser('record', help='record topics until Ctrl-C')
    record.add_argument('topics', nargs='*', help='full names of topics; none: every topic but raw images and point clouds')
    record.add_argument('-o', '--output', type=output_folder, help='folder of the bag (default: out/bag_<date>_<time>)')
    record.set_defaults(action=_record)
    replay = commands.add_parser('play', help='publish what a bag holds')
    replay.add_argument('bag', type=input_path)
    replay.add_argument('-r', '--rate', type=number_in(0.01, 1000.0), default=1.0, help='2 is twice as fast (default: %(default)s)')
    replay.set_defaults(action=_play)
    info = commands.add_parser('info', help='list what a bag holds')
    info.add_argument('bag', type=input_path)
    info.add_json()
    info.set_defaults(action=_info)
    return parser.answer(argv, lambda options: options.action(options), BagError)


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _record(options) -> int:
    stop = _stop_on_signals()
    out = options.output or Path('out') / time.strftime('bag_%Y%m%d_%H%M%S')
    recorder = Recorder()
    recorder.start(options.topics or None, out)
    print(f'recording into {out}; Ctrl-C ends it', file=sys.stderr)
    with tqdm(unit=' messages', file=sys.stderr, disable=not sys.stderr.isatty()) as progress:
        while not stop.wait(0.5):
            progress.update(recorder.message_count - progress.n)
            progress.set_postfix_str(f'{len(recorder.topics)} topics, {recorder.byte_count / 1e6:.1f} MB')
    result = recorder.stop()
    print(f'{result["message_count"]} messages of {len(result["topics"])} topics, {result["byte_count"] / 1e6:.1f} MB, in {out}')
    missing = sorted(set(options.topics) - set(result['topics']))
    if missing:
        print(f'softarm bag: nobody published {", ".join(missing)}', file=sys.stderr)
    return 1 if missing else 0


def _play(options) -> int:
    stop = _stop_on_signals()
    with open_bag(options.bag) as reader:
        total = round(reader.duration * 1e-9, 1)
    with tqdm(total=total, unit='s', file=sys.stderr, disable=not sys.stderr.isatty()) as progress:
        count = play(options.bag, options.rate, stop, lambda elapsed_s: progress.update(elapsed_s - progress.n))
    print(f'{count} messages published')
    return 0


def _info(options) -> int:
    with open_bag(options.bag) as reader:
        topics = {c.topic: {'type': c.msgtype, 'message_count': c.msgcount} for c in sorted(reader.connections, key=lambda c: c.topic)}
        found = {'duration_s': reader.duration * 1e-9, 'message_count': reader.message_count, 'topics': topics}
    if options.json:
        print(json.dumps(found))
        return 0
    print(f'{options.bag}: {found["duration_s"]:.1f} s, {found["message_count"]} messages')
    for name, topic in topics.items():
        print(f'  {name:40s} {topic["type"]:42s} {topic["message_count"]:8d}')
    return 0
