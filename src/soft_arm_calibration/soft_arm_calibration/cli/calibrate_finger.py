"""`softarm calibrate finger`: measure each finger piece's bend over pressure with a camera."""

from argparse import Namespace
from functools import partial
from typing import Any

from tqdm import tqdm

from soft_arm_calibration.finger_session import (
    FRAMES,
    PAPER_ERROR_PERCENT,
    Data,
    Finger,
    TipError,
    measure_records,
    record,
)
from soft_arm_calibration.virtual import virtual_device
from soft_arm_description.calibrate import Calibrated, calibration_parser, run_calibration
from soft_arm_description.rig import REAL, VIRTUAL, Devices, Rig
from soft_arm_description.robot import Robot
from soft_arm_io.command_line import (
    CommandLine,
    day,
    input_file,
    output_file,
    output_folder,
    plot_file,
    positive_count,
    seed_number,
)
from soft_arm_kinematics.calibration.curve_fit import CurveFit
from soft_arm_kinematics.calibration.pressure_bend import PressureBend, fit_bends
from soft_arm_kinematics.calibration.pressure_length import measurement_of
from soft_arm_kinematics.cli.calibrate_curve import draw_fits, fit_summary, fit_table
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger import records as finger_records
from soft_arm_vision.finger.angles import CAMERA_SIDES


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    return run_calibration(_parser(), argv, _calibrate)


def _calibrate(args: Namespace, rig: Rig, robot: Robot) -> Calibrated:
    _check(args, rig)
    if args.records:
        data, devices = _recorded(args, robot, rig)
        source = f'records of {args.records.name}'
        errors = None
        fits = fit_bends(robot, data)
    else:
        fits, data, errors, devices = _measured(args, robot, rig)
        what = 'running cell' if args.use_running else f'virtual finger {args.plant_seed}'
        source = f'{what}, {args.frames} pictures at each pressure'
    values = PressureBend(
        segments=fits,
        tip_error_percent={kpa: max(e.tip_percent) for kpa, e in (errors or {}).items()},
    )
    measurement = measurement_of(fits, 'rad', devices, source, args.date)
    if args.plot:
        draw_fits(fits, data, args.plot, 'bend')
    text = fit_table(fits, data, 'bend') + (_error_table(errors) if errors else '')
    summary = fit_summary(fits, 'rad') | (_error_summary(errors) if errors else {})
    return Calibrated(values, measurement, text, summary)


def _parser() -> CommandLine:
    parser = calibration_parser(
        'finger',
        robot='four_piece_finger',
        description='Record the bends of a finger every 5 kPa over its whole range, up and down, '
        'from the lines painted on it, and fit a cubic to each piece. The calibration '
        'pressure_bend holds the cubics with held-out error, confidence and both branches of '
        "the hysteresis. The virtual rig needs no running nodes; it also reports the tip's error "
        "beside the paper's. For a real rig give --use-running or --records.",
    )
    parser.add_option('--plant-seed', seed_number, 1, 'seed of the virtual finger', metavar='N')
    parser.add_option('--frames', positive_count, FRAMES, 'pictures at each pressure', metavar='N')
    parser.add_flag(
        '--use-running',
        'measure the finger of the running cell (launch/cell.launch.xml), real or virtual, '
        'through its topics. The finger moves over its whole range: take every object away',
    )
    parser.add_argument(
        '--save-records',
        type=output_folder,
        metavar='FOLDER',
        help='save a picture at each pressure, for --records',
    )
    parser.add_argument(
        '--records',
        type=input_file,
        metavar='FILE',
        help='calibrate from the pictures in this CSV without measuring '
        '(pressure_pa,branch,colour,depth; PNG files there, depth 16 bits in mm), in the order '
        'of measurement; for bends use `softarm calibrate curve --quantity bend`',
    )
    parser.add_argument(
        '--camera',
        type=input_file,
        metavar='FILE',
        help='camera of the pictures (default: camera.yaml in their folder)',
    )
    parser.add_argument(
        '--clicks',
        type=output_file(),
        metavar='FILE',
        help='lines clicked in the pictures (colour,line,u1_px,v1_px,u2_px,v2_px; '
        'line: reference or a piece; a reference of picture "all" holds for every picture); '
        'pictures that it does not name are measured automatically',
    )
    parser.add_flag(
        '--click', 'open a window, ask for two clicks on each line, and add them to --clicks'
    )
    parser.add_option(
        '--camera-side',
        sorted(CAMERA_SIDES),
        'minus_y',
        "side of the finger's base frame from which the camera looks",
    )
    parser.add_argument(
        '--date', type=day, help='day of the measurement, YYYY-MM-DD (default: today)'
    )
    parser.add_argument(
        '--plot',
        type=plot_file,
        metavar='PNG',
        help='draw data, cubics, confidence and hysteresis branches',
    )
    return parser


def _check(args: Namespace, rig: Rig) -> None:
    if rig.devices == REAL and not (args.records or args.use_running):
        raise VisionError(
            f'rig {rig.name!r} is real: measure its running cell with '
            '--use-running, or give its records with --records'
        )
    if args.records and (args.use_running or args.save_records):
        raise VisionError('--records measures nothing: leave --use-running and --save-records out')
    if args.click and not args.clicks:
        raise VisionError('--click needs a file to save the clicks in: give it with --clicks')
    if not args.records and (args.clicks or args.camera):
        raise VisionError('--clicks and --camera need recorded pictures: give these with --records')


def _measured(
    args: Namespace, robot: Robot, rig: Rig
) -> tuple[dict[str, CurveFit], Data, dict[int, TipError] | None, Devices]:
    if not args.use_running:
        with virtual_device('finger')(robot, args.plant_seed, args.frames) as virtual:
            data = _record(args, robot, rig, virtual)
            fits = fit_bends(robot, data)
            return fits, data, virtual.tip_errors(fits), VIRTUAL
    from soft_arm_calibration.ros.running_finger import (
        RunningFinger,  # --use-running only: needs ROS
    )

    with RunningFinger(robot, rig.finger_camera, args.frames) as finger:
        if rig.devices == REAL:
            finger.check_devices(rig.name, rig.devices)
        data = _record(args, robot, rig, finger)
        finger.check_devices(rig.name, rig.devices)  # by now every node has been discovered
        return fit_bends(robot, data), data, None, finger.watch.devices


def _record(args: Namespace, robot: Robot, rig: Rig, finger: Finger) -> Data:
    writer = None
    if args.save_records:
        writer = finger_records.PictureWriter(args.save_records, finger.intrinsics, rig.devices)
    progress = partial(tqdm, desc='pressures', unit='record')
    return record(finger, robot, args.camera_side, progress, writer)


def _recorded(args: Namespace, robot: Robot, rig: Rig) -> tuple[Data, Devices]:
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
            f'{args.clicks}: picture {unknown[0]} is not in {args.records}; give the name of a '
            'colour file there'
        )
    intrinsics = finger_records.read_camera(args.camera or args.records.parent / 'camera.yaml')
    data = measure_records(
        tqdm(records, desc='pictures', unit='record'), clicks, intrinsics, robot, args.camera_side
    )
    devices = finger_records.read_devices(args.records.parent / 'camera.yaml')
    return data, devices or rig.devices


def _error_summary(errors: dict[int, TipError]) -> dict[str, Any]:
    return {
        'finger_error_percent': {kpa: max(e.tip_percent) for kpa, e in errors.items()},
        'tip_error_percent': {
            kpa: dict(zip(('up', 'down'), e.tip_percent, strict=True)) for kpa, e in errors.items()
        },
        'bend_error_percent': {
            kpa: dict(zip(('up', 'down'), e.bend_percent, strict=True)) for kpa, e in errors.items()
        },
        'paper_error_percent': PAPER_ERROR_PERCENT,
    }


def _error_table(errors: dict[int, TipError]) -> str:
    lines = [
        '',
        '',
        'error on a later cycle [%]: of the tip, relative to the finger length; of the whole bend, '
        'relative to the true bend',
        f'{"kPa":>6} {"tip, up":>9} {"tip, down":>10} {"paper":>7} {"bend, up":>10} '
        f'{"bend, down":>11}',
    ]
    for kpa, error in errors.items():
        tips, bends = error.tip_percent, error.bend_percent
        lines.append(
            f'{kpa:6d} {tips[0]:9.2f} {tips[1]:10.2f} {PAPER_ERROR_PERCENT[kpa]:7.1f} '
            f'{bends[0]:10.2f} {bends[1]:11.2f}'
        )
    return '\n'.join(lines)
