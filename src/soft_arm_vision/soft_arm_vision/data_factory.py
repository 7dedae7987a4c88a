"""Makes data sets of the ring from the virtual camera; the only part of this package that knows the simulator."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from soft_arm_description.robot import load_robot
from soft_arm_sim.random_scenes import RandomScenes, scaled_camera
from soft_arm_vision import coco

RING_CLASSES = ('ring',)
RINGLESS_SHARE = 0.15
MIN_LABELLED_PX = 25  # less of a ring than this (at 320 x 240) is no label


def ring_samples(
    robot_name: str, domain: str, count: int, *, seed: int, scale: float, ringless_share: float, first: int = 0
) -> Iterator[coco.Sample]:
    """Frames `first` .. `first + count` of a set.

    Args:
        robot_name: Shipped robot or path of a robot file, whose arm and ring are shown.
        domain: 'training' or 'held_out'.
        count: Number of frames.
        seed: Of the set.
        scale: Size of the picture relative to the camera's.
        ringless_share: Share of the frames that show no ring.
        first: Number of the first frame.
    """
    scenes = RandomScenes(load_robot(robot_name), domain, seed, scaled_camera(scale))
    try:
        for number in range(first, first + count):
            with_ring = (number * 0.6180339887) % 1 >= ringless_share  # evenly spread, whatever the number of frames
            frame = scenes.draw(number, with_ring)
            labelled = frame.ring_mask.sum() >= MIN_LABELLED_PX * (2 * scale) ** 2
            masks = frame.ring_mask[None] if labelled else np.zeros((0, *frame.ring_mask.shape), bool)
            classes, share = np.zeros(len(masks), int), np.full(len(masks), frame.visible_share)
            yield coco.Sample(frame.rgb, masks, classes, frame.depth, share, frame.T_optical_ring)
    finally:
        scenes.close()


def write_ring_set(
    folder: Path, robot_name: str, domain: str, count: int, *, seed: int, scale: float = 1.0, ringless_share: float = RINGLESS_SHARE
) -> int:
    """Write a COCO-style set with a progress bar; returns the number of frames."""
    samples = ring_samples(robot_name, domain, count, seed=seed, scale=scale, ringless_share=ringless_share)
    info = {'description': 'rings seen by the virtual camera', 'robot': robot_name, 'domain': domain, 'seed': seed, 'scale': scale}
    image = scaled_camera(scale).image
    info['camera'] = {name: getattr(image, name) for name in ('width_px', 'height_px', 'fx_px', 'fy_px', 'cx_px', 'cy_px')}
    return coco.write(
        folder, tqdm(samples, total=count, unit=' frames', desc=f'drawing {domain}', disable=not sys.stderr.isatty()), RING_CLASSES, info
    )
