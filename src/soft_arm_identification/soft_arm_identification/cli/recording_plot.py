"""`softarm recording plot`: draw inputs, tip and dropped samples of a recording."""

from argparse import Namespace
from pathlib import Path

from soft_arm_io.command_line import CommandLine, input_file, output_file


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm recording plot',
        description='Draw the inputs of a recording and the positions of the tip over time. '
        'Spans of dropped samples are shaded.',
        epilog='example: softarm recording plot recordings/run_1.npz -o run_1.png',
    )
    parser.add_argument('file', type=input_file, metavar='FILE', help='recording (.npz)')
    parser.add_argument(
        '--output',
        '-o',
        type=output_file('.png', '.pdf', '.svg'),
        metavar='PICTURE',
        help='picture: .png, .pdf or .svg (default: FILE with .png)',
    )
    return parser.answer(argv, _plot)


def _plot(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from soft_arm_identification.plot import draw
    from soft_arm_identification.recording import Recording

    out: Path = options.output or options.file.with_suffix('.png')
    draw(Recording.load(options.file), out)
    print(out)
    return 0
