"""`softarm vision`: cylinders in clouds, recorded bags, data sets of rings."""

import json
import sys

import numpy as np
from tqdm import tqdm

from soft_arm_description.calibration import CalibrationError, loadable
from soft_arm_description.command_line import (
    CommandLine,
    finite_number,
    input_file,
    input_path,
    number_in,
    output_folder,
    plot_file,
    positive_count,
    seed_number,
)
from soft_arm_description.robot import RobotFileError, load_robot
from soft_arm_vision.clouds.scene_cylinder import RADIUS_LIMITS_M, find_cylinder
from soft_arm_vision.errors import VisionError


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code."""
    parser = CommandLine(
        prog='softarm vision', description='Cylinders in clouds, recorded bags, data sets of rings.'
    )
    commands = parser.add_subparsers(required=True, metavar='fit|evaluate|extract|draw')
    fit = commands.add_parser('fit', help='fit one cylinder to a cloud')
    fit.add_argument('cloud', type=input_file, help='.pcd, .ply or .npy, in metres')
    fit.add_argument(
        '--radius-m',
        type=number_in(*RADIUS_LIMITS_M),
        help='known radius (default: it is estimated)',
    )
    fit.add_argument(
        '--height-m',
        type=number_in(1e-3, 10.0),
        help='known height: much higher or lower walls are refused',
    )
    fit.add_argument(
        '--viewpoint-m', type=finite_number, nargs=3, metavar=('X', 'Y', 'Z'),
        help='camera: it tells the outside of a hollow body from its inside (default: the origin)',
    )  # fmt: skip
    fit.add_argument(
        '--seed', type=seed_number, default=0, help='of the random choices (default: %(default)s)'
    )
    fit.add_json()
    fit.set_defaults(action=_fit)
    replay = commands.add_parser(
        'evaluate',
        help='find the ring in a recorded bag, and compare it with the truth of a virtual rig',
    )
    replay.add_argument(
        'bag',
        type=input_path,
        help='folder of a bag; topics are found by type and usual names, in any namespace',
    )
    replay.add_robot()
    replay.add_rig()
    replay.add_argument('--extrinsics', type=input_file, help='another extrinsics file')
    replay.add_argument(
        '--segmenter', default='colour', help='colour or yolact (default: %(default)s)'
    )
    replay.add_argument(
        '--plot',
        type=plot_file,
        metavar='FILE',
        help='draw the error over time: .png, .pdf or .svg',
    )
    replay.add_json()
    replay.set_defaults(action=_evaluate)
    extract = commands.add_parser(
        'extract', help='make a labelled data set of a recorded bag, to train on'
    )
    extract.add_argument(
        'bag', type=input_path, help='folder of a bag with colour, aligned depth and camera info'
    )
    extract.add_argument(
        'folder', type=output_folder, help='pictures and instances.json (COCO) go there'
    )
    extract.add_robot()
    extract.add_argument(
        '--labels', default='colour', choices=('colour', 'yolact', 'none'),
        help='who proposes the masks; none: all frames without masks, for a labelling tool (default: %(default)s)',
    )  # fmt: skip
    extract.add_argument(
        '--every',
        type=positive_count,
        default=1,
        help='take one frame of so many (default: %(default)s)',
    )
    extract.set_defaults(action=_extract)
    draw = commands.add_parser(
        'draw', help='draw a labelled data set of the ring with the virtual camera'
    )
    draw.add_argument('folder', type=output_folder)
    draw.add_robot()
    draw.add_argument(
        '--domain',
        choices=('training', 'held_out'),
        default='held_out',
        help='family of scenes (default: %(default)s)',
    )
    draw.add_argument('--frames', type=positive_count, default=200, help='(default: %(default)s)')
    draw.add_argument('--seed', type=seed_number, default=0, help='(default: %(default)s)')
    draw.add_argument(
        '--scale',
        type=number_in(0.1, 4.0),
        default=1.0,
        help="of the picture, relative to the camera's (default: %(default)s)",
    )
    draw.add_argument(
        '--ringless-share',
        type=number_in(0.0, 1.0),
        default=0.3,
        help='of the frames (default: %(default)s)',
    )
    draw.set_defaults(action=_draw)
    return parser.answer(
        argv, lambda options: options.action(options), VisionError, RobotFileError, CalibrationError
    )


def _fit(options) -> int:
    from soft_arm_vision.clouds.cloud_file import (
        read_cloud,
    )  # here and below: what takes long to import, after the arguments are checked

    viewpoint = None if options.viewpoint_m is None else np.array(options.viewpoint_m)
    found = find_cylinder(
        read_cloud(options.cloud),
        radius_m=options.radius_m,
        height_m=options.height_m,
        viewpoint=viewpoint,
        seed=options.seed,
    )
    if options.json:
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(found).items()}
        names = {'centre': 'centre_m', 'covariance': 'covariance_m_rad'}
        print(json.dumps({names.get(k, k): v for k, v in plain.items()}))
        return 0
    std_mm = 1e3 * np.sqrt(np.diag(found.covariance)[:3])
    given = 'given' if found.radius_std_m is None else f'+- {1e3 * found.radius_std_m:.2f} mm'
    print(f'centre  {_millimetres(found.centre)} mm, +- {" ".join(f"{s:.2f}" for s in std_mm)}')
    print(f'axis    {" ".join(f"{a:.4f}" for a in found.axis)}')
    print(f'radius  {1e3 * found.radius_m:.2f} mm, {given}')
    print(f'height  {1e3 * found.height_m:.1f} mm seen')
    if found.thickness_m is not None:
        side = 'outside' if found.radius_std_m is None else 'middle'
        print(f'wall    {1e3 * found.thickness_m:.1f} mm thick; the radius is that of its {side}')
    print(
        f'inliers {found.inliers}, {100 * found.inlier_share:.0f} % of the part they were found in'
    )
    return 0


def _millimetres(point: np.ndarray) -> str:
    return ' '.join(f'{1e3 * x:.2f}' for x in point)


def _evaluate(options) -> int:
    from soft_arm_experiments.vision.bag_evaluation import draw_errors, evaluate
    from soft_arm_vision.calibration import extrinsics
    from soft_arm_vision.ring.detector import RingDetector
    from soft_arm_vision.segmentation.segmenter import make_segmenter, ring_of

    ring = ring_of(load_robot(options.robot))
    mounting = extrinsics.load(options.extrinsics or loadable(options.rig, 'extrinsics'))
    segmenter = make_segmenter(options.segmenter, ring)
    if segmenter.caution is not None:
        print(f'softarm vision: {segmenter.caution}', file=sys.stderr)
    detector = RingDetector(ring, segmenter)
    with tqdm(unit=' frames', file=sys.stderr, disable=not sys.stderr.isatty()) as bar:
        report = evaluate(options.bag, detector, mounting.T_base_camera, bar.update)
    if options.plot is not None:
        draw_errors(report, options.plot)
    if options.json:
        plain = {k: v for k, v in vars(report).items() if not isinstance(v, np.ndarray)}
        print(json.dumps(plain))
        return 0
    print('taken: ' + ', '.join(f'{role} {topic}' for role, topic in report.topics.items()))
    if 'colour' not in report.topics:
        print(
            'no images in the bag: the poses are those of the recording (softarm bag record --images keeps the images too)'
        )
    print(
        f'{report.poses} poses in {report.frames} frames; {report.recorded_s:.1f} s recorded, {report.computed_s:.1f} s computed'
    )
    for reason, count in report.reasons.items():
        print(f'  {count:4d}  {reason}')
    if report.errors is None:
        print('no truth in the bag')
    elif report.errors['centre_mean_m'] is not None:
        e = report.errors
        print(
            f'centre {1e3 * e["centre_mean_m"]:.3f} mm mean, {1e3 * e["centre_p95_m"]:.3f} mm p95'
        )
        print(f'axis {np.degrees(e["axis_mean_rad"]):.2f} deg mean')
        print(
            f'squared error by covariance {e["normalised_mean"]:.1f} (3 if it is right), chi-square test p = {e["chi2_p"]:.3f}'
        )
    return 0


def _extract(options) -> int:
    from soft_arm_experiments.vision import coco
    from soft_arm_experiments.vision.bag_samples import bag_samples
    from soft_arm_vision.ring.detector import RingDetector
    from soft_arm_vision.segmentation.segmenter import make_segmenter, ring_of
    from soft_arm_vision.segmentation.yolact_segmenter import RING_CLASS

    if (options.folder / coco.LABELS).exists():
        raise VisionError(
            f'{options.folder} already holds a data set: give another folder, so that no labels are lost'
        )
    ring = ring_of(load_robot(options.robot))
    detector = (
        None
        if options.labels == 'none'
        else RingDetector(ring, make_segmenter(options.labels, ring))
    )
    with tqdm(unit=' frames', file=sys.stderr, disable=not sys.stderr.isatty()) as bar:
        samples = bag_samples(options.bag, detector, options.every, bar.update)
        info = {
            'description': f'frames of the bag {options.bag.name}',
            'robot': options.robot,
            'labels': options.labels,
        }
        count = coco.write(options.folder, samples, (RING_CLASS,), info)
    print(
        f'{count} frames in {options.folder}; train on them with: softarm train ring-segmenter --data {options.folder}'
    )
    return 0


def _draw(options) -> int:
    from soft_arm_experiments.vision.data_factory import (
        write_ring_set,
    )  # OpenGL and MuJoCo: only where they are needed
    from soft_arm_vision.segmentation.segmenter import ring_of

    ring_of(load_robot(options.robot))
    count = write_ring_set(
        options.folder, options.robot, options.domain, options.frames, seed=options.seed, scale=options.scale,
        ringless_share=options.ringless_share,
    )  # fmt: skip
    print(f'{count} frames in {options.folder}')
    return 0
