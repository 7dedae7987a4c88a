"""Training: batches from COCO-style sets, AdamW with averaged weights, checkpoints to go on from.

Step t draws its batch from a random generator seeded by (seed, t): a run that was interrupted goes on exactly as if it had not been.
"""

import csv
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
import torch

from soft_arm_vision.coco import Sample
from soft_arm_vision.errors import VisionError
from soft_arm_vision.yolact.anchors import POSITIVE_IOU, AnchorLayout, corners, encode, intersection_over_union, match
from soft_arm_vision.yolact.detection import DEVIATION, MEAN
from soft_arm_vision.yolact.losses import Targets, losses
from soft_arm_vision.yolact.network import Yolact, YolactConfig

PROTOTYPE_STRIDE, FINEST_STRIDE = 4, 8
MIN_BOX_PX = 4.0  # smaller boxes make the losses explode
MIN_MASK_PX = 25
AVERAGED_STEPS = 300  # weights are averaged over about this many
CHECKPOINT_EVERY_S = 120.0


@dataclass(frozen=True)
class TrainingSettings:
    """How to train; a run that goes on must have the same, but for `steps`."""

    steps: int = 2000
    batch: int = 16
    learning_rate: float = 2e-3
    weight_decay: float = 1e-3
    warm_up: int = 100
    falling_share: float = 0.35  # of the steps, at the end, over which the learning rate falls to nothing
    seed: int = 0


@dataclass(eq=False)
class Progress:
    """What a run has come to: one row per reported step, (step, learning rate, class, box, mask, semantic, total)."""

    rows: list[tuple[float, ...]] = field(default_factory=list)

    HEADER = ('step', 'learning_rate', 'class', 'box', 'mask', 'semantic', 'total')

    def write(self, path: Path) -> None:
        """As CSV."""
        with path.open('w', newline='') as file:
            csv.writer(file).writerows([self.HEADER, *self.rows])


class TrainingSet:
    """Pictures and masks at the network's size, in memory."""

    def __init__(self, samples: Iterable[Sample], layout: AnchorLayout):
        self.layout, size = layout, (layout.width_px, layout.height_px)
        self._pictures, self._masks, self._classes = [], [], []
        for sample in samples:
            self._pictures.append(cv2.resize(sample.rgb, size, interpolation=cv2.INTER_AREA))
            self._masks.append([cv2.resize(m.astype(np.uint8), size, interpolation=cv2.INTER_AREA) for m in sample.masks])
            self._classes.append(sample.classes)
        if not any(len(classes) for classes in self._classes):
            raise VisionError(f'{len(self._pictures)} pictures without one labelled instance: nothing to learn from')

    def __len__(self) -> int:
        return len(self._pictures)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A picture changed at random, (h, w, 3) float32 0..255, its masks (n, h, w) uint8 and their classes (n,)."""
        i = rng.integers(len(self))
        width, height = self.layout.width_px, self.layout.height_px
        zoom, turn = np.exp(rng.uniform(np.log(0.75), np.log(1.35))), np.deg2rad(rng.normal(0, 8))
        mirror = rng.choice([-1, 1])
        linear = zoom * np.array([[mirror * np.cos(turn), -np.sin(turn)], [mirror * np.sin(turn), np.cos(turn)]])
        centre = np.array([width / 2, height / 2])
        shift = centre - linear @ centre + rng.uniform(-0.12, 0.12, 2) * (width, height)
        warp = np.column_stack([linear, shift])
        fill = rng.uniform(0, 255, 3).tolist()
        picture = cv2.warpAffine(self._pictures[i], warp, (width, height), flags=cv2.INTER_LINEAR, borderValue=fill)
        masks = [cv2.warpAffine(m, warp, (width, height), flags=cv2.INTER_NEAREST) for m in self._masks[i]]
        big = [k for k, m in enumerate(masks) if m.sum() >= MIN_MASK_PX]
        return _recoloured(picture, rng), np.array([masks[k] for k in big]).reshape(-1, height, width), self._classes[i][big]


def _recoloured(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    picture = picture.astype(np.float32)
    grey = picture.mean(axis=2, keepdims=True)
    picture = grey + (picture - grey) * np.float32(rng.uniform(0.7, 1.2))
    picture = (picture - 118) * np.float32(rng.uniform(0.75, 1.25)) + 118 + np.float32(rng.uniform(-25, 25))
    picture = picture * rng.uniform(0.93, 1.07, 3).astype(np.float32)
    if rng.random() < 0.3:
        picture = picture + rng.normal(0, rng.uniform(0, 10), picture.shape).astype(np.float32)
    if rng.random() < 0.2:
        picture = cv2.GaussianBlur(picture, (0, 0), rng.uniform(0.4, 1.0))
    return np.clip(picture, 0, 255)


def make_batch(
    drawn: list[tuple[np.ndarray, np.ndarray, np.ndarray]], anchors: np.ndarray, config: YolactConfig
) -> tuple[torch.Tensor, Targets]:
    """Network's input and targets of pictures as `TrainingSet.draw` gives them."""
    width, height = config.layout.width_px, config.layout.height_px
    pictures = np.stack([(picture - MEAN) / DEVIATION for picture, _, _ in drawn]).transpose(0, 3, 1, 2)
    labels, relative, instance, masks, frames = [], [], [], [], []
    semantic = np.zeros((len(drawn), len(config.classes), height // FINEST_STRIDE, width // FINEST_STRIDE), np.float32)
    for i, (_, full, classes) in enumerate(drawn):
        boxes = np.array([_box(m) for m in full], float).reshape(-1, 4)
        sound = np.flatnonzero((boxes[:, 2:] - boxes[:, :2] >= MIN_BOX_PX).all(axis=1))
        boxes, full, classes = boxes[sound], full[sound], np.asarray(classes, int)[sound]
        label, which = match(anchors, boxes, classes)
        labels.append(label)
        instance.append(which)
        relative.append(encode(boxes[which], anchors) if len(boxes) else np.zeros_like(anchors))
        masks.append(torch.from_numpy(_reduced(full, PROTOTYPE_STRIDE, width, height)))
        frames.append(torch.from_numpy((boxes / PROTOTYPE_STRIDE).astype(np.float32)))
        for mask, which_class in zip(_reduced(full, FINEST_STRIDE, width, height), classes, strict=True):
            semantic[i, which_class] = np.maximum(semantic[i, which_class], mask)
    targets = Targets(
        torch.from_numpy(np.stack(labels)),
        torch.from_numpy(np.stack(relative).astype(np.float32)),
        torch.from_numpy(np.stack(instance)),
        masks,
        frames,
        torch.from_numpy(semantic),
    )
    return torch.from_numpy(np.ascontiguousarray(pictures, np.float32)), targets


def _box(mask: np.ndarray) -> tuple[int, int, int, int]:
    x, y, width, height = cv2.boundingRect(mask)
    return x, y, x + width, y + height


def _reduced(masks: np.ndarray, stride: int, width: int, height: int) -> np.ndarray:
    """Masks by their share of each cell, (n, h / stride, w / stride), float32."""
    size = width // stride, height // stride
    small = [cv2.resize(m.astype(np.float32), size, interpolation=cv2.INTER_AREA) for m in masks]
    return np.array(small, np.float32).reshape(-1, size[1], size[0])


class Trainer:
    """One run, in memory; `checkpoint` and `resume` carry it over to another process.

    Args:
        config: Of the network.
        settings: How to train.
    """

    def __init__(self, config: YolactConfig, settings: TrainingSettings):
        torch.manual_seed(settings.seed)
        self.config, self.settings, self.step = config, settings, 0
        self.network, self.averaged = Yolact(config), Yolact(config)
        self.averaged.load_state_dict(self.network.state_dict())
        self.averaged.eval()
        self._anchors = config.layout.boxes()
        self._optimiser = torch.optim.AdamW(self.network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
        self.progress, self._sums = Progress(), []

    def run(self, data: TrainingSet, folder: Path, report: Callable[[int, float], None], stop: Callable[[], bool] = lambda: False) -> None:
        """Train to the last step, or until `stop()`; checkpoints go to `folder` every `CHECKPOINT_EVERY_S` and at the end."""
        saved = time.monotonic()
        while self.step < self.settings.steps and not stop():
            total = self.advance(data)
            report(self.step, total)
            if time.monotonic() - saved > CHECKPOINT_EVERY_S:
                self.checkpoint(folder)
                saved = time.monotonic()
        self.checkpoint(folder)

    def advance(self, data: TrainingSet) -> float:
        """One step; returns the sum of the losses."""
        rng = np.random.default_rng([self.settings.seed, 3, self.step])
        pictures, targets = make_batch([data.draw(rng) for _ in range(self.settings.batch)], self._anchors, self.config)
        rate = self._learning_rate()
        for group in self._optimiser.param_groups:
            group['lr'] = rate
        self.network.train()
        parts = losses(self.network(pictures.contiguous(memory_format=torch.channels_last)), targets)
        total = sum(parts.values())
        self._optimiser.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 10.0)
        self._optimiser.step()
        self._average()
        self.step += 1
        self._sums.append([float(parts[name].detach()) for name in ('class', 'box', 'mask', 'semantic')])
        if self.step % 20 == 0:
            mean = np.mean(self._sums, axis=0)
            self.progress.rows.append((self.step, rate, *(round(float(x), 5) for x in (*mean, mean.sum()))))
            self._sums = []
        return float(total.detach())

    def _learning_rate(self) -> float:
        s = self.settings
        falling = max(1.0, s.falling_share * s.steps)
        left = min(1.0, (s.steps - self.step) / falling)
        return s.learning_rate * min(1.0, (self.step + 1) / s.warm_up) * 0.5 * (1 - math.cos(math.pi * left))

    @torch.no_grad()
    def _average(self) -> None:
        share = 1 / min(self.step + 1, AVERAGED_STEPS)
        mine, theirs = self.averaged.state_dict(), self.network.state_dict()
        for name, value in mine.items():
            if value.dtype.is_floating_point:
                value.lerp_(theirs[name], share)
            else:
                value.copy_(theirs[name])

    def checkpoint(self, folder: Path) -> None:
        """Write `checkpoint.pt` (whole or not at all) and `progress.csv`."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {'step': self.step, 'settings': vars(self.settings), 'network': self.network.state_dict()}
        content |= {'averaged': self.averaged.state_dict(), 'optimiser': self._optimiser.state_dict(), 'rows': self.progress.rows}
        part = folder / 'checkpoint.part'
        torch.save(content, part)
        part.replace(folder / 'checkpoint.pt')
        self.progress.write(folder / 'progress.csv')

    def resume(self, folder: Path) -> bool:
        """Go on from `folder`'s checkpoint, if there is one.

        Raises:
            VisionError: If it is of another network or of other settings.
        """
        path = folder / 'checkpoint.pt'
        if not path.is_file():
            return False
        content = torch.load(path, map_location='cpu', weights_only=True)
        differing = [k for k, v in content['settings'].items() if k != 'steps' and getattr(self.settings, k) != v]
        if differing:
            raise VisionError(f'{path} was trained with another {", ".join(differing)}: give the same, or another folder')
        try:
            self.network.load_state_dict(content['network'])
        except RuntimeError as error:
            raise VisionError(f'{path} is of another network: {str(error).splitlines()[0]}') from error
        self.averaged.load_state_dict(content['averaged'])
        self._optimiser.load_state_dict(content['optimiser'])
        self.step, self.progress.rows = content['step'], [tuple(row) for row in content['rows']]
        return True


def anchor_recall(data: TrainingSet, count: int = 500, seed: int = 0) -> float:
    """Share of labelled instances that some anchor overlaps by half: whether the layout suits the data."""
    rng, anchors = np.random.default_rng(seed), corners(data.layout.boxes())
    boxes = [_box(mask) for _ in range(count) for mask in data.draw(rng)[1]]
    return float((intersection_over_union(anchors, np.array(boxes, float)).max(axis=0) >= POSITIVE_IOU).mean())
