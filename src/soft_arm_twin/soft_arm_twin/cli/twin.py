"""`softarm twin`: show and command a ROS graph, or show a bag, in the browser."""

import argparse
import asyncio
import signal
import webbrowser
from contextlib import ExitStack

from soft_arm_io.command_line import (
    CommandLine,
    input_path,
    uninterrupted,
    whole_number_in,
)
from soft_arm_twin.errors import TwinError
from soft_arm_twin.server.serve import DEFAULT_HOST, DEFAULT_PORT, serve

_EXAMPLES = """examples:
  softarm twin                     show and command the running graph, real or virtual
  softarm twin --bag out/monday    show a recording, repeatedly
  softarm twin --host 192.168.1.5  serve other machines too; prints an address with a token
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command until Ctrl-C; return 0, or 2 if the address cannot be used."""
    parser = CommandLine(
        prog='softarm twin',
        description='Show every robot of the running ROS graph in a browser, with pressures, '
        'targets, cameras, diagnostics and events, and command them through the public actions '
        'and services. A page commands only after it has taken control; `Vent` always works.',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_address(parser)
    parser.add_argument(
        '--domain',
        type=whole_number_in(0, 232),
        help='ROS domain (default: ROS_DOMAIN_ID; for --bag 231, where no rig runs, or the next '
        'one below that is free)',
    )
    parser.add_argument(
        '--bag', type=input_path, metavar='FOLDER', help='play this bag into the ROS domain'
    )
    parser.add_argument(
        '--robot',
        action='append',
        default=[],
        metavar='[NAMESPACE=]FILE',
        help='robot file of a robot in the bag (default: the robot named in its diagnostics)',
    )
    return parser.answer(argv, _run, TwinError)


def add_address(parser: CommandLine) -> None:
    """Add the options of the page's address."""
    parser.add_argument(
        '--host',
        default=DEFAULT_HOST,
        help='address to listen at (default: %(default)s, which only this machine reaches)',
    )
    parser.add_option(
        '--port', whole_number_in(0, 65535), DEFAULT_PORT, 'TCP port; 0: any free one'
    )
    parser.add_argument(
        '--allow-host',
        action='append',
        default=[],
        metavar='HOST:PORT',
        help='further address of the page, such as localhost:9000 for a forwarded port; repeatable',
    )
    parser.add_flag('--no-browser', 'do not open the page')


def show(source: object, options: argparse.Namespace) -> int:
    """Serve a source at the address of the options until Ctrl-C or SIGTERM; return 0.

    Both are ignored from then on.
    """

    def ready(url: str) -> None:
        print(f'twin: {url}  (Ctrl-C ends it)', flush=True)
        if not options.no_browser:
            webbrowser.open(url)

    async def run() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        await serve(
            source,  # type: ignore[arg-type]
            options.host,
            options.port,
            ready=ready,
            further_hosts=options.allow_host,
        )

    try:
        asyncio.run(run())
    except asyncio.CancelledError:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # ros2 launch repeats what Ctrl-C sent
        print('twin: ended')
    return 0


def _run(options: argparse.Namespace) -> int:
    if options.robot and options.bag is None:
        raise TwinError('--robot is for --bag; a running graph names its robots')
    with uninterrupted():  # rclpy is imported only when it is needed
        from soft_arm_twin.ros.graph_source import GraphSource
        from soft_arm_twin.ros.played_bag import PlayedBag

    robots = {place: file for place, _, file in (text.rpartition('=') for text in options.robot)}
    domain = options.domain
    with ExitStack() as stack:
        if options.bag is not None:
            domain = stack.enter_context(PlayedBag(options.bag, domain)).domain
        source = GraphSource(domain, robots, read_only=options.bag is not None)
        return show(stack.enter_context(source), options)
