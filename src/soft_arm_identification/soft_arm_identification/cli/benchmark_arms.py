"""`softarm benchmark arms`: models of arms on recordings of real ones."""

import json
import os
import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from soft_arm_identification.errors import RecordingError
from soft_arm_io.command_line import (
    CommandLine,
    input_file,
    input_path,
    output_folder,
    whole_number_in,
)


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm benchmark arms',
        description='Fit models of arms to some recordings and predict the tip in others. The '
        'folder DIR holds a folder for each set; sets without one are left out. Writes '
        'OUT/report.md, pictures of each split, and results that a later call takes up again.',
        epilog='example: softarm benchmark arms --data real_arms --set crl_nine_tendons',
    )
    parser.add_argument('--data', type=input_path, required=True, metavar='DIR')
    parser.add_argument(
        '--sets', type=input_file, metavar='FILE', help='file of sets (default: the shipped one)'
    )
    parser.add_argument('--set', nargs='+', metavar='NAME', help='only these sets')
    parser.add_argument('--split', nargs='+', metavar='NAME', help='only these splits')
    parser.add_argument('--model', nargs='+', metavar='NAME', help='only these models')
    parser.add_argument(
        '--output', type=output_folder, default=Path('out/arms'), metavar='OUT',
        help='folder of report and results (default: %(default)s)',
    )  # fmt: skip
    parser.add_argument(
        '--workers', type=whole_number_in(1, 1024), default=os.cpu_count(), metavar='N',
        help='processes (default: one for each core)',
    )  # fmt: skip
    parser.add_json()
    return parser.answer(argv, _benchmark, RecordingError)


def _benchmark(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from soft_arm_identification.benchmark import floor_m, load_result, run_all, tasks_of
    from soft_arm_identification.models.model import installed_models
    from soft_arm_identification.report import details, draw_split, overview
    from soft_arm_identification.set_file import SHIPPED, load_sets

    path = options.sets or SHIPPED
    sets = _chosen('set', load_sets(path), options.set)
    models = list(_chosen('model', dict.fromkeys(installed_models()), options.model))
    tasks = list(tasks_of(options.data, sets, models, path.parent))
    if options.split:
        _chosen('split', dict.fromkeys(task.split for task in tasks), options.split)
        tasks = [task for task in tasks if task.split in options.split]
    if not tasks:
        raise RecordingError(f'{options.data} has no folder {" or ".join(sets)}')
    run_all(tasks, options.output, options.workers, progress=sys.stderr.isatty())
    floors_m = {
        name: floor
        for name in dict.fromkeys(task.set_name for task in tasks)
        if (floor := floor_m(options.data / name, sets[name], path.parent)) is not None
    }
    splits: dict = {}
    for task in tasks:
        found = splits.setdefault((task.set_name, task.split), (task, {}))[1]
        found[task.model] = load_result(options.output, task)
    scores = {
        key: {model: score for model, (score, _) in found.items()}
        for key, (_, found) in splits.items()
    }
    text = overview(scores, floors_m)
    for (set_name, split), (task, found) in splits.items():
        draw_split(task, found, options.output / f'{set_name}.{split}.png')
    (options.output / 'report.md').write_text(f'{text}\n{details(scores)}')
    if not options.json:
        print(text + f'report and pictures: {options.output}')
        return 0
    summary: dict = {}
    for (set_name, split), found in scores.items():
        summary.setdefault(set_name, {})[split] = {m: asdict(s) for m, s in found.items()}
        if set_name in floors_m:
            summary[set_name]['floor_m'] = floors_m[set_name]
    json.dump({'sets': summary}, sys.stdout, indent=2)
    print()
    return 0


def _chosen(what: str, known: dict, wanted: list[str] | None) -> dict:
    """Entries of the wanted names; raise RecordingError if there is none of a name."""
    for name in wanted or ():
        if name not in known:
            raise RecordingError(f'{what} {name!r}: there are {", ".join(known)}')
    return {name: known[name] for name in wanted or known}
