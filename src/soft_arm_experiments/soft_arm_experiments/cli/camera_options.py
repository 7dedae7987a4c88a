"""Options of the commands that read a camera, running or recorded."""

from soft_arm_description.command_line import CommandLine, number_in


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
