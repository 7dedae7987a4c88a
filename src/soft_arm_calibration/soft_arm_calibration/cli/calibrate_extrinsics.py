"""`softarm calibrate extrinsics`: find the camera's pose from a ring on the pegs of a jig."""

import sys
from argparse import Namespace
from contextlib import ExitStack
from typing import Any

import numpy as np
from tqdm import tqdm

from soft_arm_calibration.cli.camera_options import add_running_camera, add_tip_source
from soft_arm_calibration.virtual import virtual_device
from soft_arm_description.calibrate import Calibrated, calibration_parser, run_calibration
from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import VIRTUAL, Devices, Rig
from soft_arm_description.robot import Robot
from soft_arm_io.command_line import CommandLine, input_file, positive_count
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.points import COLUMNS, read_correspondences, read_jig
from soft_arm_vision.errors import VisionError

OPTICAL_FRAME = 'camera_color_optical_frame'


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    return run_calibration(_parser(), argv, _calibrate)


def _calibrate(args: Namespace, rig: Rig, robot: Robot) -> Calibrated:
    if args.points:
        camera_m, base_m, place = read_correspondences(args.points)
        camera_frame, devices = args.camera_frame, rig.devices
        method = f'least squares on {len(place)} correspondences of {args.points.name}'
    else:
        camera_m, base_m, place, camera_frame, devices = _measure(args, robot, rig)
        method = (
            f'least squares, {args.sets} sets of {len(np.unique(place))} places, '
            f'{args.frames} frames each'
        )
    result = extrinsics.solve(camera_m, base_m, place)
    measurement = extrinsics.measurement_of(result, base_m, devices, method)
    values = extrinsics.values_of(result, robot.base.frame, camera_frame)
    by_place_m = {
        int(p): float(np.sqrt(np.mean(np.square(result.residuals_m[place == p]))))
        for p in np.unique(place)
    }
    text = _text(result, base_m, place, by_place_m)
    return Calibrated(values, measurement, text, _summary(result, by_place_m))


def _parser() -> CommandLine:
    parser = calibration_parser(
        'extrinsics',
        description="Find the pose of the camera in the arm's base frame: "
        'measure the ring on the pegs of a jig, several times. On the virtual rig the measurement '
        'runs by itself (the rig is started if none runs); on a real rig the command says on '
        'which peg to put the ring next.',
    )
    parser.add_argument(
        '--jig',
        type=input_file,
        help="YAML file with the ring's centre on each peg, pegs_m (default: the virtual rig's)",
    )
    parser.add_option('--sets', positive_count, 10, 'how often every peg is measured')
    parser.add_option('--frames', positive_count, 10, 'frames averaged at each peg')
    parser.add_argument(
        '--points',
        type=input_file,
        help=f'CSV of correspondences measured elsewhere, columns {",".join(COLUMNS)}',
    )
    add_tip_source(parser, ('yolact', 'colour'))
    add_running_camera(parser)
    parser.add_option(
        '--camera-frame',
        str,
        OPTICAL_FRAME,
        "frame_id of the colour images in which --points were measured; a rig's images bring "
        'theirs',
        metavar='FRAME',
    )
    return parser


def _measure(
    args: Namespace, robot: Robot, rig: Rig
) -> tuple[np.ndarray, np.ndarray, np.ndarray, str, Devices]:
    """Measure the ring on every peg.

    Returns:
        Points in the camera frame (k, 3) [m], the same points in the base frame (k, 3) [m], peg of
        each point (k,), the images' frame, and the devices that were measured.
    """
    virtual = rig.devices == VIRTUAL
    if robot.ring is None:
        raise VisionError(
            f'robot {robot.name} has no ring for the pegs: add the key ring, of one that you have, '
            'to a copy of its file, and give the copy to --robot; or give --points'
        )
    if args.jig is None and not virtual:
        raise VisionError(
            f'the positions of the pegs of rig {rig.name!r} are not known: give them with --jig, '
            'or correspondences with --points'
        )
    pegs_m = read_jig(args.jig) if args.jig else virtual_device('jig')(robot)
    order = [(number, peg) for number in range(args.sets) for peg in range(len(pegs_m))]
    # --help and --points need neither ROS nor a detector.
    from soft_arm_calibration.ros.camera_session import CameraSession
    from soft_arm_calibration.ros.jig_session import VirtualJig, ring_centre_m
    from soft_arm_vision.calibration.camera_correction import correction_of
    from soft_arm_vision.ring.detector import RingDetector
    from soft_arm_vision.segmentation.segmenter import make_segmenter

    sensor, caution = sensor_of(rig)
    if caution is not None:
        print(f'softarm calibrate extrinsics: {caution}', file=sys.stderr)
    segmenter = make_segmenter(args.tip_source, robot.ring, args.network)
    detector, centres_m = RingDetector(robot.ring, segmenter, sensor), []
    with ExitStack() as stack:
        jig = stack.enter_context(VirtualJig(args.robot)) if virtual else None
        if jig is not None:
            print(
                'virtual rig: started'
                if jig.started_rig
                else 'virtual rig: running; its ring is on the jig during the calibration',
                file=sys.stderr,
            )
        session = stack.enter_context(
            CameraSession(
                args.camera,
                'calibrate_extrinsics',
                'are the camera and the rig running?',
                camera=rig.camera,
                correction=correction_of(rig),
            )
        )
        first = next(session.frames(1.0))
        detector.detect(first.rgb, first.depth_m, first.intrinsics)  # compiles or loads it
        for number, peg in tqdm(order, desc='ring on jig', unit='peg', disable=not virtual):
            if jig is not None:
                jig.place(peg)
            else:
                x_mm, y_mm, z_mm = 1e3 * pegs_m[peg]
                print(
                    f'set {number + 1} of {args.sets}: ring on peg {peg} ({x_mm:.1f}, {y_mm:.1f}, '
                    f'{z_mm:.1f}) mm, then Enter',
                    file=sys.stderr,
                )
                if not sys.stdin.readline():
                    raise VisionError('no answer on standard input: run this in a terminal')
            centres_m.append(ring_centre_m(session, detector, args.frames))
            session.check_devices(rig.name, rig.devices)
        frame, devices = session.camera_frame, session.watch.devices
    place = np.array([peg for _, peg in order])
    return np.array(centres_m), pegs_m[place], place, frame, devices


def _summary(result: extrinsics.Extrinsics, by_place_m: dict[int, float]) -> dict[str, Any]:
    return {
        'T_base_camera': result.T_base_camera.tolist(),
        'residual_m': result.residual_m,
        'leave_one_out_m': result.leave_one_out_m,
        'position_sigma_m': result.position_sigma_m.tolist(),
        'rotation_sigma_rad': result.rotation_sigma_rad.tolist(),
        'scale': result.scale,
        'points': result.points,
        'outliers': int((~result.kept).sum()),
        'residual_by_place_m': by_place_m,
    }


def _text(
    result: extrinsics.Extrinsics,
    base_m: np.ndarray,
    place: np.ndarray,
    by_place_m: dict[int, float],
) -> str:
    lines = [
        f'{"place":>5} {"x [mm]":>8} {"y [mm]":>8} {"z [mm]":>8} {"points":>7} '
        f'{"residual [mm]":>14}'
    ]
    for p, residual_m in by_place_m.items():
        x_mm, y_mm, z_mm = 1e3 * base_m[place == p][0]
        lines.append(
            f'{p:5d} {x_mm:8.1f} {y_mm:8.1f} {z_mm:8.1f} {result.kept[place == p].sum():7d} '
            f'{1e3 * residual_m:14.2f}'
        )
    position_mm = _listed(1e3 * result.T_base_camera[:3, 3], 1)
    sigma_mm = _listed(1e3 * result.position_sigma_m, 2)
    sigma_deg = _listed(np.rad2deg(result.rotation_sigma_rad), 3)
    return '\n'.join(
        [
            *lines,
            f'residual {1e3 * result.residual_m:.2f} mm rms, leave-one-place-out '
            f'{1e3 * result.leave_one_out_m:.2f} mm; '
            f'{result.points} points kept, {(~result.kept).sum()} outliers',
            f'camera at ({position_mm}) mm; sigma of position ({sigma_mm}) mm, of rotation '
            f'({sigma_deg}) deg',
            f'the camera sees lengths {100 * (result.scale - 1):+.2f} % too long (not part of the '
            'pose)',
        ]
    )


def _listed(values: np.ndarray, digits: int) -> str:
    return ', '.join(f'{value:.{digits}f}' for value in values)
