"""`softarm calibrate ring-noise`: errors of the measured ring, for rigs without pictures."""

import json
import sys
from argparse import Namespace
from pathlib import Path

from tqdm import tqdm

from soft_arm_description.calibration import save_calibration, saved
from soft_arm_description.command_line import CommandLine
from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import VIRTUAL, RigError, load_rig
from soft_arm_experiments.cli.calibrate_virtual import ERRORS
from soft_arm_kinematics.arm import load_bellows_arm


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm calibrate ring-noise',
        description='Measure how far the ring that rendered camera and detector find is from the '
        'true tip, with the extrinsics of a virtual rig. `softarm experiment --in-process '
        '--pose-noise` draws its errors from this instead of rendering. Nothing needs to run.',
        epilog='example: softarm calibrate ring-noise --rig my_rig',
    )
    parser.add_robot()
    parser.add_rig()
    parser.add_argument(
        '--tip-source',
        choices=('yolact', 'colour', 'fiducial'),
        default='yolact',
        help='what measures the tip (default: %(default)s)',
    )
    parser.add_network()
    parser.add_argument('--out', type=Path, metavar='FILE', help="another file than the rig's own")
    parser.add_json()
    return parser.answer(argv, _run, *ERRORS)


def _run(options: Namespace) -> int:
    from soft_arm_experiments.arm.ring_noise_measurement import POSES, measure  # slow to import
    from soft_arm_vision.calibration import extrinsics

    rig = load_rig(options.rig)
    if rig.devices != VIRTUAL:
        raise RigError(f'rig {rig.name!r} is real: its true tip is not known; give a virtual rig')
    arm = load_bellows_arm(options.robot, options.rig)
    mounting = extrinsics.load(rig, arm.robot)
    with tqdm(total=POSES, file=sys.stderr, desc='measuring', unit='pose') as progress:
        noise, measurement = measure(
            arm,
            mounting,
            sensor_of(rig)[0],
            options.tip_source,
            progress.update,
            network=options.network,
        )
    path = save_calibration(rig, noise, arm.robot, measurement, options.out)
    if options.json:
        values = {'values': noise.model_dump(mode='json'), 'residuals': measurement.residuals}
        print(json.dumps(values | {'file': path and str(path)}))
        return 0
    for name, value_m in measurement.residuals.items():
        print(f'{name:12s} {1e3 * value_m:6.3f} mm')
    print(f'correlation  {noise.correlation:6.3f}')
    print(saved(path, rig))
    return 0
