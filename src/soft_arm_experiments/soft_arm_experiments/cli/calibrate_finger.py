"""`softarm calibrate finger`: bend of each piece of a finger over pressure, by a camera."""

import json
from functools import partial
from pathlib import Path

from tqdm import tqdm

from soft_arm_description.calibration import save_calibration, saved
from soft_arm_description.command_line import (
    CommandLine,
    day,
    input_file,
    output_file,
    output_folder,
    plot_file,
    positive_count,
    seed_number,
)
from soft_arm_description.rig import REAL, VIRTUAL, Devices, Rig, RigError, load_rig
from soft_arm_description.robot import Robot, RobotFileError, load_robot
from soft_arm_experiments.vision.finger_session import (
    FRAMES,
    PAPER_ERROR_PERCENT,
    Data,
    TipError,
    VirtualFinger,
    measure_records,
    record,
    tip_errors,
)
from soft_arm_kinematics.calibration.curve_families import CurveFit
from soft_arm_kinematics.calibration.pressure_bend import PressureBend, fit_bends
from soft_arm_kinematics.calibration.pressure_length import measurement_of, read_points
from soft_arm_kinematics.cli.calibrate_curve import draw_fits, fit_summary, fit_table
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_physics.errors import PhysicsError
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger import records as finger_records
from soft_arm_vision.finger.angles import CAMERA_SIDES


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return _parser().answer(
        argv,
        _calibrate,
        VisionError,
        KinematicsError,
        PhysicsError,
        RobotFileError,
        RigError,
    )


def _calibrate(args) -> int:
    rig, robot = load_rig(args.rig), load_robot(args.robot)
    _check(args, rig)
    if args.records:
        data, devices = _recorded(args, robot, rig)
        source, errors = f'records of {args.records.name}', None
        fits = fit_bends(robot, data)
    else:
        fits, data, errors, devices = _measured(args, robot, rig)
        what = 'running cell' if args.live else f'virtual finger {args.plant_seed}'
        source = f'{what}, {args.frames} pictures at each pressure'
    values = PressureBend(
        segments=fits,
        tip_error_percent={kpa: max(e.tip_percent) for kpa, e in (errors or {}).items()},
    )
    measurement = measurement_of(fits, 'rad', devices, source, args.date)
    path = save_calibration(rig, values, robot, measurement, args.out)
    if args.plot:
        draw_fits(fits, data, args.plot, 'bend')
    _report(args, fits, data, errors, path)
    if not args.json:
        print(saved(path, rig))
    return 0


def _parser() -> CommandLine:
    parser = CommandLine(
        prog='softarm calibrate finger',
        description='Record the bends of a finger every 5 kPa over its whole range, up and down, '
        'from the lines painted on it, and '
        'fit a cubic to each piece: the calibration pressure_bend, with held-out error, '
        'confidence and both branches of '
        "hysteresis. The virtual rig needs no running nodes and ends with the tip's error beside "
        "the paper's. Of another rig: --live, or "
        '--records.',
    )
    parser.add_rig()
    parser.add_robot('four_piece_finger')
    parser.add_argument(
        '--plant-seed',
        type=seed_number,
        default=1,
        metavar='N',
        help='which virtual finger (default: %(default)s)',
    )
    parser.add_argument(
        '--frames',
        type=positive_count,
        default=FRAMES,
        metavar='N',
        help='pictures at each pressure (default: %(default)s)',
    )
    parser.add_argument(
        '--live',
        action='store_true',
        help='measure the finger of the running cell (launch/cell.launch.xml), real or virtual, '
        'through its topics: the finger moves over '
        'its whole range, so take every object away',
    )
    parser.add_argument(
        '--save-records',
        type=output_folder,
        metavar='FOLDER',
        help='keep a picture at each pressure, for --records',
    )
    parser.add_argument(
        '--records',
        type=input_file,
        metavar='FILE',
        help='measure nothing, take this CSV: pictures (pressure_pa,branch,colour,depth; '
        'PNG files beside it, depth 16 bits in mm) or '
        'bends (segment,pressure_pa,theta_rad,branch), in the order of measurement',
    )
    parser.add_argument(
        '--camera',
        type=input_file,
        metavar='FILE',
        help="the pictures' camera (default: camera.yaml beside them)",
    )
    parser.add_argument(
        '--clicks',
        type=output_file(),
        metavar='FILE',
        help='lines clicked in the pictures (colour,line,u1_px,v1_px,u2_px,v2_px; '
        'line: reference or a piece; a reference for the picture '
        '"all" holds for every one); pictures that it does not name are measured automatically',
    )
    parser.add_argument(
        '--click',
        action='store_true',
        help='ask for two clicks on each line in a window, and add them to --clicks',
    )
    parser.add_argument(
        '--camera-side',
        choices=sorted(CAMERA_SIDES),
        default='minus_y',
        help="side of the finger's base frame on which the camera stands (default: %(default)s)",
    )
    parser.add_argument(
        '--date', type=day, help='day of the measurement, YYYY-MM-DD (default: today)'
    )
    parser.add_argument('--out', type=output_file(), help='write here instead')
    parser.add_argument(
        '--plot',
        type=plot_file,
        metavar='PNG',
        help='also draw data, cubics, confidence and branches',
    )
    parser.add_json()
    return parser


def _check(args, rig: Rig) -> None:
    if rig.devices == REAL and not (args.records or args.live):
        raise VisionError(
            f'rig {rig.name!r}: measure its running cell with --live, or give records of it with '
            '--records'
        )
    if args.records and (args.live or args.save_records):
        raise VisionError('--records measures nothing: leave --live and --save-records out')
    if args.click and not args.clicks:
        raise VisionError('--click needs a file to keep the clicks in: give it with --clicks')
    if not args.records and (args.clicks or args.camera):
        raise VisionError(
            '--clicks and --camera belong to recorded pictures: give those with --records'
        )


def _measured(
    args, robot: Robot, rig: Rig
) -> tuple[dict[str, CurveFit], Data, dict[int, TipError] | None, Devices]:
    with _finger(args, robot) as finger:
        writer = (
            finger_records.PictureWriter(args.save_records, finger.intrinsics, rig.devices)
            if args.save_records
            else None
        )
        progress = partial(tqdm, desc='pressures', unit='record')
        if args.live and rig.devices == REAL:
            finger.check_devices(rig.name, rig.devices)
        data = record(finger, robot, args.camera_side, progress, writer)
        fits = fit_bends(robot, data)
        if not args.live:
            return fits, data, tip_errors(robot, fits, finger), VIRTUAL
        finger.check_devices(rig.name, rig.devices)  # by now every node has been discovered
        return fits, data, None, finger.devices


def _finger(args, robot: Robot):
    if not args.live:
        return VirtualFinger(robot, args.plant_seed, args.frames)
    from soft_arm_experiments.ros.running_finger import RunningFinger  # ROS only where it is needed

    return RunningFinger(robot, args.frames)


def _recorded(args, robot: Robot, rig: Rig) -> tuple[Data, Devices]:
    if not finger_records.has_pictures(args.records):
        return read_points(args.records, 'segment', 'theta_rad'), rig.devices
    records = finger_records.read_pictures(args.records)
    clicks = (
        finger_records.read_clicks(args.clicks, robot)
        if args.clicks and (args.clicks.exists() or not args.click)
        else {}
    )
    if args.click:
        from soft_arm_vision.finger.clicking import click_records  # opens a window

        click_records(records, set(clicks), args.clicks, robot)
        clicks = finger_records.read_clicks(args.clicks, robot)
    unknown = sorted(set(clicks) - {r.colour.name for r in records})
    if unknown:
        raise VisionError(
            f'{args.clicks}: picture {unknown[0]} is not in {args.records}: its name is that of a '
            'colour file'
        )
    intrinsics = finger_records.read_camera(args.camera or args.records.parent / 'camera.yaml')
    data = measure_records(
        tqdm(records, desc='pictures', unit='record'), clicks, intrinsics, robot, args.camera_side
    )
    devices = finger_records.read_devices(args.records.parent / 'camera.yaml')
    return data, devices or rig.devices


def _report(
    args,
    fits: dict[str, CurveFit],
    data: Data,
    errors: dict[int, TipError] | None,
    path: Path | None,
) -> None:
    if args.json:
        summary = fit_summary(fits, path, 'rad')
        if errors:
            summary['finger_error_percent'] = {kpa: max(e.tip_percent) for kpa, e in errors.items()}
            summary['tip_error_percent'] = {
                kpa: dict(zip(('up', 'down'), e.tip_percent, strict=True))
                for kpa, e in errors.items()
            }
            summary['bend_error_percent'] = {
                kpa: dict(zip(('up', 'down'), e.bend_percent, strict=True))
                for kpa, e in errors.items()
            }
            summary['paper_error_percent'] = PAPER_ERROR_PERCENT
        print(json.dumps(summary))
        return
    print(fit_table(fits, data, 'bend'))
    if not errors:
        return
    print(
        "\nerror on a cycle after it [%]: of the tip, by the finger's length; "
        'of the whole bend, by the true one'
    )
    print(
        f'{"kPa":>6} {"tip, up":>9} {"tip, down":>10} {"paper":>7} {"bend, up":>10} '
        f'{"bend, down":>11}'
    )
    for kpa, error in errors.items():
        tips, bends = error.tip_percent, error.bend_percent
        print(
            f'{kpa:6d} {tips[0]:9.2f} {tips[1]:10.2f} {PAPER_ERROR_PERCENT[kpa]:7.1f} '
            f'{bends[0]:10.2f} {bends[1]:11.2f}'
        )
