"""Images, depth and masks in memory, random crops of them, and batches for the losses."""

import colorsys
from collections.abc import Iterable
from typing import NamedTuple

import cv2
import numpy as np
import torch

from soft_arm_training.anchor_labels import POSITIVE_IOU, match
from soft_arm_training.coco import Sample
from soft_arm_training.losses import Targets
from soft_arm_training.network import YolactConfig
from soft_arm_vision.clouds.cloud import depth_in_metres
from soft_arm_vision.errors import VisionError
from soft_arm_vision.segmentation.yolact.anchors import (
    AnchorLayout,
    corners,
    encode,
    intersection_over_union,
)
from soft_arm_vision.segmentation.yolact.input_channels import input_channels, reduced_depth
from soft_arm_vision.segmentation.yolact.recolouring import Paint, painted, recoloured

PROTOTYPE_STRIDE, FINEST_STRIDE = 4, 8
MIN_BOX_PX = 4.0  # smaller boxes make the losses explode
MIN_MASK_PX = 25
MIN_KEPT_SHARE = 0.3  # of an instance: a crop that leaves less of one, but not none, is drawn again
MIN_TAUGHT_SHARE = 0.2  # images with an instance less visible than this are left out
DRAWS = 10  # of a crop
MIN_DEPTH_M = 0.1  # of what is shown larger
ZOOM = 0.75, 1.3
ANY_TURN_SHARE = 0.3  # others are turned by a few degrees only
ABOUT_INSTANCE_SHARE = 0.75  # of the crops of a picture with instances
ABOUT_HARD_NEGATIVE_SHARE = 0.75  # of the others; what is left is anywhere in the picture
HARD_NEGATIVE_PIXELS = 32  # per image, drawn by the likeness of their colour to instances'
HARD_NEGATIVE_STRIDE_PX = 4  # between the pixels looked at
COLOUR_LEVELS = 16  # of each channel
OTHER_COLOURS_SHARE = 0.3  # pictures whose surroundings get other colours
OTHER_PAINT_SHARE = 0.6  # crops that show instances of another paint, as the segmenter shows them
GREY_PAINT_SHARE = 0.6  # of these
OWN_SHARE = 0.5  # of the crops are of images of a laboratory, which are few


class Crop(NamedTuple):
    """A crop of a labelled image.

    Attributes:
        picture: RGB, shape (h, w, 3), float32, 0..255.
        depth_m: Shape (h, w), float32, 0 where there is none; None without depth.
        masks: Of its n instances, shape (n, h, w), uint8.
        classes: Of each instance, shape (n,).
    """

    picture: np.ndarray
    depth_m: np.ndarray | None
    masks: np.ndarray
    classes: np.ndarray


class TrainingSet:
    """Pictures, their depth where every one has it, and masks, at the network's size, in memory.

    Args:
        samples: Labelled images.
        layout: The network's anchors.
        paint_rgb: Coloured paint of the instances, 0..1 each: crops also show others; None: only
            their own.
        own: Labelled images that half of the crops are of.

    Attributes:
        has_depth: Whether they have depth.
    """

    def __init__(
        self,
        samples: Iterable[Sample],
        layout: AnchorLayout,
        paint_rgb: Paint | None = None,
        own: Iterable[Sample] = (),
    ):
        self._paint_rgb = paint_rgb
        self.layout = layout
        self._pictures: list[np.ndarray] = []
        self._depths: list[np.ndarray] = []  # as many as pictures, or they are not used
        self._distances_m: list[float] = []
        self._masks: list[list[np.ndarray]] = []
        self._classes: list[np.ndarray] = []
        for sample in samples:
            self._add(sample)
        self._own_from = len(self)
        for sample in own:
            self._add(sample)
        if not any(len(classes) for classes in self._classes):
            raise VisionError(
                f'{len(self._pictures)} pictures without one labelled instance: nothing to '
                'learn from'
            )
        self.has_depth = len(self._depths) == len(self._pictures)
        self._hard_negatives = _hard_negatives(self._pictures, self._masks)

    def _add(self, sample: Sample) -> None:
        if sample.visible_share is not None and (sample.visible_share < MIN_TAUGHT_SHARE).any():
            return
        size = self.layout.width_px, self.layout.height_px
        self._pictures.append(cv2.resize(sample.rgb, size, interpolation=cv2.INTER_AREA))
        self._masks.append(
            [
                cv2.resize(m.astype(np.uint8), size, interpolation=cv2.INTER_AREA)
                for m in sample.masks
            ]
        )
        if sample.depth is not None:
            self._depths.append(reduced_depth(sample.depth, size))
            self._distances_m.append(_distance_m(self._depths[-1], self._masks[-1]))
        self._classes.append(sample.classes)

    def __len__(self) -> int:
        return len(self._pictures)

    def draw(self, rng: np.random.Generator, size_px: tuple[int, int] | None = None) -> Crop:
        """Draw a crop of an image, turned, scaled and recoloured at random.

        Args:
            rng: Random numbers.
            size_px: Width and height of the crop; None: of the whole picture.
        """
        from_own = self._own_from < len(self) and rng.random() < OWN_SHARE
        i = int(rng.integers(self._own_from if from_own else 0, len(self)))
        size = size_px or (self.layout.width_px, self.layout.height_px)
        for _ in range(DRAWS):
            warp, zoom = self._warp(i, size, rng)
            masks = [cv2.warpAffine(m, warp, size, flags=cv2.INTER_NEAREST) for m in self._masks[i]]
            area, before = (
                np.array([m.sum() for m in some], float) for some in (masks, self._masks[i])
            )
            if not ((area > 0) & (area < MIN_KEPT_SHARE * zoom**2 * before)).any():
                break
        fill = rng.uniform(0, 255, 3).tolist()
        picture = cv2.warpAffine(
            self._pictures[i], warp, size, flags=cv2.INTER_LINEAR, borderValue=fill
        )
        big = [k for k, m in enumerate(masks) if m.sum() >= MIN_MASK_PX]
        kept = np.array([masks[k] for k in big], np.uint8).reshape(-1, size[1], size[0])
        if self._paint_rgb is not None and rng.random() < OTHER_PAINT_SHARE:
            picture = _of_another_paint(picture, kept, self._paint_rgb, rng)
        return Crop(
            _recoloured(picture, kept, rng),
            self._depth_m(i, warp, zoom, size),
            kept,
            self._classes[i][big],
        )

    def _depth_m(
        self, i: int, warp: np.ndarray, zoom: float, size: tuple[int, int]
    ) -> np.ndarray | None:
        """Depth of a crop: what is shown larger is nearer, and as deep in itself as before."""
        if not self.has_depth:
            return None
        depth_m = depth_in_metres(
            cv2.warpAffine(self._depths[i], warp, size, flags=cv2.INTER_NEAREST)
        )
        return np.where(
            depth_m > 0, np.maximum(depth_m - self._distances_m[i] * (1 - 1 / zoom), MIN_DEPTH_M), 0
        ).astype(np.float32)

    def _warp(
        self, i: int, size: tuple[int, int], rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        """Return a random affine map from image i to a crop, and its zoom.

        Most crops are centred near an instance or a hard negative.
        """
        whole = np.array([self.layout.width_px, self.layout.height_px], float)
        zoom = np.exp(rng.uniform(*np.log(ZOOM)))
        turn = (
            rng.uniform(-np.pi, np.pi)
            if rng.random() < ANY_TURN_SHARE
            else np.deg2rad(rng.normal(0, 8))
        )
        mirror = rng.choice([-1, 1])
        linear = zoom * np.array(
            [[mirror * np.cos(turn), -np.sin(turn)], [mirror * np.sin(turn), np.cos(turn)]]
        )
        if self._masks[i] and rng.random() < ABOUT_INSTANCE_SHARE:
            left, top, right, bottom = _box(self._masks[i][rng.integers(len(self._masks[i]))])
            middle = (
                np.array([left + right, top + bottom]) / 2 + rng.uniform(-0.4, 0.4, 2) * size / zoom
            )
        elif len(self._hard_negatives[i]) and rng.random() < ABOUT_HARD_NEGATIVE_SHARE:
            middle = rng.choice(self._hard_negatives[i]) + rng.uniform(-0.4, 0.4, 2) * size / zoom
        else:
            middle = rng.uniform(0, 1, 2) * whole
        room = np.array(size) / zoom / 2
        middle = np.where(
            room < whole / 2,
            np.clip(middle, room, whole - room),
            whole / 2 + rng.uniform(-0.1, 0.1, 2) * whole,
        )
        return np.column_stack([linear, np.array(size) / 2 - linear @ middle]), zoom


def _hard_negatives(pictures: list[np.ndarray], masks: list[list[np.ndarray]]) -> list[np.ndarray]:
    """Return some pixels (n, 2) of each image with the colours of instances but outside of them."""
    bins, inside = [], []
    for picture, some in zip(pictures, masks, strict=True):
        level = (
            picture[::HARD_NEGATIVE_STRIDE_PX, ::HARD_NEGATIVE_STRIDE_PX].astype(int)
            * COLOUR_LEVELS
            // 256
        )
        bins.append((level[..., 0] * COLOUR_LEVELS + level[..., 1]) * COLOUR_LEVELS + level[..., 2])
        inside.append(
            np.any(
                [mask[::HARD_NEGATIVE_STRIDE_PX, ::HARD_NEGATIVE_STRIDE_PX] for mask in some],
                axis=0,
            )
            | np.zeros(level.shape[:2], bool)
        )
    of_instances, of_all = np.zeros(COLOUR_LEVELS**3), np.ones(COLOUR_LEVELS**3)
    for level, mask in zip(bins, inside, strict=True):
        of_instances += np.bincount(level[mask], minlength=COLOUR_LEVELS**3)
        of_all += np.bincount(level.ravel(), minlength=COLOUR_LEVELS**3)
    share, rng, found = of_instances / of_all, np.random.default_rng(0), []
    for level, mask in zip(bins, inside, strict=True):
        likeness = np.where(mask, 0, share[level]).ravel()
        total = likeness.sum()
        chosen = (
            rng.choice(likeness.size, HARD_NEGATIVE_PIXELS, p=likeness / total)
            if total > 0
            else np.zeros(0, int)
        )
        found.append(
            np.column_stack(np.unravel_index(chosen, mask.shape))[:, ::-1] * HARD_NEGATIVE_STRIDE_PX
        )
    return found


def _distance_m(depth: np.ndarray, masks: list[np.ndarray]) -> float:
    """Return the median depth of the instances, else of the image; 0 without any depth."""
    depth_m, inside = depth_in_metres(depth), np.zeros(depth.shape, bool)
    for mask in masks:
        inside |= mask > 0
    known = depth_m > 0
    of = depth_m[inside & known] if (inside & known).any() else depth_m[known]
    return float(np.median(of)) if len(of) else 0.0


def _of_another_paint(
    picture: np.ndarray, masks: np.ndarray, paint_rgb: Paint, rng: np.random.Generator
) -> np.ndarray:
    """Repaint the instances, and recolour the crop as the segmenter does for that paint."""
    grey = rng.random() < GREY_PAINT_SHARE
    hsv = rng.uniform(), rng.uniform(*((0, 0.15) if grey else (0.5, 1))), rng.uniform(0.05, 1)
    new_rgb = colorsys.hsv_to_rgb(hsv[0], hsv[1], hsv[2] if grey else max(hsv[2], 0.25))
    share = _feathered(masks, picture.shape[:2])
    picture = share * painted(picture, paint_rgb, new_rgb) + (1 - share) * picture
    balance = np.exp(rng.normal(0, 0.05, 3)) if grey else np.ones(3)
    noise = rng.uniform(0, 4) * rng.standard_normal(picture.shape, np.float32)
    seen = np.clip(picture * balance + noise, 0, 255).astype(np.float32)
    return recoloured(seen, new_rgb, paint_rgb)


def _feathered(masks: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return the instances' share of each pixel, a little beyond their edges, (h, w, 1)."""
    share: np.ndarray = np.zeros(shape, np.float32)
    for mask in masks:
        share = np.maximum(share, mask)
    return cv2.GaussianBlur(cv2.dilate(share, np.ones((3, 3), np.uint8)), (0, 0), 0.8)[..., None]


def _recoloured(picture: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    picture = picture.astype(np.float32)
    if rng.random() < OTHER_COLOURS_SHARE:  # an instance keeps its own
        share = _feathered(masks, picture.shape[:2])
        picture = share * picture + (1 - share) * picture[..., rng.permutation(3)]
    saturation, contrast = rng.uniform(0.7, 1.2), rng.uniform(0.75, 1.25)
    gain = contrast * rng.uniform(0.93, 1.07, (3, 1))
    mixed = gain * (saturation * np.eye(3) + (1 - saturation) / 3)
    picture = cv2.transform(
        picture, np.hstack([mixed, gain / contrast * (118 * (1 - contrast) + rng.uniform(-25, 25))])
    )
    if rng.random() < 0.3:
        picture = picture + np.float32(rng.uniform(0, 10)) * rng.standard_normal(
            picture.shape, np.float32
        )
    if rng.random() < 0.2:
        picture = cv2.GaussianBlur(picture, (0, 0), rng.uniform(0.4, 1.0))
    return np.clip(picture, 0, 255)


def make_batch(
    drawn: list[Crop], anchors: np.ndarray, config: YolactConfig
) -> tuple[torch.Tensor, Targets]:
    """Return network input and targets of crops of one size, with the anchors of that size."""
    height, width = drawn[0].picture.shape[:2]
    pictures = np.stack(
        [input_channels(crop.picture, crop.depth_m if config.depth else None) for crop in drawn]
    )
    labels, relative, instance, masks, frames = [], [], [], [], []
    semantic = np.zeros(
        (len(drawn), len(config.classes), height // FINEST_STRIDE, width // FINEST_STRIDE),
        np.float32,
    )
    for i, (_, _, full, classes) in enumerate(drawn):
        boxes = np.array([_box(m) for m in full], float).reshape(-1, 4)
        sound = np.flatnonzero((boxes[:, 2:] - boxes[:, :2] >= MIN_BOX_PX).all(axis=1))
        boxes, full, classes = boxes[sound], full[sound], np.asarray(classes, int)[sound]
        label, which = match(anchors, boxes, classes)
        labels.append(label)
        instance.append(which)
        relative.append(encode(boxes[which], anchors) if len(boxes) else np.zeros_like(anchors))
        masks.append(torch.from_numpy(_reduced(full, PROTOTYPE_STRIDE, width, height)))
        frames.append(torch.from_numpy((boxes / PROTOTYPE_STRIDE).astype(np.float32)))
        for mask, which_class in zip(
            _reduced(full, FINEST_STRIDE, width, height), classes, strict=True
        ):
            semantic[i, which_class] = np.maximum(semantic[i, which_class], mask)
    targets = Targets(
        torch.from_numpy(np.stack(labels)),
        torch.from_numpy(np.stack(relative).astype(np.float32)),
        torch.from_numpy(np.stack(instance)),
        masks,
        frames,
        torch.from_numpy(semantic),
    )
    return torch.from_numpy(pictures), targets


def _box(mask: np.ndarray) -> tuple[int, int, int, int]:
    x, y, width, height = cv2.boundingRect(mask)
    return x, y, x + width, y + height


def _reduced(masks: np.ndarray, stride: int, width: int, height: int) -> np.ndarray:
    """Return the masks' share of each cell, (n, h / stride, w / stride), float32."""
    size = width // stride, height // stride
    small = [cv2.resize(m.astype(np.float32), size, interpolation=cv2.INTER_AREA) for m in masks]
    return np.array(small, np.float32).reshape(-1, size[1], size[0])


def anchor_recall(data: TrainingSet, count: int = 500, seed: int = 0) -> float:
    """Return the share of labelled instances that some anchor overlaps by half."""
    rng, anchors = np.random.default_rng(seed), corners(data.layout.boxes())
    boxes = [_box(mask) for _ in range(count) for mask in data.draw(rng).masks]
    return float(
        (
            intersection_over_union(anchors, np.array(boxes, float)).max(axis=0) >= POSITIVE_IOU
        ).mean()
    )
