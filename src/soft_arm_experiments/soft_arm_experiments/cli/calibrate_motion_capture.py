"""`softarm calibrate motion-capture`: find where a system that measures the tip stands."""

import json
from argparse import Namespace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.calibration import Measurement, save_calibration, saved
from soft_arm_description.command_line import (
    CommandLine,
    input_file,
    input_path,
    number_in,
    output_file,
)
from soft_arm_description.rig import VIRTUAL, RigError, load_rig
from soft_arm_description.robot import Robot, load_robot
from soft_arm_experiments.cli.camera_options import add_depth_unit
from soft_arm_sim.cameras.placement import jig_for
from soft_arm_sim.motion_capture import VirtualMotionCapture, load_motion_capture
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.motion_capture import MotionCapture
from soft_arm_vision.calibration.points import COLUMNS, read_correspondences
from soft_arm_vision.errors import VisionError
from softarm_cli.errors import BagError

if TYPE_CHECKING:
    from soft_arm_experiments.bags.pose_latency import Latency

SETS, SEED = 10, 0  # of the virtual system
ROTATION_SD_RAD = 2e-3  # points show no rotation


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm calibrate motion-capture',
        description="Find the pose of a motion-capture system in the arm's base frame from places "
        'at which the tip was held, and save it with where the tip is on the tracked body and how '
        'late poses are. On the virtual rig the places are those of its jig, and nothing needs to '
        'run. The latency is found from a bag of a motion that the camera has seen too.',
        epilog='example: softarm calibrate motion-capture --rig my_rig --points tip.csv '
        '--world-frame mocap --bag motion',
    )
    parser.add_rig()
    parser.add_robot()
    parser.add_argument(
        '--points',
        type=input_file,
        help=f'CSV of the places, columns {",".join(COLUMNS)}; camera_x_m and so on are those that '
        'the system measured of the tip',
    )
    parser.add_argument('--world-frame', default='world', help="frame of the system's poses")
    for name, unit, what in (('position-m', 'm', 'place'), ('rpy-deg', 'deg', 'turn')):
        parser.add_argument(
            f'--tip-{name}',
            type=number_in(-360.0, 360.0),
            nargs=3,
            default=[0.0, 0.0, 0.0],
            metavar=('X', 'Y', 'Z'),
            help=f'{what} of the tip in the frame of the body [{unit}] (default: 0 0 0)',
        )
    latency = parser.add_mutually_exclusive_group()
    latency.add_argument(
        '--latency-s',
        type=number_in(-1.0, 1.0),
        default=0.0,
        help='how much older than its stamp a pose is [s] (default: %(default)s)',
    )
    latency.add_argument(
        '--bag',
        type=input_path,
        help="bag of a motion with the system's poses and images or the camera's tip_pose: finds "
        'the latency',
    )
    parser.add_argument(
        '--body-pose', metavar='TOPIC', help="the body's pose in the bag, if there are several"
    )
    parser.add_argument(
        '--tip-source',
        default='yolact',
        choices=('yolact', 'colour', 'fiducial'),
        help='what finds the tip in the images of the bag: the ring by yolact or colour, or the '
        'markers (default: %(default)s)',
    )
    parser.add_network()
    add_depth_unit(parser)
    parser.add_argument('--out', type=output_file(), help='save to this file instead')
    parser.add_json()
    return parser.answer(argv, _calibrate, VisionError, BagError, RigError)


def _calibrate(options: Namespace) -> int:
    rig, robot = load_rig(options.rig), load_robot(options.robot)
    if options.points:
        world_m, base_m, place = read_correspondences(options.points)
        T_body_tip = np.eye(4)
        T_body_tip[:3, :3] = Rotation.from_euler(
            'xyz', options.tip_rpy_deg, degrees=True
        ).as_matrix()
        T_body_tip[:3, 3] = options.tip_position_m
        frame, latency_s = options.world_frame, options.latency_s
    elif rig.devices == VIRTUAL:
        world_m, base_m, place = _virtual_places(robot)
        parameters = load_motion_capture()
        T_body_tip = np.linalg.inv(parameters.body_in_tip.matrix)
        frame, latency_s = parameters.world_frame, parameters.latency_s
    else:
        raise VisionError(
            f'the places of the tip on rig {rig.name!r} are not known: give them with --points'
        )
    latency = None
    if options.bag:
        latency = _latency(options, frame, T_body_tip)
        latency_s = round(latency.latency_s, 5)
    found = extrinsics.solve(world_m, base_m, place)
    posed = extrinsics.values_of(found, robot.base.frame, frame)
    values = MotionCapture(
        base_frame=posed.base_frame,
        world_frame=frame,
        T_base_world=posed.T_base_camera,
        T_body_tip=extrinsics.pose_of(T_body_tip),
        latency_s=latency_s,
        position_sd_m=max(round(found.residual_m / np.sqrt(3), 7), 1e-6),
        rotation_sd_rad=ROTATION_SD_RAD,
        middle_m=posed.middle_m,
        covariance_m_rad=posed.covariance_m_rad,
    )
    kept_m = base_m[found.kept]
    measurement = Measurement(
        devices=rig.devices,
        method=f'least squares on {found.points} places of the tip',
        residuals={'rms_m': round(found.residual_m, 7)}
        | ({} if latency is None else {'latency_sd_s': round(latency.sd_s, 6)}),
        limits={
            f'{axis}_m': (float(low), float(high))
            for axis, low, high in zip('xyz', kept_m.min(axis=0), kept_m.max(axis=0), strict=True)
        },
    )
    path = save_calibration(rig, values, robot, measurement, options.out)
    if options.json:
        how_late = latency and vars(latency)
        said = {'values': values.model_dump(mode='json'), 'latency': how_late}
        print(json.dumps(said | {'file': path and str(path)}))
        return 0
    print(f'residual {1e3 * found.residual_m:.2f} mm rms at {found.points} places')
    if latency is not None:
        print(
            f'poses are {1e3 * latency.latency_s:.1f} +- {1e3 * latency.sd_s:.1f} ms older than '
            f'their stamps, by {latency.samples} places of the camera, '
            f'{1e3 * latency.residual_m:.2f} mm rms away'
        )
    print(saved(path, rig))
    return 0


def _latency(options: Namespace, world_frame: str, T_body_tip: np.ndarray) -> 'Latency':
    """Return how late the poses in the bag are."""
    # Slow to import: with a bag only.
    from soft_arm_experiments.bags.arm_files import load_files
    from soft_arm_experiments.bags.pose_latency import find_latency
    from soft_arm_experiments.bags.recorded import find_topics, read_tips
    from soft_arm_experiments.bags.track import Track
    from soft_arm_experiments.vision.bag_frames import read_poses, topics_of
    from softarm_cli.bags.file import open_bag, warn_of_cut

    files = load_files(
        options.robot,
        options.rig,
        None,
        options.tip_source,
        options.network,
        options.depth_unit_m,
    )
    with open_bag(options.bag) as bag:
        warn_of_cut(bag, 'softarm calibrate')
        found = {
            topic: poses
            for topic in topics_of(bag, 'geometry_msgs/msg/PoseStamped', '')
            if (poses := read_poses(bag, topic)).frame_id == world_frame
            and options.body_pose in (None, topic)
        }
        if len(found) != 1:
            raise VisionError(
                f'{len(found)} topics in {bag.path} hold poses in the frame {world_frame!r}, one '
                'is needed: give --world-frame and --body-pose'
            )
        (poses,) = found.values()
        seen = read_tips(bag, find_topics(bag, None, None, files.mounting), files)
    late = Track.of(poses.stamps_ns, (poses.T @ T_body_tip)[:, :3, 3])
    return find_latency(late, Track.of(seen.stamps_ns, seen.points_m))


def _virtual_places(robot: Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return measured and true places of the tip on the jig [m], (n, 3), and their numbers."""
    jig, system = jig_for(robot), VirtualMotionCapture(load_motion_capture(), SEED)
    T_body_tip = np.linalg.inv(system.parameters.body_in_tip.matrix)
    random, measured_m = np.random.default_rng([SEED, 7]), []
    place = np.tile(np.arange(len(jig.pegs_m)), SETS)
    base_m = np.array(jig.pegs_m)[place]
    for peg_m in base_m:
        T = np.eye(4)
        T[:3, 3] = peg_m + jig.repeatability_m * random.standard_normal(3)
        measured_m.append((system.measured(T) @ T_body_tip)[:3, 3])
    return np.array(measured_m), base_m, place
