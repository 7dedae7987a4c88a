"""`softarm calibrate ring-noise`: errors of the measured tip, for rigs without images."""

import sys
from argparse import Namespace

from tqdm import tqdm

from soft_arm_calibration.cli.camera_options import add_tip_source
from soft_arm_description.calibrate import Calibrated, calibration_parser, run_calibration
from soft_arm_description.rig import VIRTUAL, Rig, RigError
from soft_arm_description.robot import Robot
from soft_arm_kinematics.arm import load_bellows_arm


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = calibration_parser(
        'ring-noise',
        description='Measure the errors of the tip that rendered camera and tracker find, with the '
        'extrinsics of a virtual rig. `softarm experiment --in-process --pose-noise` uses this '
        'calibration instead of rendering.',
        epilog='example: softarm calibrate ring-noise --rig my_rig',
    )
    add_tip_source(parser)
    return run_calibration(parser, argv, _measure)


def _measure(options: Namespace, rig: Rig, robot: Robot) -> Calibrated:
    from soft_arm_experiments.arm.ring_noise_measurement import POSES, measure  # slow to import

    if rig.devices != VIRTUAL:
        raise RigError(f'rig {rig.name!r} is real: its true tip is unknown; give a virtual rig')
    arm = load_bellows_arm(options.robot, options.rig)
    with tqdm(total=POSES, file=sys.stderr, desc='measuring', unit='pose') as progress:
        noise, measurement = measure(
            arm,
            rig,
            options.tip_source,
            progress.update,
            network=options.network,
        )
    lines = [f'{name:12s} {1e3 * value:6.3f} mm' for name, value in measurement.residuals.items()]
    lines.append(f'correlation  {noise.correlation:6.3f}')
    summary = {'values': noise.model_dump(mode='json'), 'residuals': measurement.residuals}
    return Calibrated(noise, measurement, '\n'.join(lines), summary)
