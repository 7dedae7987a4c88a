"""`softarm calibrate curve`: fit the pressure curves of a rig to measured points."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from soft_arm_description.calibrate import Calibrated, calibration_parser, run_calibration
from soft_arm_description.rig import Rig
from soft_arm_description.robot import Robot
from soft_arm_io.command_line import day, input_file, plot_file
from soft_arm_kinematics.calibration.curve_families import FAMILIES
from soft_arm_kinematics.calibration.curve_fit import CurveFit
from soft_arm_kinematics.calibration.pressure_bend import PressureBend, fit_bends
from soft_arm_kinematics.calibration.pressure_length import (
    PressureLength,
    fit_curve,
    measurement_of,
    read_points,
)

Data = dict[str, tuple[np.ndarray, ...]]
# Unit of the data, unit shown, and factor between them.
QUANTITIES = {'length': ('m', 'mm', 1e3), 'bend': ('rad', 'deg', np.degrees(1.0))}


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = calibration_parser(
        'curve',
        description='Fit the pressure-to-length curve of every chamber (or '
        "the pressure-to-bend curve of every single_bend segment) and save it as the rig's "
        'calibration '
        'pressure_length (pressure_bend), with residuals, held-out error of each family, '
        'confidence and hysteresis.',
    )
    parser.add_argument(
        '--data',
        required=True,
        type=input_file,
        help='CSV with the columns chamber,pressure_pa,length_m (or segment,'
        'pressure_pa,theta_rad; gauge pressure) in the order of measurement; a column branch (up, '
        'down) may say which way '
        'each was taken',
    )
    parser.add_option('--quantity', QUANTITIES, 'length', 'what was measured')
    parser.add_option(
        '--family',
        ['auto', *FAMILIES],
        'auto',
        'form of the curve; auto: the one that predicts pressures left out of the fit best',
    )
    parser.add_argument(
        '--date', type=day, help='day of the measurement, YYYY-MM-DD (default: today)'
    )
    parser.add_argument(
        '--plot',
        type=plot_file,
        metavar='PNG',
        help='also draw data, curves, confidence and branches',
    )
    return run_calibration(parser, argv, _calibrate)


def _calibrate(args: argparse.Namespace, rig: Rig, robot: Robot) -> Calibrated:
    if args.quantity == 'length':
        data = read_points(args.data)
        fits = fit_curve(robot, data, args.family).fits
        values: PressureLength | PressureBend = PressureLength(chambers=fits)
    else:
        data = read_points(args.data, 'segment', 'theta_rad')
        fits = fit_bends(robot, data, args.family)
        values = PressureBend(segments=fits)
    measurement = measurement_of(fits, values.unit, rig.devices, args.data.name, args.date)
    if args.plot:
        draw_fits(fits, data, args.plot, args.quantity)
    text = fit_table(fits, data, args.quantity)
    return Calibrated(values, measurement, text, fit_summary(fits, values.unit))


def fit_summary(fits: dict[str, CurveFit], unit: str) -> dict[str, Any]:
    """Return the families and errors of the fits, for JSON; unit is m or rad."""

    def each(value: Callable[[CurveFit], Any]) -> dict[str, Any]:
        return {name: value(fit) for name, fit in fits.items()}

    return {
        'family': each(lambda fit: fit.family),
        f'residual_rms_{unit}': each(lambda fit: fit.residual_rms),
        f'residual_max_{unit}': each(lambda fit: fit.residual_max),
        f'held_out_rms_{unit}': each(lambda fit: fit.held_out_rms or None),
        f'confidence_95_max_{unit}': each(_widest),
        f'hysteresis_max_{unit}': each(lambda fit: fit.hysteresis_max),
    }


def fit_table(fits: dict[str, CurveFit], data: Data, quantity: str) -> str:
    """Return the families and errors of the fits as a table; quantity is a name in QUANTITIES."""
    _, shown, factor = QUANTITIES[quantity]
    lines = [
        f'{"":10} {"family":>16} {"range [kPa]":>18} {f"{quantity} [{shown}]":>18} {"rms":>9} '
        f'{"worst":>9} {"held out":>9} '
        f'{"95 % +-":>9} {f"hysteresis [{shown}]":>16}'
    ]
    for name, fit in fits.items():
        ends_pa = data[name][0].min(), data[name][0].max()
        first, last = (float(fit.curve.values(p)) * factor for p in ends_pa)
        numbers = (
            fit.residual_rms,
            fit.residual_max,
            fit.held_out_rms.get(fit.family),
            _widest(fit),
            fit.hysteresis_max,
        )
        texts = ['-' if number is None else f'{number * factor:.3f}' for number in numbers]
        lines.append(
            f'{name:10} {fit.family:>16} {ends_pa[0] / 1e3:8.1f} ..{ends_pa[1] / 1e3:8.1f} '
            f'{first:8.2f} ..{last:8.2f} '
            + ' '.join(f'{text:>9}' for text in texts[:-1])
            + f' {texts[-1]:>16}'
        )
    return '\n'.join(lines)


def _widest(fit: CurveFit) -> float | None:
    return max(fit.confidence_95, default=None)


def draw_fits(fits: dict[str, CurveFit], data: Data, path: Path, quantity: str) -> None:
    """Write a plot (PNG): data, curve, confidence and both branches of every actuator."""
    # a plot is rarely wanted, and this import is slow
    from matplotlib.figure import Figure

    _, shown, factor = QUANTITIES[quantity]
    columns = min(3, len(fits))
    rows = -(-len(fits) // columns)
    figure = Figure(figsize=(4.5 * columns, 3.4 * rows), layout='constrained')
    for i, (name, fit) in enumerate(fits.items()):
        axes = figure.add_subplot(rows, columns, i + 1)
        pressures_pa, measured = data[name][:2]
        at = np.linspace(pressures_pa.min(), pressures_pa.max(), 200)
        curve = fit.curve.values(at)
        axes.plot(at / 1e3, curve * factor, 'k', label=fit.family)
        if fit.confidence_95:
            half_width = np.interp(at, fit.confidence_pressures_pa, fit.confidence_95)
            axes.fill_between(
                at / 1e3,
                (curve - half_width) * factor,
                (curve + half_width) * factor,
                color='k',
                alpha=0.2,
                label='95 %',
            )
        if fit.up and fit.down:
            axes.plot(at / 1e3, fit.up.values(at) * factor, 'C0', label='up')
            axes.plot(at / 1e3, fit.down.values(at) * factor, 'C1', label='down')
        axes.plot(pressures_pa / 1e3, measured * factor, 'k.')
        axes.set(
            title=f'{name}: rms {fit.residual_rms * factor:.2f} {shown}',
            xlabel='gauge pressure [kPa]',
            ylabel=f'{quantity} [{shown}]',
        )
        axes.legend()
    figure.savefig(path)
