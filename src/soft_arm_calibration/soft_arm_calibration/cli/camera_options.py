"""Options of the commands that read a camera, running or recorded."""

from soft_arm_io.command_line import CommandLine, input_file


def add_running_camera(parser: CommandLine) -> None:
    """Add `--camera`, the topics of a running camera."""
    parser.add_argument(
        '--camera',
        default='/camera/camera',
        help="namespace of the running camera's topics (default: %(default)s)",
    )


def add_tip_source(
    parser: CommandLine, sources: tuple[str, ...] = ('yolact', 'colour', 'fiducial')
) -> None:
    """Add `--tip-source`, the detector of ring or markers, and `--network`."""
    parser.add_argument(
        '--tip-source',
        choices=sources,
        default='yolact',
        help='detector in the images: the ring by network or by colour, or the markers '
        '(default: %(default)s)',
    )
    add_network(parser)


def add_network(parser: CommandLine) -> None:
    """Add `--network`, the exported network of yolact."""
    parser.add_argument(
        '--network',
        type=input_file,
        help='exported network (.onnx) of yolact (default: the shipped one)',
    )
