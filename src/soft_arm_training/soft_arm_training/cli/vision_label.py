"""`softarm vision label`: make a recorded bag a test of the detector."""

import sys
from argparse import Namespace
from itertools import islice

from tqdm import tqdm

from soft_arm_calibration.cli.camera_options import (
    add_recorded_camera,
    add_tip_source,
    recorded_frames,
)
from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.options import add_rig, add_robot
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_io.command_line import CommandLine, input_path, positive_count


def main(argv: list[str]) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm vision label',
        description='Propose labels for a recorded bag: BAG/labels/ring and BAG/labels/no_ring '
        'then hold an image of each labelled frame. Delete unclear ones, and move wrong ones to '
        'the other folder. `softarm bag evaluate BAG` then compares the detector with the '
        'labels, and exits with 1 if it is worse.',
        epilog='example: softarm vision label out/first_recording --every 30',
    )
    parser.add_argument(
        'bag', type=input_path, help='folder of a bag with colour, aligned depth and camera info'
    )
    add_robot(parser)
    add_rig(parser)
    add_tip_source(parser, ('yolact', 'colour'))
    add_recorded_camera(parser)
    parser.add_option('--every', positive_count, 10, 'label every N-th frame', metavar='N')
    return parser.answer(argv, _label)


def _label(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from soft_arm_calibration.bags.labels import FOLDER, write_labels
    from soft_arm_vision.ring.detector import RingDetector
    from soft_arm_vision.ring.overlay import draw_overlay
    from soft_arm_vision.segmentation.segmenter import make_segmenter, ring_of

    robot, rig = load_robot(options.robot), load_rig(options.rig)
    ring, (sensor, _) = ring_of(robot), sensor_of(rig)
    detector = RingDetector(ring, make_segmenter(options.tip_source, ring, options.network), sensor)
    with recorded_frames(options.bag, options, rig) as frames:
        shown = tqdm(
            islice(frames, 0, None, options.every),
            unit=' frames',
            file=sys.stderr,
            disable=not sys.stderr.isatty(),
        )
        detected = (
            (frame, detector.detect(frame.rgb, frame.depth_m, frame.intrinsics)) for frame in shown
        )
        proposals = (
            (frame.stamp_ns, draw_overlay(frame.rgb, found, ring, frame.intrinsics), found)
            for frame, found in detected
        )
        rings, ringless = write_labels(options.bag, options.robot, proposals)
    folder = options.bag / FOLDER
    print(
        f'{rings} pictures in {folder}/ring, {ringless} in {folder}/no_ring: delete those that '
        f'you cannot tell, move those that are wrong; then: softarm bag evaluate {options.bag}'
    )
    return 0
