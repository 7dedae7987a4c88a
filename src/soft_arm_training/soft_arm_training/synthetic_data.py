"""Render labelled data sets of the ring with the virtual camera."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np
from tqdm import tqdm

from soft_arm_description.robot import load_robot
from soft_arm_sim.cameras.random_scenes import RandomScenes, scaled_camera
from soft_arm_training import coco
from soft_arm_vision.errors import VisionError
from soft_arm_vision.segmentation.yolact.input_channels import reduced_depth

RING_CLASSES = ('ring',)
RINGLESS_SHARE = 0.3  # of the frames to train on
BLOCK = 100  # frames per task of a worker process
MIN_LABELLED_PX = 100  # smallest labelled area of a ring


def ring_samples(
    robot_name: str,
    domain: str,
    count: int,
    *,
    seed: int,
    ringless_share: float,
    first: int = 0,
    camera: str = 'virtual',
) -> Iterator[coco.Sample]:
    """Yield the frames `first` .. `first + count` of a data set.

    Args:
        robot_name: Shipped robot or path of a robot file, whose arm and ring are shown.
        domain: 'training' or 'held_out'.
        count: Number of frames.
        seed: Of the set.
        ringless_share: Share of the frames that show no ring.
        first: Number of the first frame.
        camera: 'virtual' or 'stereo', see `scaled_camera`.

    Raises:
        PhysicsError: If the robot cannot be simulated.
    """
    robot = load_robot(robot_name)
    scenes = RandomScenes(robot, domain, seed, scaled_camera(robot, 1.0, camera))
    try:
        for number in range(first, first + count):
            # The golden ratio spreads the frames with a ring evenly.
            with_ring = (number * 0.6180339887) % 1 >= ringless_share
            frame = scenes.draw(number, with_ring)
            labelled = frame.ring_mask.sum() >= MIN_LABELLED_PX
            masks = (
                frame.ring_mask[None] if labelled else np.zeros((0, *frame.ring_mask.shape), bool)
            )
            classes, share = np.zeros(len(masks), int), np.full(len(masks), frame.visible_share)
            yield coco.Sample(frame.rgb, masks, classes, frame.depth, share, frame.T_optical_ring)
    finally:
        scenes.close()


def write_ring_set(
    folder: Path, robot_name: str, count: int, *, seed: int, scale: float, workers: int
) -> int:
    """Write a COCO-style data set to train on, with a progress bar; return the number of frames.

    Frames are rendered at the camera's size, and reduced as the segmenter reduces its input. They
    are the same for any number of workers.

    Args:
        folder: Folder of the set.
        robot_name: As in `ring_samples`.
        count: Number of frames.
        seed: Of the set.
        scale: Size of the written pictures relative to the camera's.
        workers: Number of processes that render.

    Raises:
        VisionError: If the robot cannot be simulated, or a worker process ends.
    """
    info = {
        'description': 'rings seen by the virtual camera',
        'robot': robot_name,
        'seed': seed,
        'scale': scale,
    }
    image = scaled_camera(load_robot(robot_name), scale).image
    info['camera'] = {
        name: getattr(image, name)
        for name in ('width_px', 'height_px', 'fx_px', 'fy_px', 'cx_px', 'cy_px')
    }
    block = partial(_block, robot_name, count, seed, (image.width_px, image.height_px))
    bar = tqdm(
        _in_processes(block, range(0, count, BLOCK), workers),
        total=count,
        unit=' frames',
        desc='drawing rings',
        disable=not sys.stderr.isatty(),
    )
    return coco.write(folder, bar, RING_CLASSES, info)


def _in_processes(
    block: Callable[[int], list[coco.Sample]], firsts: range, workers: int
) -> Iterator[coco.Sample]:
    """Yield the samples of all blocks in order, rendered ahead by the workers."""
    with ProcessPoolExecutor(workers, mp_context=get_context('spawn')) as pool:
        try:
            yield from chain.from_iterable(pool.map(block, firsts))
        except BrokenProcessPool as error:
            raise VisionError('a process that renders frames ended: is memory short?') from error


def _block(
    robot_name: str, count: int, seed: int, size_px: tuple[int, int], first: int
) -> list[coco.Sample]:
    samples = ring_samples(
        robot_name,
        'training',
        min(BLOCK, count - first),
        seed=seed,
        ringless_share=RINGLESS_SHARE,
        first=first,
    )
    return [reduced(sample, size_px) for sample in samples]


def reduced(sample: coco.Sample, size_px: tuple[int, int]) -> coco.Sample:
    """Return the sample at another (width, height), reduced as the segmenter reduces images.

    A pixel belongs to a mask if most of it does.
    """
    masks = [
        cv2.resize(mask.astype(np.float32), size_px, interpolation=cv2.INTER_AREA) >= 0.5
        for mask in sample.masks
    ]
    return replace(
        sample,
        rgb=cv2.resize(sample.rgb, size_px, interpolation=cv2.INTER_AREA),
        masks=np.array(masks, bool).reshape(-1, size_px[1], size_px[0]),
        depth=None if sample.depth is None else reduced_depth(sample.depth, size_px),
    )
