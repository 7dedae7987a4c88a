"""`softarm calibrate depth`: noise, steps, offset, edges and pixels of a depth camera."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from soft_arm_calibration.cli.camera_options import add_recorded_camera, recorded_frames
from soft_arm_calibration.virtual import virtual_device
from soft_arm_description.calibrate import Calibrated, calibration_parser, run_calibration
from soft_arm_description.calibration import Measurement
from soft_arm_description.depth_sensor import D435I
from soft_arm_description.rig import VIRTUAL, Rig, RigError
from soft_arm_description.robot import Robot
from soft_arm_io.command_line import input_path, number_in, positive_count

if TYPE_CHECKING:
    from soft_arm_vision.intrinsics import Intrinsics

A4_M = 0.297, 0.210
VIEWS = 40
BOARD_SD_M = 0.2e-3  # of a size that is measured with a ruler
EVERY = 10  # frames of a bag, of which one is used
NOTED_SCALE = 0.005
Pictures = tuple[np.ndarray, np.ndarray, 'Intrinsics']


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = calibration_parser(
        'depth',
        robot=None,
        description='Measure noise, steps, offset and edges of a depth camera, and what light the '
        'pixels of its colour image stand for, on a flat board of known size, such as a '
        'white sheet of A4 on a dark ground far behind it. Record it with '
        '`softarm bag record --images -o FOLDER` while you move it slowly from near to at least '
        '1.5 times as far, tilted up to 30 deg, whole in the picture. A virtual rig needs no bag.',
        epilog='example: softarm calibrate depth board_bag --rig my_rig --board-m 0.297 0.210',
    )
    parser.add_argument(
        'bag', nargs='?', type=input_path, help='bag with colour, aligned depth and camera info'
    )
    add_recorded_camera(parser)
    parser.add_argument(
        '--board-m',
        nargs=2,
        type=number_in(0.05, 2.0),
        default=A4_M,
        metavar=('LONG', 'SHORT'),
        help='size of the board (default: a sheet of A4)',
    )
    parser.add_option(
        '--range-m',
        number_in(0.01, 100.0),
        D435I.range_m,
        'depths that the camera can report',
        nargs=2,
        metavar=('NEAREST', 'FARTHEST'),
    )
    parser.add_option(
        '--every', positive_count, EVERY, 'take every N-th frame of the bag', metavar='N'
    )
    parser.add_option(
        '--camera',
        ('virtual', 'stereo'),
        'virtual',
        'camera of a virtual rig, which renders the board',
    )
    return run_calibration(parser, argv, _measure)


def _measure(options: Namespace, rig: Rig, robot: Robot) -> Calibrated:
    # Slow to import: after the arguments are checked.
    from soft_arm_vision.calibration.camera_correction import NO_CORRECTION, saved_correction
    from soft_arm_vision.calibration.depth_board import fit_sensor, view_board
    from soft_arm_vision.clouds.cloud import check_images

    if options.bag is None and rig.devices != VIRTUAL:
        raise RigError(
            f'rig {rig.name!r} is real: record the board with `softarm bag record --images -o '
            'FOLDER` and give the bag'
        )
    size_m = max(options.board_m), min(options.board_m)
    views, focal_px, correction = [], 0.0, saved_correction(rig)
    with ExitStack() as stack:
        frames: Iterator[Pictures]
        if options.bag is None:
            frames, board_sd_m = virtual_device('board')(options.camera, VIEWS), 0.0
        else:
            read = stack.enter_context(recorded_frames(options.bag, options, rig, NO_CORRECTION))
            every = islice(read, 0, None, options.every)
            frames, board_sd_m = ((f.rgb, f.depth_m, f.intrinsics) for f in every), BOARD_SD_M
        for colour, depth, stated in tqdm(frames, file=sys.stderr, desc='board', unit=' frames'):
            check_images(colour, depth, stated)
            true = correction.intrinsics(stated)
            view = view_board(colour, correction.depth_m(depth), true, size_m)
            if view is not None:
                views.append(view)
                focal_px = true.fx
    near_m, far_m = sorted(options.range_m)
    sensor, left = fit_sensor(views, focal_px, (near_m, far_m), size_m, board_sd_m)
    scale = 1 / sensor.depth_scale - 1
    measurement = Measurement(
        devices=rig.devices,
        method=f'board of {size_m[0]:g} x {size_m[1]:g} m in {len(views)} frames, its plane by '
        'the colour image',
        residuals={'offset_share': _rounded(left), 'scale_share': _rounded(abs(scale))},
        limits={
            'depth_m': (
                _rounded(min(view.depth_m for view in views)),
                _rounded(max(view.depth_m for view in views)),
            )
        },
    )
    values = sensor.model_dump(mode='json')
    amount = f'{100 * abs(scale):.2f} % too {"long" if scale > 0 else "short"}'
    lines = [f'{name:27s} {value}' for name, value in values.items()]
    lines.append(f'depth is {amount}; all users of the camera correct it by depth_scale')
    if abs(scale) > NOTED_SCALE:
        lines.append('check the size of the board and the scale of the depth')
    summary = {'values': values, 'scale': scale, 'views': len(views)}
    next_step = 'restart the detectors, then measure the extrinsics again'
    return Calibrated(sensor, measurement, '\n'.join(lines), summary, next_step)


def _rounded(value: float) -> float:
    return float(f'{value:.4g}')
