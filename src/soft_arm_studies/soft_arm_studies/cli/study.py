"""`softarm study`: run an experiment over many values of its keys, on all cores or a cluster."""

import json
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from soft_arm_io.command_line import (
    CommandLine,
    input_file,
    output_folder,
    whole_number_in,
)
from soft_arm_studies.errors import StudyError

if TYPE_CHECKING:
    from soft_arm_studies.plan import Plan
    from soft_arm_studies.table import Table

_EXAMPLE = (
    'example: softarm study examples/studies/finger_stiffness.yaml --output out/finger '
    "--plot actuation.finger 'robot.segments.*.stiffness.bending_n_m2' tip_bend_deg"
)


def main(argv: list[str] | None = None) -> int:
    """Entry point; return 0, 1 if every run failed, or 2 for bad input."""
    parser = CommandLine(
        prog='softarm study',
        description='Run an experiment over a grid, random or Latin-hypercube samples of any key '
        'of robot, world, actuation and controller. The runs are stored in a Parquet file, '
        'failures with their error; the same command resumes an interrupted or killed study.',
        epilog=_EXAMPLE,
    )
    parser.add_argument('file', type=input_file, help='study file (YAML)')
    parser.add_argument(
        '--output',
        '-o',
        type=output_folder,
        metavar='FOLDER',
        help='folder of the table and the plots (default: out/NAME, the name in the file)',
    )
    parser.add_argument(
        '--workers',
        type=whole_number_in(1, 1024),
        metavar='N',
        help='processes on this machine (default: one for each core)',
    )
    parser.add_argument(
        '--scheduler',
        metavar='ADDRESS',
        help='run on the Dask cluster of this scheduler, as tcp://10.0.0.1:8786, instead',
    )
    parser.add_argument(
        '--plot',
        nargs=3,
        action='append',
        default=[],
        metavar=('X', 'Y', 'VALUE'),
        help='draw a result over two keys; may be given several times',
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument('--retry-failed', action='store_true', help='repeat failed runs')
    again.add_argument('--overwrite', action='store_true', help='discard the runs in the folder')
    parser.add_json()
    return parser.answer(argv, _study)


def _study(options: Namespace) -> int:
    if options.scheduler and options.workers:
        raise StudyError('--workers and --scheduler are both given: remove one')
    # Slow to import: after the arguments are checked.
    from soft_arm_studies.plan import make_plan
    from soft_arm_studies.runs import run_function
    from soft_arm_studies.study_file import load_study
    from soft_arm_studies.table import Table

    study = load_study(options.file)
    folder = options.file.absolute().parent
    sys.path[:0] = [str(folder), os.getcwd()]  # possible locations of the user's function
    run_function(study.experiment)
    plan = make_plan(study, folder, _checking)
    for x, y, _ in options.plot:
        _check_plot(plan, x, y)
    output = options.output or Path('out') / study.name
    table = Table(output, plan, overwrite=options.overwrite)
    try:
        return _run(options, plan, table)
    finally:
        table.close()


def _run(options: Namespace, plan: 'Plan', table: 'Table') -> int:
    if options.retry_failed:
        table.merge(drop=table.done() - table.done(failed=False))
    done = table.done()
    _store_refused(plan, table, done)
    waiting = [r for r in range(len(plan.values)) if r not in done and r not in plan.refused]
    start_s = time.monotonic()
    summary = {
        'study': plan.study.name,
        'table': str(table.path),
        'runs': len(plan.values),
        'done_before': len(done),
        'done_now': 0,
    }
    try:
        summary |= _do(options, plan, table, waiting) if waiting else {}
    except KeyboardInterrupt:
        n_done = len(table.done())
        print(
            f'{n_done} of {len(plan.values)} runs are kept; the same command resumes',
            file=sys.stderr,
        )
        raise
    table.merge()
    rows = table.read()
    errors = [error for error in rows['error'].to_pylist() if error is not None]
    summary |= {'failed': len(errors), 'wall_s': round(time.monotonic() - start_s, 3)}
    summary['plots'] = _plots(options, plan, rows, table.path.parent)
    _print(options, summary, errors)
    return 1 if len(errors) == len(rows) else 0


def _store_refused(plan: 'Plan', table: 'Table', done: set[int]) -> None:
    from soft_arm_studies.runs import Row

    rows = [Row(run, {}, why, 0.0) for run, why in plan.refused.items() if run not in done]
    if rows:
        table.add(rows)
        table.merge()
        print(
            f'{len(rows)} of {len(plan.values)} runs have invalid values and are failed rows; '
            f'run {rows[0].run}: {rows[0].error}',
            file=sys.stderr,
        )


def _do(options: Namespace, plan: 'Plan', table: 'Table', waiting: list[int]) -> dict[str, Any]:
    """Run the waiting runs; return their number, the cores and their load."""
    from soft_arm_studies.cluster import connected, prepare, run_all

    workers = options.workers or len(os.sched_getaffinity(0))
    n_runs = len(plan.values)
    run_s = 0.0
    with (
        tqdm(total=n_runs, initial=n_runs - len(waiting), unit='run', file=sys.stderr) as bar,
        connected(workers, options.scheduler) as client,
    ):
        prepare(client, plan.study.experiment)
        start_s = time.monotonic()
        start_cores = sum(client.nthreads().values())

        def store(rows: list) -> None:
            nonlocal run_s
            table.add(rows)
            run_s += sum(row.run_s for row in rows if row.run_s == row.run_s)
            bar.update(len(rows))

        run_all(client, plan, waiting, store)
        # A worker that has died may not be replaced yet; others may have joined a cluster.
        cores = max(start_cores, sum(client.nthreads().values()))
        busy = run_s / (cores * (time.monotonic() - start_s))
    return {'done_now': len(waiting), 'cores': cores, 'cores_used_fraction': round(busy, 3)}


def _checking(runs: Iterable) -> Iterable:
    return tqdm(runs, desc='checking', unit='run', delay=2.0, leave=False, file=sys.stderr)


def _check_plot(plan: 'Plan', *axes: str) -> None:
    for key in axes:
        if key not in plan.places:
            raise StudyError(f'--plot: {key!r} is not varied; available: {", ".join(plan.places)}')


def _plots(options: Namespace, plan: 'Plan', rows: Any, folder: Path) -> list[str]:
    if not options.plot:
        return []
    from soft_arm_studies.plots import draw

    paths = []
    for x, y, value in options.plot:
        name = re.sub(r'[^\w.*]+|\.?\*', '_', f'{value}_over_{x}_and_{y}')
        path = folder / f'{name}.png'
        draw(rows, x, y, value, path, log=plan.study.vary.log_keys)
        paths.append(str(path))
    return paths


def _print(options: Namespace, summary: dict[str, Any], errors: list[str]) -> None:
    if options.json:
        print(json.dumps(summary))
        return
    print(
        f'{summary["runs"]} runs, {summary["done_before"]} of them before, '
        f'{summary["failed"]} failed: {summary["table"]}'
    )
    if summary['done_now']:
        print(f'{summary["cores_used_fraction"]:.0%} of {summary["cores"]} cores used for runs')
    if errors:
        print(f'first error: {errors[0]}')
    for path in summary['plots']:
        print(path)
