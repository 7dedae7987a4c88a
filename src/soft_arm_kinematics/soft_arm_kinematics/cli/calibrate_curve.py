"""`softarm calibrate curve`: fit the pressure-to-length curves of a rig from measured points."""

import argparse
import json
import sys
from pathlib import Path

from soft_arm_description.calibration import CalibrationError, calibration_path
from soft_arm_description.robot import RobotFileError, load_robot
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.pressure_length import fit_curve, read_points


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog='softarm calibrate curve',
        description='Fit the pressure-to-length curve of every chamber and save it as calibration/<rig>/pressure_length.yaml.',
    )
    parser.add_argument('--data', required=True, type=Path, help='CSV with the columns chamber,pressure_pa,length_m (gauge pressure)')
    parser.add_argument('--robot', default='two_module_arm', help='name or path of the robot file (default: %(default)s)')
    parser.add_argument('--rig', default='virtual', help='rig the data came from (default: %(default)s)')
    parser.add_argument('--date', help='day of the measurement, YYYY-MM-DD (default: today)')
    parser.add_argument('--out', type=Path, help='write here instead')
    parser.add_argument('--json', action='store_true', help='print the result as JSON')
    args = parser.parse_args(argv)
    try:
        path = args.out or calibration_path(args.rig, 'pressure_length')
        curve = fit_curve(load_robot(args.robot), read_points(args.data), args.data.name, args.date)
        curve.save(path)
    except (KinematicsError, RobotFileError, CalibrationError) as error:
        print(f'softarm calibrate curve: {error}', file=sys.stderr)
        return 2
    except OSError as error:
        print(f'softarm calibrate curve: {path}: {error.strerror}; give a folder that can be written with --out', file=sys.stderr)
        return 2
    if args.json:
        print(
            json.dumps(
                {
                    'path': str(path),
                    'residual_rms_m': dict(zip(curve.chambers, curve.residual_rms_m.tolist(), strict=True)),
                    'residual_max_m': dict(zip(curve.chambers, curve.residual_max_m.tolist(), strict=True)),
                }
            )
        )
        return 0
    print(f'{"chamber":10} {"range [kPa]":>18} {"length [mm]":>18} {"rms [mm]":>9} {"worst [mm]":>10}')
    for i, name in enumerate(curve.chambers):
        low_kpa, high_kpa = curve.pressure_range_pa[:, i] / 1e3
        short_mm, long_mm = curve.length_range_m[:, i] * 1e3
        print(
            f'{name:10} {low_kpa:8.1f} ..{high_kpa:8.1f} {short_mm:8.2f} ..{long_mm:8.2f} {curve.residual_rms_m[i] * 1e3:9.3f} '
            f'{curve.residual_max_m[i] * 1e3:10.3f}'
        )
    print(f'saved to {path}')
    return 0
