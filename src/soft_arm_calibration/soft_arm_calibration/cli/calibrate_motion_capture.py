"""`softarm calibrate motion-capture`: find where a system that measures the tip stands."""

from argparse import Namespace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_calibration.cli.camera_options import (
    add_recorded_camera,
    add_tip_source,
    camera_choice,
)
from soft_arm_calibration.virtual import virtual_device
from soft_arm_description.calibrate import Calibrated, calibration_parser, run_calibration
from soft_arm_description.calibration import Measurement
from soft_arm_description.rig import VIRTUAL, Rig
from soft_arm_description.robot import Robot
from soft_arm_io.command_line import input_file, input_path, number_in
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.motion_capture import MotionCapture
from soft_arm_vision.calibration.mounting import pose_of
from soft_arm_vision.calibration.points import COLUMNS, read_correspondences
from soft_arm_vision.errors import VisionError

if TYPE_CHECKING:
    from soft_arm_calibration.bags.pose_latency import Latency

ROTATION_SD_RAD = 2e-3  # points show no rotation


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = calibration_parser(
        'motion-capture',
        description="Find the pose of a motion-capture system in the arm's base frame from places "
        'at which the tip was held, and save it with the pose of the tip on the tracked body '
        'and the latency. On the virtual rig the places are the pegs of its jig, and no nodes are '
        'needed. The latency is estimated from a bag of a motion that the camera has also seen.',
        epilog='example: softarm calibrate motion-capture --rig my_rig --points tip.csv '
        '--world-frame mocap --bag motion',
    )
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
    add_recorded_camera(parser)
    add_tip_source(parser)
    return run_calibration(parser, argv, _calibrate)


def _calibrate(options: Namespace, rig: Rig, robot: Robot) -> Calibrated:
    if options.points:
        world_m, base_m, place = read_correspondences(options.points)
        T_body_tip = np.eye(4)
        T_body_tip[:3, :3] = Rotation.from_euler(
            'xyz', options.tip_rpy_deg, degrees=True
        ).as_matrix()
        T_body_tip[:3, 3] = options.tip_position_m
        frame, latency_s = options.world_frame, options.latency_s
    elif rig.devices == VIRTUAL:
        system = virtual_device('motion_capture')(robot)
        world_m, base_m, place = system.world_m, system.base_m, system.place
        T_body_tip, frame, latency_s = system.T_body_tip, system.world_frame, system.latency_s
    else:
        raise VisionError(
            f'the places of the tip on rig {rig.name!r} are not known: give them with --points'
        )
    latency = None
    if options.bag:
        latency = _latency(options, rig, frame, T_body_tip)
        latency_s = round(latency.latency_s, 5)
    found = extrinsics.solve(world_m, base_m, place)
    posed = extrinsics.values_of(found, robot.base.frame, frame)
    values = MotionCapture(
        base_frame=posed.base_frame,
        world_frame=frame,
        T_base_world=posed.T_base_camera,
        T_body_tip=pose_of(T_body_tip),
        latency_s=latency_s,
        position_sd_m=max(round(found.residual_m / np.sqrt(3), 7), 1e-6),
        rotation_sd_rad=ROTATION_SD_RAD,
        middle_m=posed.middle_m,
        covariance_m_rad=posed.covariance_m_rad,
    )
    measurement = Measurement(
        devices=rig.devices,
        method=f'least squares on {found.points} places of the tip',
        residuals={'rms_m': round(found.residual_m, 7)}
        | ({} if latency is None else {'latency_sd_s': round(latency.sd_s, 6)}),
        limits=extrinsics.limits_m(base_m[found.kept]),
    )
    text = f'residual {1e3 * found.residual_m:.2f} mm rms at {found.points} places'
    if latency is not None:
        text += (
            f'\nposes are {1e3 * latency.latency_s:.1f} +- {1e3 * latency.sd_s:.1f} ms older than '
            f'their stamps, by {latency.samples} places of the camera, '
            f'{1e3 * latency.residual_m:.2f} mm rms away'
        )
    summary = {'values': values.model_dump(mode='json'), 'latency': latency and vars(latency)}
    return Calibrated(values, measurement, text, summary)


def _latency(options: Namespace, rig: Rig, world_frame: str, T_body_tip: np.ndarray) -> 'Latency':
    """Return how late the poses in the bag are."""
    # Slow to import: with a bag only.
    from soft_arm_calibration.bags.arm_files import load_files
    from soft_arm_calibration.bags.bag_frames import check_devices, read_poses, topics_of
    from soft_arm_calibration.bags.pose_latency import find_latency
    from soft_arm_calibration.bags.recorded import find_topics, read_tips
    from soft_arm_calibration.bags.track import Track
    from softarm_cli.bags.file import open_bag

    with open_bag(options.bag) as bag:
        check_devices(bag, rig)
        files = load_files(options.robot, options.rig, None, options.tip_source, options.network)
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
        topics = find_topics(bag, None, None, files.mounting, camera_choice(options))
        seen = read_tips(bag, topics, files)
    late = Track.of(poses.stamps_ns, (poses.T @ T_body_tip)[:, :3, 3])
    return find_latency(late, Track.of(seen.stamps_ns, seen.points_m))
