"""`softarm vision extract`: write the frames of a bag for a labelling tool."""

import sys
from argparse import Namespace
from itertools import islice

from tqdm import tqdm

from soft_arm_calibration.cli.camera_options import add_recorded_camera, recorded_frames
from soft_arm_description.options import add_rig
from soft_arm_description.rig import load_rig
from soft_arm_io.command_line import CommandLine, input_path, output_folder, positive_count
from soft_arm_vision.errors import VisionError


def main(argv: list[str]) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm vision extract',
        description='Write the frames of a recorded bag as a COCO data set without masks, to draw '
        'them in a labelling tool. `softarm vision label` proposes masks.',
    )
    parser.add_argument(
        'bag', type=input_path, help='folder of a bag with colour, aligned depth and camera info'
    )
    parser.add_argument(
        'folder', type=output_folder, help='where images and instances.json (COCO) are written'
    )
    add_rig(parser)
    add_recorded_camera(parser)
    parser.add_argument(
        '--every', type=positive_count, default=1, metavar='N', help='take every N-th frame'
    )
    return parser.answer(argv, _extract)


def _extract(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from soft_arm_training import coco
    from soft_arm_training.bag_samples import sample_of
    from soft_arm_vision.segmentation.yolact_segmenter import RING_CLASS

    if (options.folder / coco.LABELS).exists():
        raise VisionError(
            f'{options.folder} already holds a data set: give another folder, '
            'so that no labels are lost'
        )
    with recorded_frames(options.bag, options, load_rig(options.rig)) as frames:
        bar = tqdm(
            islice(frames, 0, None, options.every),
            unit=' frames',
            file=sys.stderr,
            disable=not sys.stderr.isatty(),
        )
        info = {'description': f'frames of the bag {options.bag.name}'}
        samples = (sample_of(frame, []) for frame in bar)
        count = coco.write(options.folder, samples, (RING_CLASS,), info)
    print(
        f'{count} frames in {options.folder}; once their rings are labelled, '
        f'train on them with: softarm train ring-segmenter --data {options.folder}'
    )
    return 0
