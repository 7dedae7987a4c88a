"""`softarm vision draw`: render a labelled data set of the ring with the virtual camera."""

from argparse import Namespace

from soft_arm_description.options import add_robot
from soft_arm_description.robot import load_robot
from soft_arm_io.command_line import (
    CommandLine,
    number_in,
    output_folder,
    positive_count,
    seed_number,
)
from soft_arm_vision.errors import VisionError


def main(argv: list[str]) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm vision draw',
        description='Render a labelled data set of the ring with the virtual camera.',
    )
    parser.add_argument('folder', type=output_folder)
    add_robot(parser)
    parser.add_argument(
        '--domain',
        choices=('training', 'held_out'),
        default='held_out',
        help='family of scenes (default: %(default)s)',
    )
    parser.add_argument('--frames', type=positive_count, default=200, help='(default: %(default)s)')
    parser.add_argument('--seed', type=seed_number, default=0, help='(default: %(default)s)')
    parser.add_argument(
        '--scale',
        type=number_in(0.1, 4.0),
        default=1.0,
        help="image size relative to the camera's (default: %(default)s)",
    )
    parser.add_argument(
        '--ringless-share',
        type=number_in(0.0, 1.0),
        default=0.3,
        help='share of the frames that show no ring (default: %(default)s)',
    )
    parser.add_argument(
        '--workers', type=positive_count, default=1, help='processes (default: %(default)s)'
    )
    return parser.answer(argv, _draw, VisionError)


def _draw(options: Namespace) -> int:
    from soft_arm_training.synthetic_data import write_ring_set  # OpenGL and MuJoCo
    from soft_arm_vision.segmentation.segmenter import ring_of

    ring_of(load_robot(options.robot))
    count = write_ring_set(
        options.folder,
        options.robot,
        options.domain,
        options.frames,
        seed=options.seed,
        scale=options.scale,
        ringless_share=options.ringless_share,
        workers=options.workers,
    )
    print(f'{count} frames in {options.folder}')
    return 0
