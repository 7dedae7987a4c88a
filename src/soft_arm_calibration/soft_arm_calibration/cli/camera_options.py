"""Options of the commands that read a camera, running or recorded."""

from argparse import Namespace
from typing import TYPE_CHECKING

from soft_arm_io.command_line import CommandLine, input_file
from softarm_cli.graph.names import topic_name

if TYPE_CHECKING:
    from soft_arm_calibration.bags.bag_cameras import CameraChoice


def add_running_camera(parser: CommandLine) -> None:
    """Add `--camera`, the topics of a running camera."""
    parser.add_option('--camera', str, '/camera/camera', "namespace of the running camera's topics")


def add_recorded_camera(parser: CommandLine) -> None:
    """Add the topics of the camera in a bag, which `camera_choice` returns."""
    for name, what in (
        ('colour', 'colour images'),
        ('depth', 'depth images'),
        ('info', 'camera info of the colour images'),
    ):
        parser.add_argument(
            f'--{name}-topic',
            type=topic_name,
            metavar='TOPIC',
            help=f'full name of the {what} in the bag (default: found by type and content)',
        )
    parser.add_flag(
        '--aligned-depth',
        'the recorded depth is aligned to colour, whatever its frame and camera info state',
    )


def camera_choice(options: Namespace) -> 'CameraChoice':
    """Return the options of `add_recorded_camera`."""
    # Slow to import: after the arguments are checked.
    from soft_arm_calibration.bags.bag_cameras import CameraChoice

    return CameraChoice(
        options.colour_topic, options.depth_topic, options.info_topic, options.aligned_depth or None
    )


def add_tip_source(
    parser: CommandLine, sources: tuple[str, ...] = ('yolact', 'colour', 'fiducial')
) -> None:
    """Add `--tip-source`, the detector of ring or markers, and `--network`."""
    parser.add_option(
        '--tip-source',
        sources,
        'yolact',
        'detector in the images: the ring by network or by colour, or the markers',
    )
    add_network(parser)


def add_network(parser: CommandLine) -> None:
    """Add `--network`, the exported network of yolact."""
    parser.add_argument(
        '--network',
        type=input_file,
        help='exported network (.onnx) of yolact (default: the shipped one)',
    )
