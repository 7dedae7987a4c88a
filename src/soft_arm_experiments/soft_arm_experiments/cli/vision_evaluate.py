"""`softarm vision evaluate`: detect the ring in a recorded bag and compare with the true poses."""

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from soft_arm_description.command_line import CommandLine, input_file, input_path, plot_file
from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_experiments.cli.camera_options import add_depth_unit
from soft_arm_experiments.vision.bag_evaluation import BagReport, draw_errors, evaluate
from soft_arm_experiments.vision.labels import LabelledResult
from soft_arm_vision.errors import VisionError
from softarm_cli.bags.file import open_bag, warn_of_cut
from softarm_cli.errors import BagError


def main(argv: list[str]) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm vision evaluate',
        description='Detect the ring in recorded bags; compare with the truth of a virtual rig '
        'and with labels (`softarm vision label`). Exits with 1 if a bag is worse than its labels.',
        epilog='example: softarm vision evaluate out/first_recording out/second_recording',
    )
    parser.add_argument(
        'bags',
        nargs='+',
        metavar='BAG',
        type=input_path,
        help='folder of a bag; topics are found by type and usual names, in any namespace',
    )
    parser.add_robot()
    parser.add_rig()
    parser.add_argument('--extrinsics', type=input_file, help='another extrinsics file')
    parser.add_argument(
        '--segmenter', default='yolact', help='yolact or colour (default: %(default)s)'
    )
    parser.add_network()
    add_depth_unit(parser)
    parser.add_argument(
        '--plot',
        type=plot_file,
        metavar='FILE',
        help='draw the error over time (of one bag): .png, .pdf or .svg',
    )
    parser.add_json()
    return parser.answer(argv, _evaluate, VisionError, BagError)


def _evaluate(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from soft_arm_vision.calibration import extrinsics
    from soft_arm_vision.calibration.camera_correction import correction_of
    from soft_arm_vision.ring.detector import RingDetector
    from soft_arm_vision.segmentation.segmenter import make_segmenter, ring_of

    robot = load_robot(options.robot)
    ring = ring_of(robot)
    rig = load_rig(options.rig)
    mounting, (sensor, _) = extrinsics.load(rig, robot, options.extrinsics), sensor_of(rig)
    segmenter = make_segmenter(options.segmenter, ring, options.network)
    if options.plot is not None and len(options.bags) > 1:
        raise VisionError('--plot draws one bag: give one, or leave --plot out')
    answers, status = [], 0
    for path in options.bags:
        with (
            open_bag(path) as bag,
            tqdm(unit=' frames', file=sys.stderr, disable=not sys.stderr.isatty()) as bar,
        ):
            warn_of_cut(bag, 'softarm vision')
            detector = RingDetector(ring, segmenter, sensor)
            report = evaluate(
                bag,
                detector,
                mounting.T_base_camera,
                bar.update,
                correction_of(rig, robot),
                options.depth_unit_m,
            )
        if options.plot is not None:
            draw_errors(report, options.plot)
        if options.json:
            answers.append(_plain(path, report))
        else:
            _print(path, report)
        for fault in report.labelled.faults if report.labelled else ():
            print(f'softarm vision: {path}: {fault}', file=sys.stderr)
            status = 1
    if options.json:
        print(json.dumps(answers if len(answers) > 1 else answers[0]))
    return status


def _plain(path: Path, report: BagReport) -> dict[str, Any]:
    plain = {k: v for k, v in vars(report).items() if not isinstance(v, np.ndarray)}
    labelled = report.labelled and vars(report.labelled) | {'faults': report.labelled.faults}
    return {'bag': str(path)} | plain | {'labelled': labelled}


def _print(path: Path, report: BagReport) -> None:
    print(f'{path}')
    print('topics: ' + ', '.join(f'{role} {topic}' for role, topic in report.topics.items()))
    if 'colour' not in report.topics:
        print(
            'no images in the bag: the poses are those of the recording '
            '(softarm bag record --images records the images too)'
        )
    print(
        f'{report.poses} poses in {report.frames} frames; '
        f'{report.recorded_s:.1f} s recorded, {report.computed_s:.1f} s computed'
    )
    for reason, count in report.reasons.items():
        print(f'  {count:4d}  {reason}')
    if report.labelled is not None:
        _print_labelled(report.labelled)
    errors: Any = report.errors
    if errors is None:
        print('the bag holds no true poses')
    elif report.poses:
        mean_mm, p95_mm = 1e3 * errors['centre_mean_m'], 1e3 * errors['centre_p95_m']
        print(f'centre {mean_mm:.3f} mm mean, {p95_mm:.3f} mm p95')
        print(f'axis {np.degrees(errors["axis_mean_rad"]):.2f} deg mean')
        if errors['normalised_mean'] is None:
            print('the poses state no covariance')
            return
        print(
            f'normalised squared error of the centre {errors["normalised_mean"]:.1f} '
            f'(3 if the covariance is right), chi-square test p = {errors["chi2_p"]:.3f}'
        )


def _print_labelled(result: LabelledResult) -> None:
    print(
        f'labels: poses for {result.found} of {result.rings} rings, '
        f'{result.false_poses} poses in {result.ringless} frames without a ring'
    )
    if result.moved_mean_m is not None and result.moved_max_m is not None:
        print(
            f'centres {1e3 * result.moved_mean_m:.3f} mm from the labelled ones on average, '
            f'{1e3 * result.moved_max_m:.3f} mm at most'
        )
    if not result.faults:
        print('passed')
