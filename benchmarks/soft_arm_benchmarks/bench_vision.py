"""`softarm bench vision`: measure masks, poses and speed on held-out scenes."""

from argparse import Namespace

from soft_arm_benchmarks.limits import report
from soft_arm_calibration.cli.camera_options import add_tip_source
from soft_arm_description.options import add_robot
from soft_arm_description.robot import load_robot
from soft_arm_io.command_line import CommandLine, positive_count, seed_number


def main(argv: list[str]) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm bench vision',
        description='Measure masks, poses and speed on held-out scenes.',
        epilog='example: softarm bench vision --domain stereo --frames 100 --json',
    )
    parser.add_option(
        '--frames', positive_count, 200, 'number of frames with a ring, and of frames without'
    )
    parser.add_option('--seed', seed_number, 0, 'random seed of the held-out scenes')
    add_tip_source(parser, ('yolact', 'colour'))
    parser.add_option(
        '--domain',
        ('virtual', 'stereo'),
        'virtual',
        'source of the depth: exact with noise (virtual), or matched in a rendered infrared pair '
        '(stereo), which no limit was chosen on',
    )
    add_robot(parser)
    parser.add_json()
    return parser.answer(argv, _bench)


def _bench(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from soft_arm_benchmarks.vision.ring_figures import masks_and_poses
    from soft_arm_vision.segmentation.segmenter import ring_of

    figures = masks_and_poses(options, ring_of(load_robot(options.robot)))
    return report(figures, {}, as_json=options.json)
