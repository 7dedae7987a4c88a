"""`softarm recording import`: convert recorded files of any arm by a mapping file."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from soft_arm_identification.errors import RecordingError
from soft_arm_io.command_line import CommandLine, input_path, output_folder
from softarm_cli.graph.names import topic_name

if TYPE_CHECKING:
    from soft_arm_identification.recording import Recording

BAGS = {'.mcap', '.db3'}


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm recording import',
        description='Convert files with inputs and positions of an arm (CSV, tables of text, .npy, '
        '.npz) to recordings. The mapping file states columns, units and criteria for lost '
        'points. Data that contradicts it is an error; dropped samples are printed with the '
        'reason. Bags of softarm bag record need no mapping file.',
        epilog='example: softarm recording import day1/*.csv --mapping my_arm.yaml -o recordings',
    )
    parser.add_argument(
        'files', type=input_path, nargs='+', metavar='FILE', help='recorded files or bags'
    )
    parser.add_argument(
        '--mapping', metavar='FILE', help='mapping file (YAML), or the name of a shipped one'
    )
    for name, what in (
        ('command', 'commanded pressures'),
        ('measured', 'measured pressures'),
        ('tip', 'poses of the tip'),
    ):
        parser.add_argument(
            f'--{name}-topic',
            type=topic_name,
            metavar='TOPIC',
            help=f'full name of the {what} in a bag (default: found by type and name)',
        )
    parser.add_argument(
        '--output',
        '-o',
        type=output_folder,
        required=True,
        metavar='FOLDER',
        help='folder of the recordings, one file (.npz) for each run',
    )
    parser.add_json()
    return parser.answer(argv, _import)


def _import(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from soft_arm_identification.bags import BagTopics, read_bag
    from soft_arm_identification.convert import convert
    from soft_arm_identification.mapping import load_mapping

    topics = BagTopics(options.command_topic, options.measured_topic, options.tip_topic)
    mapping = load_mapping(options.mapping) if options.mapping else None
    summaries = []
    for file, name in _names(options.files).items():
        if file.is_dir() or file.suffix in BAGS:
            found: Iterable[Recording] = [read_bag(file, topics)]
        elif mapping is None:
            raise RecordingError(f'{file} is not a bag: describe its columns with --mapping')
        else:
            found = convert(file, mapping)
        for recording in found:
            out = options.output / f'{name}{recording.name.removeprefix(file.stem)}.npz'
            recording.save(out)
            summaries.append(_summary(recording, out))
            if not options.json:
                _print(summaries[-1])
    if options.json:
        json.dump({'recordings': summaries}, sys.stdout, indent=2)
        print()
    return 0


def _names(files: list[Path]) -> dict[Path, str]:
    """Return an output name for each file: its stem, prefixed by its folder unless unique."""
    names = {file: file.stem for file in files}
    if len(set(names.values())) < len(files):
        names = {file: f'{file.resolve().parent.name}_{file.stem}' for file in files}
    if len(set(names.values())) < len(files):
        raise RecordingError(
            'several files have the same name and folder name: import them into other folders'
        )
    return names


def _summary(recording: 'Recording', out: Path) -> dict:
    return {
        'file': str(out),
        'samples': len(recording.time_s),
        'duration_s': round(float(recording.time_s[-1]), 4),
        'rate_hz': round(recording.rate_hz, 3),
        'inputs': list(recording.inputs.names),
        'measured': list(recording.measured.names),
        'points': list(recording.points),
        'dropped': [
            {'reason': part.reason, 'samples': part.samples, 'spans_s': part.spans_s}
            for part in recording.dropped
        ],
    }


def _print(summary: dict) -> None:
    held = [
        f'{kind} {", ".join(summary[kind])}'
        for kind in ('inputs', 'measured', 'points')
        if summary[kind]
    ]
    print(
        f'{summary["file"]}: {summary["samples"]} samples in {summary["duration_s"]:g} s '
        f'({summary["rate_hz"]:g} Hz), {"; ".join(held)}'
    )
    for part in summary['dropped']:
        first = f', first at {part["spans_s"][0][0]:g} s' if part['spans_s'] else ''
        print(f'  dropped: {part["reason"]}, {part["samples"]} samples{first}')
