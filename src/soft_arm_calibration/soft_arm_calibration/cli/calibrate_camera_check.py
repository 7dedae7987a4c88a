"""`softarm calibrate camera-check`: depth scale, focal length and lens by the size of the ring."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from soft_arm_calibration.cli.camera_options import (
    add_recorded_camera,
    add_running_camera,
    add_tip_source,
    recorded_frames,
)
from soft_arm_description.calibrate import Calibrated, calibration_parser, run_calibration
from soft_arm_description.calibration import Measurement
from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import Devices, Rig
from soft_arm_description.robot import Robot
from soft_arm_io.command_line import input_path, number_in
from soft_arm_vision.errors import VisionError

if TYPE_CHECKING:
    from soft_arm_vision.calibration.camera_check import CameraErrors, Explanation, RingView
    from soft_arm_vision.calibration.camera_correction import CameraCorrection
    from soft_arm_vision.frames import Frame

CAUSES = 'depth', 'focal-length', 'lens'


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = calibration_parser(
        'camera-check',
        description='Check the camera by the ring, whose size is known: its width in the image, '
        'its depth and the relief of its wall must agree. Finds a wrong depth scale, focal length '
        'or lens model. Move the arm through its space meanwhile, nearer and farther too.',
        epilog='example: softarm calibrate camera-check recording --rig my_rig --apply',
    )
    parser.add_argument(
        'bag',
        nargs='?',
        type=input_path,
        help='bag with colour, aligned depth and camera info (default: the running camera)',
    )
    add_tip_source(parser, ('yolact', 'colour'))
    parser.add_option(
        '--duration-s', number_in(1.0, 3600.0), 20.0, 'how long the running camera is watched'
    )
    add_running_camera(parser)
    add_recorded_camera(parser)
    parser.add_flag(
        '--apply', 'save the likeliest errors in the rig; its detectors then correct them'
    )
    parser.add_argument(
        '--cause',
        choices=CAUSES,
        action='append',
        help='correct this error only, whatever is likeliest; may be given several times',
    )
    return run_calibration(parser, argv, _check)


def _check(options: Namespace, rig: Rig, robot: Robot) -> Calibrated:
    # Slow to import: after the arguments are checked.
    from soft_arm_vision.calibration.camera_check import camera_errors
    from soft_arm_vision.calibration.camera_correction import NO_CORRECTION
    from soft_arm_vision.calibration.camera_monitor import ring_views
    from soft_arm_vision.ring.detector import RingDetector
    from soft_arm_vision.segmentation.segmenter import make_segmenter, ring_of

    ring, (sensor, caution) = ring_of(robot), sensor_of(rig)
    if caution is not None:
        print(f'softarm calibrate camera-check: {caution}', file=sys.stderr)
    detector = RingDetector(ring, make_segmenter(options.tip_source, ring, options.network), sensor)
    with _frames(options, rig, NO_CORRECTION.with_scale_of(sensor)) as (frames, devices):
        shown = tqdm(frames, file=sys.stderr, desc='ring', unit=' frames')
        views = list(ring_views(shown, detector))
    errors = camera_errors(views, ring, sensor)
    chosen, *others = errors.explanations()
    if options.cause:
        chosen, others = errors.explained_by(tuple(CAUSES.index(c) for c in options.cause)), []
    measurement = None
    if options.apply or options.output:
        if others:
            raise VisionError(
                f'either {chosen}, or {others[0]}: move the ring everywhere, or say which with '
                '--cause'
            )
        measurement = _measurement(devices, views, errors, chosen)
    return Calibrated(
        chosen.correction,
        measurement,
        _text(errors, [chosen, *others]),
        _plain(errors, chosen, others),
        'restart the detectors, then measure the extrinsics again',
    )


@contextmanager
def _frames(
    options: Namespace, rig: Rig, correction: 'CameraCorrection'
) -> Iterator[tuple[Iterator['Frame'], Devices]]:
    """Give the images of a bag or of the running camera, and on which devices they were taken."""
    if options.bag is not None:
        with recorded_frames(options.bag, options, rig, correction) as frames:
            yield frames, rig.devices
        return
    from soft_arm_calibration.ros.camera_session import CameraSession

    with CameraSession(options.camera, camera=rig.camera, correction=correction) as session:
        session.check_devices(rig.name, rig.devices)
        yield session.frames(options.duration_s), rig.devices
        session.check_devices(rig.name, rig.devices)  # by now every node has been discovered


def _measurement(
    devices: Devices, views: list['RingView'], errors: 'CameraErrors', chosen: 'Explanation'
) -> Measurement:
    depth_m = [float(view.centre[2]) for view in views]
    return Measurement(
        devices=devices,
        method=f'size of the ring in {errors.frames} poses',
        residuals={
            f'{name}_share': round(float(sd), 6)
            for name, sd in zip(
                ('depth_scale', 'focal_length', 'radial'),
                np.sqrt(np.diag(errors.covariance)[:3]),
                strict=True,
            )
        }
        | {'contradiction_share': round(chosen.contradiction, 3)},
        limits={'depth_m': (round(min(depth_m), 4), round(max(depth_m), 4))},
    )


def _plain(
    errors: 'CameraErrors', chosen: 'Explanation', others: list['Explanation']
) -> dict[str, Any]:
    return {
        'poses': errors.frames,
        'values': errors.values.tolist(),
        'covariance': errors.covariance.tolist(),
        'unseen': errors.unseen.tolist(),
        'explanation': str(chosen),
        'others': [str(other) for other in others],
        'correction': chosen.correction.model_dump(),
    }


def _text(errors: 'CameraErrors', explanations: list['Explanation']) -> str:
    sd = np.sqrt(np.diag(errors.covariance))
    depth, focal, lens = errors.unseen
    return '\n'.join(
        [f'{errors.frames} poses of the ring']
        + [
            f'{name:13s} true over stated {1 + value:.4f} +- {error:.4f}'
            for name, value, error in zip(
                ('depth scale', 'focal length'), errors.values, sd, strict=False
            )
        ]
        + [
            f'{"lens":13s} radial distortion beyond its model {errors.values[2]:+.4f} +- '
            f'{sd[2]:.4f}',
            '; or '.join(str(e) for e in explanations),
            f'errors that these views may not show: depth below {100 * depth:.1f} %, focal length '
            f'below {100 * focal:.1f} %, lens below {lens:.3f}; `softarm calibrate depth` compares '
            'depth with a board',
        ]
    )
