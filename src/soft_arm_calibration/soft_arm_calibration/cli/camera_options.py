"""Options of the commands that read a camera, running or recorded."""

from soft_arm_io.command_line import CommandLine, input_file, number_in


def add_depth_unit(parser: CommandLine) -> None:
    """Add `--depth-unit-m`, as the launch files' `depth_unit_m`."""
    parser.add_argument(
        '--depth-unit-m',
        type=number_in(1e-5, 0.01),
        default=1e-3,
        metavar='M',
        help='unit of 16-bit depth images [m] (default: %(default)s)',
    )


def add_running_camera(parser: CommandLine) -> None:
    """Add what says how a running camera is read: its topics, alignment and unit of depth."""
    parser.add_argument(
        '--camera',
        default='/camera/camera',
        help="namespace of the running camera's topics (default: %(default)s)",
    )
    parser.add_argument(
        '--align-depth',
        action='store_true',
        help='take depth/image_rect_raw, which no driver has aligned, and align it by '
        'depth/camera_info and tf, as rig.launch.xml does with align_depth:=true',
    )
    add_depth_unit(parser)


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
