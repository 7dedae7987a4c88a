"""`softarm view`: look at a robot, an assembly and a world in the browser; no graph is needed."""

import argparse
import asyncio
import webbrowser

from soft_arm_description.options import known_robot_or_assembly, known_world
from soft_arm_io.command_line import (
    CommandLine,
    port_or_any,
    uninterrupted,
)
from soft_arm_twin.errors import TwinError

_EXAMPLES = """examples:
  softarm view two_module_arm
  softarm view hand --kinematics
  softarm view squid --world squid_sea
  softarm view MINE.yaml --world floor --no-browser --port 8080
"""


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = CommandLine(
        prog='softarm view',
        description='See and move a robot in the browser: sliders, inverse kinematics, physics. '
        'Ctrl-C ends it.',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'file',
        type=known_robot_or_assembly,
        help='name or path of a robot file or an assembly file',
    )
    parser.add_argument(
        '--world',
        type=known_world,
        help='name or path of a world file (default: empty; floor if the assembly could fall)',
    )
    parser.add_option('--port', port_or_any, 8765, 'TCP port of the page; 0: any free one')
    parser.add_flag('--no-browser', 'only print the address')
    parser.add_flag('--kinematics', 'begin with pure kinematics instead of physics')
    return parser.answer(argv, _view, TwinError)


def _view(args: argparse.Namespace) -> int:
    with uninterrupted():  # --help does not wait for these
        from soft_arm_twin.server.serve import serve
        from soft_arm_twin.view.source import ViewSource

    source = ViewSource(args.file, args.world, 'kinematics' if args.kinematics else 'physics')

    def ready(url: str) -> None:
        print(f'{source.title}: {url}', flush=True)
        print('Ctrl-C ends it', flush=True)
        source.start()
        if not args.no_browser:
            webbrowser.open(url)

    try:
        asyncio.run(serve(source, port=args.port, ready=ready))
    except KeyboardInterrupt:
        print()
    finally:
        source.stop()
    return 0
