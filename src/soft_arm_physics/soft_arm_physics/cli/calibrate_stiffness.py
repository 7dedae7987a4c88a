"""`softarm calibrate stiffness`: stiffness of a beam, or torque of a pressure, from two columns."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from soft_arm_description.options import known_robot
from soft_arm_description.robot import Robot, load_robot
from soft_arm_description.segments import TorqueSegment
from soft_arm_description.shipped import file_path
from soft_arm_io.command_line import (
    CommandLine,
    input_file,
    number_in,
    output_file,
    plot_file,
)
from soft_arm_io.yaml_file import read_yaml, write_yaml, yaml_text
from soft_arm_physics.calibration.stiffness import (
    BLOCKED_SHARE,
    Line,
    cantilever_deflection,
    fit_blocked_force,
    fit_cantilever,
    hinge_stiffness_n_m_rad,
    read_pairs,
)
from soft_arm_physics.errors import PhysicsError


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = CommandLine(
        prog='softarm calibrate stiffness',
        description='Fit the bending stiffness E I to deflections of a clamped finger under loads '
        'at its tip, or the actuation torque for each pascal (or each commanded newton metre) to '
        'the force of a blocked finger. Print the keys for the robot file with their 95 % '
        'intervals, or write a copy of the robot file with them.',
        epilog='example: softarm calibrate stiffness --data loads.csv --length-m 0.1 '
        '--robot finger.yaml --segment act0 --hinge ax0 --output measured.yaml',
    )
    parser.add_argument(
        '--data',
        required=True,
        type=input_file,
        help='CSV with the columns load_n,deflection_m; of a blocked finger pressure_pa,force_n or '
        'torque_n_m,force_n',
    )
    parser.add_option(
        '--quantity',
        ['bending', 'torque'],
        'bending',
        'bending: a loaded finger; torque: a blocked finger',
    )
    parser.add_argument(
        '--length-m',
        required=True,
        type=number_in(1e-4, 10.0),
        help='from the clamp to the load or the force sensor [m]',
    )
    parser.add_option(
        '--drive', ['pressure_pa', 'torque_n_m'], 'pressure_pa', 'what drove the blocked finger'
    )
    parser.add_option(
        '--held',
        sorted(BLOCKED_SHARE),
        'straight',
        'the blocked finger was held straight over its length, M = F L, or at its tip alone, M = '
        '2/3 F L',
    )
    parser.add_argument(
        '--robot',
        type=known_robot,
        help='robot file, of which --output is a copy with the new values',
    )
    parser.add_argument('--segment', help='its segment (default: the first)')
    parser.add_argument('--hinge', help='of a torque segment, the hinges (default: all)')
    parser.add_argument('--output', type=output_file('.yaml'), help='write the copy here')
    parser.add_argument('--plot', type=plot_file, metavar='PNG', help='draw data and fit')
    parser.add_json()
    return parser.answer(argv, _calibrate)


def _calibrate(options: argparse.Namespace) -> int:
    if options.output and not options.robot:
        raise PhysicsError('--output is a copy of a robot file: give --robot too')
    bending = options.quantity == 'bending'
    columns = ('load_n', 'deflection_m') if bending else (options.drive, 'force_n')
    x, y = read_pairs(options.data, *columns)
    if bending:
        fit = fit_cantilever(x, y, options.length_m)
    else:
        fit = fit_blocked_force(x, y, options.length_m, options.held)
    unit = 'n_m2' if bending else 'n_m_pa' if options.drive == 'pressure_pa' else 'n_m_n_m'
    name = f'bending_{unit}' if bending else f'torque_{unit}'
    keys: dict[str, Any] = {'stiffness': {name: _round(fit.value)}} if bending else {}
    if options.robot:
        content, robot = read_yaml(file_path('robot', options.robot)), load_robot(options.robot)
        index = _segment_index(robot, options.segment)
        change = _bending_keys if bending else _torque_keys
        keys = change(robot.segments[index], options.hinge, fit.value, x)
        if options.output:
            content['segments'][index] |= keys
            Robot.model_validate(content)
            write_yaml(options.output, content, 'Copy made by `softarm calibrate stiffness`.')
    if options.plot:
        _draw(options, x, y, fit)
    summary = {
        name: fit.value,
        'standard_error': fit.standard_error,
        'confidence_95': fit.confidence_95,
        'offset': fit.offset,
        'offset_confidence_95': fit.offset_confidence_95,
        'residual_rms': fit.rms,
        'points': len(x),
        'keys': keys,
        'path': str(options.output) if options.output else None,
    }
    print(json.dumps(summary) if options.json else _text(name, bending, summary))
    return 0


def _text(name: str, bending: bool, summary: dict) -> str:
    unit = 'm' if bending else 'N m'
    lines = [
        f'# {name}: {summary[name]:.5g} +- {summary["confidence_95"]:.2g} (95 %, '
        f'{summary["points"]} points)',
        f'# at zero {summary["offset"]:.3g} +- {summary["offset_confidence_95"]:.2g} {unit}, '
        f'residuals {summary["residual_rms"]:.2g} {unit} rms',
    ]
    if summary['path']:
        lines.append(f'# written to {summary["path"]}')
    elif summary['keys']:
        lines.append(yaml_text(summary['keys']).rstrip())
    return '\n'.join(lines)


def _segment_index(robot: Robot, name: str | None) -> int:
    if name is not None and name not in robot.segment_names:
        raise PhysicsError(
            f'robot {robot.name} has no segment {name!r}: give one of '
            f'{", ".join(robot.segment_names)}'
        )
    return 0 if name is None else robot.segment_names.index(name)


def _bending_keys(segment: Any, hinge: str | None, bending_n_m2: float, _: np.ndarray) -> dict:
    """Keys of a segment for a bending stiffness."""
    if not isinstance(segment, TorqueSegment):
        if 'stiffness' not in type(segment).model_fields:
            raise PhysicsError(
                f'segment {segment.name} of kind {segment.kind} has no bending stiffness of its '
                'own: it follows from its curve'
            )
        present = segment.stiffness.model_dump(exclude_none=True)
        return {'stiffness': present | {'bending_n_m2': _round(bending_n_m2)}}
    return _with_hinges(
        segment,
        hinge,
        lambda h: (
            {'stiffness_n_m_rad': _round(hinge_stiffness_n_m_rad(segment, h.name, bending_n_m2))}
            if h.stiffness_n_m_rad is not None
            else {}
        ),
    )


def _torque_keys(segment: Any, hinge: str | None, per_drive: float, drive: np.ndarray) -> dict:
    """Torque limits of hinges: the range of the measured drive."""
    if not isinstance(segment, TorqueSegment):
        raise PhysicsError(
            f'segment {segment.name} is of kind {segment.kind}: only hinges of kind torque have '
            'torque limits'
        )
    ends = per_drive * np.array([min(drive.min(), 0.0), max(drive.max(), 0.0)])
    limits = [_round(value) for value in sorted(ends)]
    return _with_hinges(
        segment, hinge, lambda h: {'torque_limits_n_m': limits} if h.actuated else {}
    )


def _with_hinges(segment: TorqueSegment, name: str | None, change: Any) -> dict:
    if name is not None and name not in {h.name for h in segment.hinges}:
        raise PhysicsError(
            f'segment {segment.name} has no hinge {name!r}: give one of '
            f'{", ".join(dict.fromkeys(h.name for h in segment.hinges))}'
        )
    return {
        'hinges': [
            h.model_dump(mode='json', exclude_unset=True)
            | (change(h) if name in (None, h.name) else {})
            for h in segment.hinges
        ]
    }


def _round(value: float) -> float:
    return float(f'{value:.6g}')


def _draw(options: argparse.Namespace, x: np.ndarray, y: np.ndarray, fit: Line) -> None:
    # a plot is rarely wanted, and this import is slow
    from matplotlib.figure import Figure

    at = np.linspace(x.min(), x.max(), 200)
    if options.quantity == 'bending':
        labels, factor = ('load [N]', 'deflection [mm]'), 1e3
        curve = cantilever_deflection(at, options.length_m, fit.value)
    else:
        labels, factor = (options.drive, 'torque [N m]'), 1.0
        y = y * options.length_m * BLOCKED_SHARE[options.held]
        curve = at * fit.value
    middle = (curve + fit.offset) * factor
    width = np.abs(curve * fit.confidence_95 / fit.value) * factor  # to first order
    figure = Figure(figsize=(6.0, 4.0), layout='constrained')
    axes = figure.add_subplot()
    axes.plot(x, y * factor, 'k.', label='measured')
    axes.plot(at, middle, 'C0', label='fit')
    axes.fill_between(at, middle - width, middle + width, color='C0', alpha=0.2, label='95 %')
    axes.set(xlabel=labels[0], ylabel=labels[1], title=Path(options.data).name)
    axes.legend()
    figure.savefig(options.plot)
