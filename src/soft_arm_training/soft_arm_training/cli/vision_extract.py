"""`softarm vision extract`: make a labelled data set from a recorded bag, for training."""

import sys
from argparse import Namespace

from tqdm import tqdm

from soft_arm_calibration.cli.camera_options import (
    add_recorded_camera,
    add_tip_source,
    camera_choice,
)
from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.options import add_rig, add_robot
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_io.command_line import CommandLine, input_path, output_folder, positive_count
from soft_arm_vision.errors import VisionError
from softarm_cli.errors import BagError


def main(argv: list[str]) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm vision extract',
        description='Make a labelled data set from a recorded bag, for training.',
    )
    parser.add_argument(
        'bag', type=input_path, help='folder of a bag with colour, aligned depth and camera info'
    )
    parser.add_argument(
        'folder', type=output_folder, help='where images and instances.json (COCO) are written'
    )
    add_robot(parser)
    add_rig(parser)
    add_tip_source(parser, ('yolact', 'colour'))
    add_recorded_camera(parser)
    parser.add_argument(
        '--without-masks',
        action='store_true',
        help='write all frames without proposed masks, for a labelling tool',
    )
    parser.add_argument(
        '--every', type=positive_count, default=1, metavar='N', help='take every N-th frame'
    )
    return parser.answer(argv, _extract, VisionError, BagError)


def _extract(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from soft_arm_calibration.bags.bag_cameras import find_camera
    from soft_arm_calibration.bags.bag_frames import read_frames
    from soft_arm_training import coco
    from soft_arm_training.bag_samples import bag_samples
    from soft_arm_vision.calibration.camera_correction import correction_of
    from soft_arm_vision.ring.detector import RingDetector
    from soft_arm_vision.segmentation.segmenter import make_segmenter, ring_of
    from soft_arm_vision.segmentation.yolact_segmenter import RING_CLASS
    from softarm_cli.bags.file import open_bag

    if (options.folder / coco.LABELS).exists():
        raise VisionError(
            f'{options.folder} already holds a data set: give another folder, '
            'so that no labels are lost'
        )
    robot, rig, detector = load_robot(options.robot), load_rig(options.rig), None
    if not options.without_masks:
        ring, (sensor, _) = ring_of(robot), sensor_of(rig)
        segmenter = make_segmenter(options.tip_source, ring, options.network)
        detector = RingDetector(ring, segmenter, sensor)
    info = {
        'description': f'frames of the bag {options.bag.name}',
        'robot': options.robot,
        'labels': 'none' if options.without_masks else options.tip_source,
    }
    with (
        open_bag(options.bag) as bag,
        tqdm(unit=' frames', file=sys.stderr, disable=not sys.stderr.isatty()) as bar,
    ):
        topics = find_camera(bag, camera_choice(options))
        frames = read_frames(bag, rig.camera, topics, correction_of(rig))
        samples = bag_samples(frames, detector, options.every, bar.update)
        count = coco.write(options.folder, samples, (RING_CLASS,), info)
    print(
        f'{count} frames in {options.folder}; '
        f'train on them with: softarm train ring-segmenter --data {options.folder}'
    )
    return 0
