"""Options of the commands that read a camera, running or recorded."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from soft_arm_description.rig import Rig
from soft_arm_io.command_line import CommandLine, input_file
from softarm_cli.graph.names import topic_name

if TYPE_CHECKING:
    from soft_arm_calibration.bags.bag_cameras import CameraChoice
    from soft_arm_calibration.bags.bag_frames import BagFrame
    from soft_arm_vision.calibration.camera_correction import CameraCorrection


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


@contextmanager
def recorded_frames(
    path: Path, options: Namespace, rig: Rig, calibrates: 'CameraCorrection | None' = None
) -> Iterator[Iterator['BagFrame']]:
    """Open a bag; give the frames of the camera that the options of `add_recorded_camera` name.

    Args:
        path: Folder of the bag.
        options, rig: Options of the command, and its rig.
        calibrates: Correction of the frames for a calibration of the camera, which takes only bags
            of the rig's devices; None: the rig's correction.
    """
    # Slow to import: after the arguments are checked.
    from soft_arm_calibration.bags.bag_cameras import find_camera
    from soft_arm_calibration.bags.bag_frames import check_devices, read_frames
    from soft_arm_vision.calibration.camera_correction import correction_of
    from softarm_cli.bags.file import open_bag

    with open_bag(path) as bag:
        if calibrates is not None:
            check_devices(bag, rig)
        topics = find_camera(bag, camera_choice(options))
        yield read_frames(bag, rig.camera, topics, calibrates or correction_of(rig))


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
