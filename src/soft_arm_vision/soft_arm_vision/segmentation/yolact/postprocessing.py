"""From raw predictions to detections: scores, boxes, Fast NMS and masks. NumPy only."""

from dataclasses import dataclass

import cv2
import numpy as np

from soft_arm_vision.segmentation.yolact.anchors import (
    AnchorLayout,
    decode,
    intersection_over_union,
)

CONSIDERED = 200  # best anchors of each class
NMS_IOU = 0.5
MAX_INSTANCES = 100
STRIDE_PX = 4  # size of the cells of the prototypes
MASK_MARGIN_PX = 1  # of the prototypes, kept around the predicted box


@dataclass(frozen=True, eq=False)
class Detections:
    """Instances of one image, best first.

    Attributes:
        scores: Probabilities, shape (n,), 0..1.
        classes: Index of the class of each instance, shape (n,).
        boxes: Corners in pixels of the network's input, shape (n, 4).
        coefficients: Coefficients of the prototypes, shape (n, k).
    """

    scores: np.ndarray
    classes: np.ndarray
    boxes: np.ndarray
    coefficients: np.ndarray


def postprocess(
    boxes: np.ndarray,
    scores: np.ndarray,
    coefficients: np.ndarray,
    anchors: np.ndarray,
    layout: AnchorLayout,
    min_score: float,
) -> Detections:
    """Return the instances of one image from raw predictions.

    Args:
        boxes, scores, coefficients: Predictions of every anchor, (n, 4), (n, 1 + c) logits, (n, k).
        anchors: Anchors of the layout, (n, 4).
        layout: The layout, with the size of the input.
        min_score: Least probability of a class.
    """
    # Odds against the background alone are an upper bound.
    odds = scores[:, 1:].max(axis=1) - scores[:, 0]
    likely = np.flatnonzero(odds >= np.log(min_score / (1 - min_score)))
    shifted = np.exp(scores[likely] - scores[likely].max(axis=1, keepdims=True))
    probability = np.zeros((len(scores), scores.shape[1] - 1), np.float32)
    probability[likely] = shifted[:, 1:] / shifted.sum(axis=1, keepdims=True)
    kept = []
    for which in range(probability.shape[1]):
        candidates = likely[probability[likely, which] >= min_score]
        candidates = candidates[np.argsort(-probability[candidates, which], kind='stable')][
            :CONSIDERED
        ]
        corner_boxes = decode(boxes[candidates], anchors[candidates])
        corner_boxes = np.clip(corner_boxes, 0, [layout.width_px, layout.height_px] * 2)
        stays = fast_nms(corner_boxes)
        anchor = candidates[stays]
        kept.append(
            (
                probability[anchor, which],
                np.full(len(anchor), which),
                corner_boxes[stays],
                coefficients[anchor],
            )
        )
    parts = [np.concatenate(part) for part in zip(*kept, strict=True)]
    order = np.argsort(-parts[0], kind='stable')[:MAX_INSTANCES]
    return Detections(*(part[order] for part in parts))


def fast_nms(boxes: np.ndarray) -> np.ndarray:
    """Return which boxes (n, 4), best first, no better box overlaps too much; shape (n,), bool."""
    if len(boxes) == 0:
        return np.zeros(0, bool)
    overlap = np.triu(intersection_over_union(boxes, boxes), k=1)
    return overlap.max(axis=0) <= NMS_IOU


def mask_logits(
    prototypes: np.ndarray, coefficients: np.ndarray, box: np.ndarray, stride_px: int = STRIDE_PX
) -> tuple[np.ndarray, int, int]:
    """Return the mask of one instance inside its box as logits, which are positive inside.

    Args:
        prototypes: Shape (k, h, w).
        coefficients: Shape (k,).
        box: Corners in pixels of the network's input.
        stride_px: Size of the cells of the prototypes.

    Returns:
        Logits (rows, columns) of the box's cells, and the first row and column.
    """
    _, height, width = prototypes.shape
    left, top = np.maximum(np.floor(box[:2] / stride_px).astype(int) - MASK_MARGIN_PX, 0)
    right, bottom = np.minimum(
        np.ceil(box[2:] / stride_px).astype(int) + MASK_MARGIN_PX, (width, height)
    )
    window = prototypes[:, top:bottom, left:right]
    return np.tensordot(coefficients, window, axes=1), int(top), int(left)


def assemble(
    prototypes: np.ndarray,
    coefficients: np.ndarray,
    box: np.ndarray,
    layout: AnchorLayout,
    shape: tuple[int, int],
    stride_px: int = STRIDE_PX,
) -> tuple[np.ndarray, int, int]:
    """Return the mask of one instance in pixels of the whole image.

    Returns:
        Mask (rows, columns), bool, and its first row and column; an empty one has size 0.
    """
    logits, top, left = mask_logits(prototypes, coefficients, box, stride_px)
    if logits.size == 0:
        return np.zeros((0, 0), bool), 0, 0
    sx, sy = shape[1] / layout.width_px, shape[0] / layout.height_px
    left_px, top_px, right_px, bottom_px = box * (sx, sy, sx, sy)
    first_row, first_column = max(int(top_px - sy), 0), max(int(left_px - sx), 0)
    last_row = min(int(np.ceil(bottom_px + sy)), shape[0])
    last_column = min(int(np.ceil(right_px + sx)), shape[1])
    # centre of pixel p lies at (p + 0.5) / (stride * scale) - 0.5 among the cells
    u = (np.arange(first_column, last_column) + 0.5) / (stride_px * sx) - 0.5 - left
    v = (np.arange(first_row, last_row) + 0.5) / (stride_px * sy) - 0.5 - top
    if len(u) == 0 or len(v) == 0:
        return np.zeros((0, 0), bool), 0, 0
    maps = np.meshgrid(u.astype(np.float32), v.astype(np.float32))
    fine = cv2.remap(
        logits.astype(np.float32), *maps, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return fine > 0, first_row, first_column
