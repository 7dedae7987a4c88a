"""Anchor boxes, and SSD's box encoding.

Boxes are in pixels of the network's input.
"""

from dataclasses import dataclass

import numpy as np

VARIANCES = (0.1, 0.2)  # SSD's scaling of centre and size


@dataclass(frozen=True)
class AnchorLayout:
    """Layout of the anchors.

    Attributes:
        width_px, height_px: Size of the network's input.
        strides_px: Size of the cells of each level.
        sizes_px: Square root of the area of each level's smallest boxes.
        octaves: Sizes of each level relative to its smallest.
        ratios: Width over height.
    """

    width_px: int = 320
    height_px: int = 240
    strides_px: tuple[int, ...] = (8, 16, 32)
    sizes_px: tuple[float, ...] = (24.0, 48.0, 88.0)
    octaves: tuple[float, ...] = (1.0, 1.4)
    ratios: tuple[float, ...] = (1.0, 2.0, 0.5)

    @property
    def per_cell(self) -> int:
        """Number of anchors of a cell."""
        return len(self.octaves) * len(self.ratios)

    def level_shapes(self) -> list[tuple[int, int]]:
        """Numbers of rows and columns of the cells of each level."""
        return [(-(-self.height_px // s), -(-self.width_px // s)) for s in self.strides_px]

    def boxes(self) -> np.ndarray:
        """Return all anchors as (centre u, centre v, width, height), shape (n, 4).

        They are ordered by level, row, column, octave and ratio.
        """
        levels = []
        octaves = np.repeat(self.octaves, len(self.ratios))
        root = np.sqrt(np.tile(self.ratios, len(self.octaves)))
        for (rows, columns), stride, size in zip(
            self.level_shapes(), self.strides_px, self.sizes_px, strict=True
        ):
            v, u = np.mgrid[0:rows, 0:columns]
            centres = (np.stack([u, v], axis=-1) + 0.5) * stride
            sizes = size * octaves[:, None] * np.column_stack([root, 1 / root])
            level = np.concatenate(
                np.broadcast_arrays(centres[:, :, None], sizes[None, None]), axis=-1
            )
            levels.append(level.reshape(-1, 4))
        return np.concatenate(levels).astype(np.float32)


def corners(boxes: np.ndarray) -> np.ndarray:
    """Return (centre, size) boxes as (left, top, right, bottom), shape (n, 4)."""
    return np.concatenate(
        [boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2], axis=-1
    )


def intersection_over_union(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the overlap of every corner box in a (n, 4) with every one in b (m, 4), (n, m)."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    overlap = np.prod(np.clip(high - low, 0, None), axis=-1)
    area_a, area_b = (np.prod(np.clip(x[:, 2:] - x[:, :2], 0, None), axis=-1) for x in (a, b))
    return overlap / np.maximum(area_a[:, None] + area_b[None] - overlap, 1e-9)


def encode(boxes: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Return corner boxes relative to anchors (centre, size), each (n, 4)."""
    centre, size = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    shift = (centre - anchors[:, :2]) / (VARIANCES[0] * anchors[:, 2:])
    return np.concatenate(
        [shift, np.log(np.maximum(size, 1e-3) / anchors[:, 2:]) / VARIANCES[1]], axis=1
    )


def decode(relative: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Return corner boxes (n, 4): the inverse of `encode`."""
    centre = anchors[:, :2] + VARIANCES[0] * relative[:, :2] * anchors[:, 2:]
    size = anchors[:, 2:] * np.exp(np.clip(VARIANCES[1] * relative[:, 2:], -6, 6))
    return corners(np.concatenate([centre, size], axis=1))
