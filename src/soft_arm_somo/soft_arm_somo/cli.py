"""`softarm import somo`: make a robot file, or an assembly, of a definition of SoMo."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from soft_arm_description.robot import Robot
from soft_arm_description.segments import TorqueSegment
from soft_arm_io.command_line import CommandLine, input_file, number_in, output_file
from soft_arm_io.yaml_file import write_yaml
from soft_arm_somo.assemblies import assembly_contents, not_carried_over_of_assembly
from soft_arm_somo.conversion import Scale, not_carried_over, robot_content
from soft_arm_somo.definition import Manipulator, SomoError, read_definition

_SUSPICIOUS_LENGTH_M = 1.0


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = CommandLine(
        prog='softarm import somo',
        description='Make a robot file of a manipulator that SoMo defines, in the units of the '
        'lab, and say line by line what of it has no place in a robot file. Of several '
        'manipulators on a body (the arguments of create_cmassembly_urdf as a file), make an '
        'assembly file with its robot files in its folder.',
        epilog='example: softarm import somo finger_def.yaml --world-scale 20 -o finger.yaml',
    )
    parser.add_argument(
        'definition',
        type=input_file,
        help='YAML or JSON; files that it names are relative to its folder',
    )
    parser.add_argument(
        '-o',
        '--output',
        required=True,
        type=output_file('.yaml'),
        help='robot file, or assembly file, to write',
    )
    for name, what in (('world', 'lengths'), ('mass', 'masses')):
        parser.add_argument(
            f'--{name}-scale',
            type=number_in(1e-6, 1e6),
            default=1.0,
            metavar='TIMES',
            help=f'how much larger than in the lab {what} are in the definition '
            '(default: %(default)s)',
        )
    parser.add_json()
    return parser.answer(argv, _import)


def _import(options: argparse.Namespace) -> int:
    definition = read_definition(options.definition)
    scale = Scale(options.world_scale, options.mass_scale)
    source = (
        f'{options.definition.name} of SoMo, with world scale {scale.world:g} and mass scale '
        f'{scale.mass:g} undone.'
    )
    if isinstance(definition, Manipulator):
        files = {options.output: robot_content(definition, scale, source)}
        contents, lost = list(files.values()), not_carried_over(definition)
    else:
        assembly, robots = assembly_contents(definition, scale, source)
        parts = {options.output.with_name(name): robot for name, robot in robots.items()}
        _refuse_to_replace(parts, options.output)
        files, lost = {options.output: assembly, **parts}, not_carried_over_of_assembly(definition)
        contents = [robots[entry['robot']] for entry in assembly['robots']]
    models = [Robot.model_validate(content) for content in contents]
    summary = {
        'files': [str(path) for path in files],
        'robots': len(models),
        'hinges': sum(_hinges(robot) for robot in models),
        'torques': sum(len(robot.coordinates) for robot in models),
        'length_m': max(sum(s.natural_length_m for s in robot.segments) for robot in models),
        'not_carried_over': lost,
    }
    for path, content in files.items():
        write_yaml(path, content, 'Made by `softarm import somo`.')
    print(json.dumps(summary) if options.json else _text(summary))
    return 0


def _hinges(robot: Robot) -> int:
    return sum(
        hinge.stiffness_n_m_rad is not None
        for segment in robot.segments
        if isinstance(segment, TorqueSegment)
        for hinge in segment.section_hinges
    )


def _text(summary: dict) -> str:
    lines = [
        f'{", ".join(summary["files"])}: robots {summary["robots"]}, hinges {summary["hinges"]}, '
        f'torques {summary["torques"]}, longest robot {summary["length_m"]:.4g} m',
        *(f'not carried over: {line}' for line in summary['not_carried_over']),
    ]
    if summary['length_m'] > _SUSPICIOUS_LENGTH_M:
        lines.append(
            f'{summary["length_m"]:.4g} m is long: if the definition is scaled up for PyBullet, '
            'give --world-scale'
        )
    return '\n'.join(lines)


def _refuse_to_replace(paths: Iterable[Path], out: Path) -> None:
    """Raise SomoError where a robot file of the assembly would replace another file."""
    for path in paths:
        if path == out or path.exists():
            raise SomoError(
                f'{path} is there already, or is the assembly itself, and a robot file of the '
                'assembly takes that name: write into another folder'
            )
