"""`softarm experiment plants`: the closed loop on many virtual arms, in one table and one plot."""

import argparse
import json
import os
import sys
from pathlib import Path

from tqdm import tqdm

from soft_arm_description.options import add_rig, add_robot
from soft_arm_experiments.cli.calibrate_virtual import calibrated_rig
from soft_arm_experiments.cli.rig_options import add_tip_sensor, tip_source_of
from soft_arm_io.command_line import CommandLine, positive_count, seed_number, whole_number_in

MAX_PLANTS = 10_000


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm experiment plants',
        description="Run the arm paper's bend and deflection in closed loop and move to random "
        'targets, on many virtual arms, each of which deviates from the robot file in its own '
        'way. Nothing needs to run. Writes OUT/plants.json and OUT/plants.png. With --tip-source '
        'pose, a plant takes about half a minute of one core; with images, several minutes.',
        epilog='example: softarm experiment plants --seeds 101..140',
    )
    add_robot(parser)
    add_rig(parser)
    parser.add_argument(
        '--seeds', type=_seeds, default=range(1, 9), metavar='A..B',
        help='seeds of the plants, from A to B (default: 1..8)',
    )  # fmt: skip
    parser.add_option('--targets', positive_count, 12, 'random targets of each plant')
    parser.add_option('--output', Path, Path('out/plants'), 'folder of the results', metavar='OUT')
    parser.add_argument(
        '--workers', type=whole_number_in(1, 1024), default=os.cpu_count(), metavar='N',
        help='processes (default: one for each core)',
    )  # fmt: skip
    add_tip_sensor(parser)
    parser.add_json()
    return parser.answer(argv, _run)


def _seeds(text: str) -> range:
    first, _, last = text.partition('..')
    seeds = range(seed_number(first), seed_number(last or first) + 1)
    if not 0 < len(seeds) <= MAX_PLANTS:
        raise argparse.ArgumentTypeError(
            f'{text!r}: {len(seeds)} plants, limit {MAX_PLANTS}: give A..B with A at most B'
        )
    return seeds


def _run(options: argparse.Namespace) -> int:
    # Slow to import.
    from soft_arm_experiments.arm.plants import Setup, draw, measure_all, summary

    rig = calibrated_rig(options.rig, options.robot, options.network)
    setup = Setup(
        str(rig.folder),
        options.robot,
        tip_source_of(options),
        options.network,
        options.camera_file,
        options.targets,
    )
    with tqdm(total=len(options.seeds), unit='plant', file=sys.stderr) as progress:
        plants = measure_all(setup, options.seeds, options.workers, progress.update)
    every = summary(list(plants.values()))
    by_seed = {seed: summary([plant]) for seed, plant in plants.items()}
    options.output.mkdir(parents=True, exist_ok=True)
    result = {
        **every,
        'plants': {str(s): {**by_seed[s], **plant} for s, plant in plants.items()},
    }
    (options.output / 'plants.json').write_text(json.dumps(result, indent=1) + '\n')
    draw(plants, options.output / 'plants.png')
    if options.json:
        print(json.dumps(result))
        return 0
    print(_table({str(seed): values for seed, values in by_seed.items()} | {'all': every}))
    for seed, plant in plants.items():
        for problem in plant['problems']:
            print(f'plant {seed}: {problem}')
    print(f'results and plot: {options.output}')
    return 0


def _table(rows: dict[str, dict]) -> str:
    """Return a table of summaries."""
    lines = [
        '| plant | steps: mean, p95 [mm] | out of reach | settled | '
        "over the valves' limit: median, p95 | "
        'targets reached | mean, p95 [mm] | time: median, p95 [s] | swing p95 [mm] |',
        '|---|---|---|---|---|---|---|---|---|',
    ]
    for name, v in rows.items():
        cells = [
            name,
            _numbers(v, 1e3, 'steps_mean_m', 'steps_p95_m'),
            f'{v["steps_unreachable"]} of {v["steps"]}',
            f'{v["responses_settled"]} of {v["responses"]}',
            _numbers(v, 1.0, 'settling_median', 'settling_p95'),
            f'{v["targets_reached"]} of {v["targets"]}',
            _numbers(v, 1e3, 'targets_mean_m', 'targets_p95_m'),
            _numbers(v, 1.0, 'time_median_s', 'time_p95_s'),
            _numbers(v, 1e3, 'swing_p95_m'),
        ]
        lines.append('| ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def _numbers(values: dict, scale: float, *names: str) -> str:
    found = [values[name] for name in names]
    return ', '.join('-' if value is None else f'{scale * value:.2f}' for value in found)
