"""Options of the experiments on a rig in this process."""

from argparse import Namespace

from soft_arm_calibration.cli.camera_options import add_network
from soft_arm_io.command_line import CommandLine


def add_tip_sensor(parser: CommandLine, condition: str = '') -> None:
    """Add `--tip-source`, `--network`, `--camera-file` and `--pose-noise`.

    Args:
        parser: The parser.
        condition: Beginning of the help of the options that only a rig in this process has.
    """
    parser.add_option(
        '--tip-source',
        ('yolact', 'colour', 'fiducial', 'pose'),
        'yolact',
        'sensor of the tip of the virtual rig',
    )
    add_network(parser)
    parser.add_argument(
        '--camera-file',
        default='virtual',
        metavar='CAMERA',
        help=f'{condition}virtual, stereo (depth matched in rendered infrared images, slow), or '
        'the YAML file of a camera (default: virtual)',
    )
    parser.add_flag(
        '--pose-noise',
        f"{condition}add the rig's measured tip noise to the true tip instead of rendering "
        '(faster)',
    )


def tip_source_of(options: Namespace) -> str | None:
    """Return the tip source of the options; None for the noise model."""
    return None if options.pose_noise else options.tip_source
