"""`softarm benchmark arms`: models of arms on recordings of real ones."""

import json
import os
import sys
from argparse import Namespace
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
    parser.add_option(
        '--output', output_folder, Path('out/arms'), 'folder of report and results', metavar='OUT'
    )
    parser.add_argument(
        '--workers', type=whole_number_in(1, 1024), default=os.cpu_count(), metavar='N',
        help='processes (default: one for each core)',
    )  # fmt: skip
    parser.add_json()
    return parser.answer(argv, _benchmark)


def _benchmark(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from soft_arm_identification.benchmark import Task, floor_m, load_result, run_all, tasks_of
    from soft_arm_identification.models.model import importable_models
    from soft_arm_identification.report import details, draw_split, overview, summary
    from soft_arm_identification.set_file import SHIPPED, load_runs, load_sets

    path = options.sets or SHIPPED
    sets = _chosen('set', load_sets(path), options.set)
    models, lacking = importable_models()
    for model, library in lacking.items():
        if model in (options.model or ()):
            raise RecordingError(f'model {model} needs {library}: install it')
        print(f'left out: {model} needs {library}', file=sys.stderr)
    models = list(_chosen('model', dict.fromkeys(models), options.model))
    tasks: list[Task] = []
    floors_m = {}
    for name, arm_set in sets.items():
        if (options.data / name).is_dir():
            runs = load_runs(options.data / name, arm_set, path.parent)
            tasks += tasks_of(name, arm_set, runs, models)
            floors_m[name] = floor_m(arm_set, runs)
    if not tasks:
        raise RecordingError(f'{options.data} has no folder {" or ".join(sets)}')
    if options.split:
        _chosen('split', dict.fromkeys(task.split for task in tasks), options.split)
        tasks = [task for task in tasks if task.split in options.split]
    run_all(tasks, options.output, options.workers, progress=sys.stderr.isatty())
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
    if options.json:
        json.dump(summary(scores, floors_m), sys.stdout, indent=2)
        print()
    else:
        print(text + f'report and pictures: {options.output}')
    return 0


def _chosen(what: str, known: dict, wanted: list[str] | None) -> dict:
    """Entries of the wanted names; raise RecordingError if there is none of a name."""
    for name in wanted or ():
        if name not in known:
            raise RecordingError(f'{what} {name!r}: there are {", ".join(known)}')
    return {name: known[name] for name in wanted or known}
