"""`softarm bag evaluate`: compare camera, kinematic models and controller's estimate of the tip."""

import argparse
import json
import sys
from argparse import Namespace

from tqdm import tqdm

from soft_arm_calibration.cli.camera_options import (
    add_recorded_camera,
    add_tip_source,
    camera_choice,
)
from soft_arm_description.options import add_rig, add_robot
from soft_arm_io.command_line import CommandLine, input_file, input_path, plot_file
from softarm_cli.graph.names import graph_name, topic_name

_EXAMPLES = """The leaderboard shows distances from the true tip: debug/tip_truth of a virtual rig,
or the pose that --truth names, as of a motion capture. Without a true tip it shows distances from
the tip that the camera sees. Without images the recorded tip_pose is used.

examples:
  softarm bag evaluate out/pictures
  softarm bag evaluate out/monday out/tuesday --plot out/error.png
  softarm bag evaluate out/monday --truth /mocap/tip/pose --rig lab --json
"""


def main(argv: list[str]) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm bag evaluate',
        description='Compare camera, kinematic models and controller in recorded bags, and the '
        'detector with the labels of `softarm vision label`. Exits with 1 if a bag is worse than '
        'its labels.',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'bags',
        nargs='+',
        type=input_path,
        metavar='BAG',
        help='folder of a bag, of softarm bag record or ros2 bag; a cut one is read up to the cut',
    )
    add_robot(parser)
    add_rig(parser)
    parser.add_argument('--extrinsics', type=input_file, help='another extrinsics file')
    add_tip_source(parser)
    add_recorded_camera(parser)
    parser.add_argument(
        '--namespace', type=graph_name, help='namespace of the arm, if a bag holds several'
    )
    parser.add_argument(
        '--truth',
        type=topic_name,
        metavar='TOPIC',
        help="PoseStamped of the true tip in the arm's base frame, such as of a motion capture",
    )
    parser.add_argument(
        '--plot',
        type=plot_file,
        metavar='FILE',
        help='draw the distances over time: .png, .pdf or .svg',
    )
    parser.add_json()
    return parser.answer(argv, _evaluate)


def _evaluate(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from soft_arm_calibration.bags.arm_files import load_files
    from soft_arm_calibration.bags.estimates import estimate
    from soft_arm_calibration.bags.leaderboard import as_json, as_text, compare, draw
    from softarm_cli.bags.file import open_bag

    files = load_files(
        options.robot,
        options.rig,
        options.extrinsics,
        options.tip_source,
        options.network,
    )
    found = []
    with tqdm(unit=' images', file=sys.stderr, disable=not sys.stderr.isatty()) as progress:
        for path in options.bags:
            with open_bag(path) as bag:
                found.append(
                    estimate(
                        bag,
                        files,
                        options.namespace,
                        options.truth,
                        camera_choice(options),
                        progress.update,
                    )
                )
    comparison = compare(found)
    if options.plot is not None:
        draw(comparison, options.plot)
    print(json.dumps(as_json(comparison)) if options.json else as_text(comparison))
    faults = [
        f'{bag.name}: {fault}'
        for bag in comparison.bags
        if bag.detector is not None and bag.detector.labelled is not None
        for fault in bag.detector.labelled.faults
    ]
    for fault in faults:
        print(f'softarm bag evaluate: {fault}', file=sys.stderr)
    return 1 if faults else 0
