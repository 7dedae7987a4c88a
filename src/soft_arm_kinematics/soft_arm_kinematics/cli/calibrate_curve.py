"""`softarm calibrate curve`: fit the pressure-to-length curves of a rig from measured points."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from soft_arm_description.calibration import CalibrationError, calibration_path
from soft_arm_description.robot import RobotFileError, load_robot
from soft_arm_kinematics.curve_families import FAMILIES
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.pressure_length import PressureLengthCurve, fit_curve, read_points


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(prog='softarm calibrate curve', description='Fit the pressure-to-length curve of every chamber and '
                                     'save it as calibration/<rig>/pressure_length.yaml, with residuals, held-out error of each family, '
                                     'confidence and hysteresis.')
    parser.add_argument('--data', required=True, type=Path, help='CSV with the columns chamber,pressure_pa,length_m (gauge pressure) in '
                        'the order of measurement; a column branch (up, down) may say which way each was taken')
    parser.add_argument('--robot', default='two_module_arm', help='name or path of the robot file (default: %(default)s)')
    parser.add_argument('--rig', default='virtual', help='rig the data came from (default: %(default)s)')
    parser.add_argument('--family', default='auto', choices=['auto', *FAMILIES],
                        help='form of the curve; auto: the one that predicts pressures left out of the fit best (default: %(default)s)')
    parser.add_argument('--date', help='day of the measurement, YYYY-MM-DD (default: today)')
    parser.add_argument('--out', type=Path, help='write here instead')
    parser.add_argument('--plot', type=Path, metavar='PNG', help='also draw data, curves, confidence and branches')
    parser.add_argument('--json', action='store_true', help='print the result as JSON')
    args = parser.parse_args(argv)
    try:
        path = args.out or calibration_path(args.rig, 'pressure_length')
        data = read_points(args.data)
        curve = fit_curve(load_robot(args.robot), data, args.data.name, args.date, args.family)
        curve.save(path)
        if args.plot:
            _plot(curve, data, args.plot)
    except (KinematicsError, RobotFileError, CalibrationError) as error:
        print(f'softarm calibrate curve: {error}', file=sys.stderr)
        return 2
    except OSError as error:
        print(f'softarm calibrate curve: {error.filename}: {error.strerror}; give a folder that can be written with --out or --plot',
              file=sys.stderr)
        return 2
    print(json.dumps(_summary(curve, path)) if args.json else _table(curve, path))
    return 0


def _summary(curve: PressureLengthCurve, path: Path) -> dict:
    per_chamber = {
        'family': [fit.family for fit in curve.fits], 'residual_rms_m': curve.residual_rms_m.tolist(),
        'residual_max_m': curve.residual_max_m.tolist(), 'held_out_rms_m': [fit.held_out_rms or None for fit in curve.fits],
        'confidence_95_max_m': [float(fit.confidence_95.max()) if fit.confidence_95.size else None for fit in curve.fits],
        'hysteresis_max_m': [fit.hysteresis_max for fit in curve.fits]}
    return {'path': str(path)} | {key: dict(zip(curve.chambers, values, strict=True)) for key, values in per_chamber.items()}


def _table(curve: PressureLengthCurve, path: Path) -> str:
    lines = [f'{"chamber":10} {"family":>16} {"range [kPa]":>18} {"length [mm]":>18} {"rms [mm]":>9} {"worst [mm]":>10} {"held out":>9} '
             f'{"95 % +-":>8} {"hysteresis [mm]":>15}']
    for i, (name, fit) in enumerate(zip(curve.chambers, curve.fits, strict=True)):
        low_kpa, high_kpa = curve.pressure_range_pa[:, i] / 1e3
        short_mm, long_mm = curve.length_range_m[:, i] * 1e3
        widest_m = fit.confidence_95.max() if fit.confidence_95.size else None
        lines.append(f'{name:10} {fit.family:>16} {low_kpa:8.1f} ..{high_kpa:8.1f} {short_mm:8.2f} ..{long_mm:8.2f} '
                     f'{fit.residual_rms * 1e3:9.3f} {fit.residual_max * 1e3:10.3f} {_mm(fit.held_out_rms.get(fit.family)):>9} '
                     f'{_mm(widest_m):>8} {_mm(fit.hysteresis_max):>15}')
    return '\n'.join([*lines, f'saved to {path}'])


def _mm(value_m: float | None) -> str:
    return '-' if value_m is None else f'{value_m * 1e3:.3f}'


def _plot(curve: PressureLengthCurve, data: dict, path: Path) -> None:
    # a plot is rarely wanted, and this import is slow
    from matplotlib.figure import Figure

    columns = min(3, len(curve.chambers))
    figure = Figure(figsize=(4.5 * columns, 3.4 * -(-len(curve.chambers) // columns)), layout='constrained')
    for i, (name, fit) in enumerate(zip(curve.chambers, curve.fits, strict=True)):
        axes = figure.add_subplot(-(-len(curve.chambers) // columns), columns, i + 1)
        at = np.linspace(*curve.pressure_range_pa[:, i], 200)
        axes.plot(at / 1e3, fit.curve.values(at) * 1e3, 'k', label=fit.family)
        if fit.confidence_95.size:
            half_width_m = np.interp(at, fit.confidence_pressures_pa, fit.confidence_95)
            axes.fill_between(at / 1e3, (fit.curve.values(at) - half_width_m) * 1e3, (fit.curve.values(at) + half_width_m) * 1e3,
                              color='k', alpha=0.2, label='95 %')
        if fit.hysteresis_max is not None:
            axes.plot(at / 1e3, fit.up.values(at) * 1e3, 'C0', label='up')
            axes.plot(at / 1e3, fit.down.values(at) * 1e3, 'C1', label='down')
        axes.plot(data[name][0] / 1e3, data[name][1] * 1e3, 'k.')
        axes.set(title=f'{name}: rms {fit.residual_rms * 1e3:.2f} mm', xlabel='gauge pressure [kPa]', ylabel='length [mm]')
        axes.legend()
    figure.savefig(path)
