"""`softarm calibrate modal`: fit the modal model of a bending bellows to annotated pictures."""

import argparse
import json

from soft_arm_io.command_line import (
    CommandLine,
    input_file,
    number_in,
    output_file,
    whole_number_in,
)
from soft_arm_io.yaml_file import yaml_text
from soft_arm_kinematics.calibration.modal_fit import fit_modal, read_shapes


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = CommandLine(
        prog='softarm calibrate modal',
        description='Fit theta(s, q) = psi(s)^T A eta(q) to points along the '
        'backbone at several pressures and print the keys of a `modal` segment for the robot file.',
    )
    parser.add_argument(
        '--data',
        required=True,
        type=input_file,
        help='CSV with the columns pressure_pa,x_m,z_m, base to tip (z along the straight bellows)',
    )
    parser.add_argument(
        '--orders',
        type=whole_number_in(1, 30),
        nargs=2,
        metavar=('V', 'W'),
        help='powers of arc length and pressure, the zeroth counted '
        '(default: the smallest that predict pressures left out of the fit)',
    )
    parser.add_argument(
        '--length-m',
        type=number_in(1e-4, 100.0),
        help='length of the backbone [m] (default: from the points)',
    )
    parser.add_argument(
        '--output', type=output_file(), help='write the keys here instead of printing them'
    )
    parser.add_json()
    return parser.answer(argv, _fit)


def _fit(args: argparse.Namespace) -> int:
    orders = tuple(args.orders) if args.orders else None
    fit = fit_modal(read_shapes(args.data), orders, args.length_m)
    model = fit.model
    segment = {
        'length_m': model.length_m,
        'length_unit_m': model.length_unit_m,
        'pressure_unit_pa': model.pressure_unit_pa,
        'pressure_limits_pa': [float(p) for p in model.pressure_limits_pa],
        'coefficients_rad': model.coefficients_rad.tolist(),
    }
    keys = yaml_text(segment)
    if args.output:
        args.output.write_text(keys)
    if args.json:
        print(
            json.dumps(
                {
                    'segment': segment,
                    'orders': fit.orders,
                    'rms_m': fit.rms_m,
                    'held_out_rms_m': fit.held_out_rms_m,
                    'worst_m': fit.worst_m.tolist(),
                    'pressures_pa': fit.pressures_pa.tolist(),
                    'condition': fit.condition,
                }
            )
        )
        return 0
    for pressure_pa, worst_m in zip(fit.pressures_pa, fit.worst_m, strict=True):
        print(f'# {pressure_pa / 1e3:8.2f} kPa: worst point {worst_m * 1e3:.3f} mm')
    print(
        f'# orders {fit.orders[0]} x {fit.orders[1]}, rms {fit.rms_m * 1e3:.3f} mm, at pressures '
        'left out '
        f'{fit.held_out_rms_m * 1e3:.3f} mm, condition {fit.condition:.3g}'
    )
    print(f'# written to {args.output}' if args.output else keys, end='\n' if args.output else '')
    return 0
