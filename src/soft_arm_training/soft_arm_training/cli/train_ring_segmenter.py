"""`softarm train ring-segmenter`: train YOLACT on synthetic rings or on your own labels."""

import importlib.util
import signal
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from soft_arm_calibration.cli.camera_options import add_recorded_camera, recorded_frames
from soft_arm_description.options import add_rig, add_robot
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import Robot, load_robot
from soft_arm_io.command_line import (
    CommandLine,
    input_path,
    output_folder,
    positive_count,
    seed_number,
)
from soft_arm_training import coco
from soft_arm_vision.errors import VisionError
from soft_arm_vision.segmentation.colour_mask import is_coloured
from soft_arm_vision.segmentation.segmenter import ring_of
from soft_arm_vision.segmentation.yolact_segmenter import RING_CLASS

SYNTHETIC_FRAMES = 16_000
MIN_SCORE = 0.1  # smallest score of a detection, written into the metadata
DARKEST_GREY = 0.3  # mean of the darkest grey paint that a network finds in spite of its noise
FINE_TUNING_RATE = 1e-3  # learning rate from trained weights on
SYNTHETIC_SCALE = 0.5  # the network sees 320 x 240


def main(argv: list[str]) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm train ring-segmenter',
        description='Train YOLACT. Ctrl-C saves a checkpoint; the same command resumes from it.',
    )
    parser.add_option('--output', output_folder, Path('out/ring_segmenter'), 'folder of the run')
    parser.add_argument(
        '--data',
        type=input_path,
        action='append',
        help='COCO instance file or folder, may be repeated (default: render synthetic rings)',
    )
    parser.add_argument(
        '--bag',
        type=input_path,
        action='append',
        default=[],
        help='labelled bag (`softarm vision label`) whose frames half of the crops are of; '
        'may be repeated',
    )
    add_recorded_camera(parser)
    add_rig(parser)
    parser.add_option(
        '--classes', str, 'ring', 'names of the categories to learn, separated by commas'
    )
    add_robot(parser)
    parser.add_option('--frames', positive_count, SYNTHETIC_FRAMES, 'number of synthetic images')
    parser.add_option('--steps', positive_count, 30_000, 'number of steps, of 32 crops each')
    parser.add_option('--seed', seed_number, 0, 'random seed of data, weights and order')
    parser.add_option('--threads', positive_count, 2, 'number of processor cores')
    parser.add_flag(
        '--fine-tune', 'start from the shipped weights, which takes a tenth of the steps'
    )
    parser.add_flag(
        '--float32', 'do not use bfloat16, which is slow on processors without support for it'
    )
    return parser.answer(argv, _train)


def _train(options: Namespace) -> int:
    if any(importlib.util.find_spec(name) is None for name in ('torch', 'onnx')):
        raise VisionError('training needs torch and onnx: pip install -r requirements/train.in')
    ring = ring_of(load_robot(options.robot))  # checked before anything is rendered
    if RING_CLASS not in options.classes.split(','):
        raise VisionError(
            f'--classes {options.classes}: the detector looks for {RING_CLASS!r}; add it, '
            'and rename the category in your data'
        )
    import torch  # takes seconds: not before --help

    from soft_arm_training.export import export
    from soft_arm_training.network import save_weights
    from soft_arm_training.training_set import anchor_recall

    torch.set_num_threads(options.threads)
    own = [of_bag(bag, options) for bag in options.bag]
    trainer, data = _trainer(options, options.data or [_drawn(options)], own)
    if trainer.step:
        print(f'resuming from step {trainer.step}', file=sys.stderr)
    channels = 'colour and depth' if data.has_depth else 'colour only: not every image has depth'
    print(
        f'{len(data)} images, {channels}; anchors match {100 * anchor_recall(data):.0f} % of the '
        'instances',
        file=sys.stderr,
    )
    _run(trainer, data, options.output)
    checksum = save_weights(trainer.averaged, options.output / 'weights.pt')
    metadata = {
        'command': _command(options),
        'steps': trainer.step,
        'pictures': len(data),
        'weights_sha256': checksum,
        'min_score': MIN_SCORE,
    }
    network = options.output / 'ring_segmenter.onnx'
    metadata |= {'ring_radius_m': ring.radius_m, 'ring_colour_rgb': ring.colour_rgb}
    if is_coloured(ring.colour_rgb):  # crops then show other paints, too
        metadata['darkest_grey'] = DARKEST_GREY
    metadata['torch'] = torch.__version__
    export(trainer.averaged.eval(), network, metadata)
    print(
        f'step {trainer.step} of {options.steps}; weights {options.output / "weights.pt"}, '
        f'SHA-256 {checksum}'
    )
    print(f'network {network} with its metadata')
    return 0 if trainer.step >= options.steps else 130


def _trainer(options: Namespace, folders: list[Path], own: list[Path]) -> tuple[Any, Any]:
    """Return the trainer, resumed from its checkpoint if there is one, and the images."""
    from soft_arm_training.network import YolactConfig, load_weights
    from soft_arm_training.training import Trainer, TrainingSettings
    from soft_arm_training.training_set import TrainingSet
    from soft_arm_vision.segmentation.yolact.anchors import AnchorLayout
    from soft_arm_vision.segmentation.yolact.exported import SHIPPED

    classes = tuple(options.classes.split(','))
    paint_rgb = ring_of(load_robot(options.robot)).colour_rgb
    samples, own_samples = (
        (s for folder in some for s in coco.read(folder, classes)) for some in (folders, own)
    )
    data = TrainingSet(
        samples, AnchorLayout(), paint_rgb if is_coloured(paint_rgb) else None, own_samples
    )
    config = YolactConfig(classes, data.layout, depth=data.has_depth)
    prints = [coco.fingerprint(folder) for folder in folders + own]
    data_key = ' '.join([options.classes, str(paint_rgb), *prints])
    settings = TrainingSettings(
        steps=options.steps, seed=options.seed, bfloat16=not options.float32, data=data_key
    )
    start = None
    if options.fine_tune:
        settings = replace(settings, learning_rate=FINE_TUNING_RATE)
        start = load_weights(SHIPPED.with_suffix('.pt'))
    trainer = Trainer(config, settings, start)
    trainer.resume(options.output)
    return trainer, data


def _command(options: Namespace) -> str:
    names = ['steps', 'seed', 'threads'] + ['frames'] * (not options.data)
    given = [f'--{name} {getattr(options, name)}' for name in names] + [
        f'--data {folder}' for folder in options.data or []
    ]
    given += [f'--bag {bag}' for bag in options.bag]
    given += [f'--rig {options.rig}'] * bool(options.bag)
    flags = ['--fine-tune'] * options.fine_tune + ['--float32'] * options.float32
    return ' '.join(['softarm train ring-segmenter', *given, *flags])


def _drawn(options: Namespace) -> Path:
    from soft_arm_training.synthetic_data import write_ring_set

    folder = _synthetic_folder(
        options.output, load_robot(options.robot), options.frames, options.seed
    )
    if not (folder / coco.LABELS).is_file():
        write_ring_set(
            folder,
            options.robot,
            options.frames,
            seed=options.seed,
            scale=SYNTHETIC_SCALE,
            workers=options.threads,
        )
    return folder


def of_bag(bag: Path, options: Namespace) -> Path:
    """Write a data set of the labelled frames of a bag, corrected as the rig says; return it."""
    from tqdm import tqdm

    from soft_arm_calibration.bags.labels import read_labels
    from soft_arm_training.bag_samples import labelled_samples

    labels, folder = read_labels(bag), options.output / f'bag_{bag.resolve().name}'
    if labels is None:
        raise VisionError(f'{bag} has no labels: run softarm vision label {bag}')
    with (
        recorded_frames(bag, options, load_rig(options.rig)) as frames,
        tqdm(unit=' frames', file=sys.stderr, disable=not sys.stderr.isatty()) as bar,
    ):
        samples = labelled_samples(frames, labels, bar.update)
        info = {'description': f'labelled frames of the bag {bag.name}'}
        if not coco.write(folder, samples, (RING_CLASS,), info):
            raise VisionError(f'{bag} has no labelled frame that can be learnt from')
    return folder


def _synthetic_folder(out: Path, robot: Robot, frames: int, seed: int) -> Path:
    return out / f'data_{robot.name}_{robot.fingerprint}_{frames}_seed_{seed}'


def _run(trainer: Any, data: Any, out: Path) -> None:
    from tqdm import tqdm

    stopping = []
    before = {
        number: signal.signal(number, lambda *_: stopping.append(True))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with tqdm(
            total=trainer.settings.steps, initial=trainer.step, unit=' steps', file=sys.stderr
        ) as bar:

            def report(step: int, total: float) -> None:
                bar.update(step - bar.n)
                bar.set_postfix_str(f'loss {total:.2f}', refresh=False)

            trainer.run(data, out, report, lambda: bool(stopping))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
