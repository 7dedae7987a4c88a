"""The four losses of YOLACT: class, box, mask and semantic segmentation."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from soft_arm_training.anchor_labels import NEUTRAL
from soft_arm_training.network import Output

WEIGHTS = {'class': 1.0, 'box': 1.5, 'mask': 6.125, 'semantic': 1.0}
NEGATIVES_PER_POSITIVE = 3
MIN_NEGATIVES = 24  # per image, also in those without an instance
MAX_MASKS = 100  # anchors whose masks are compared, per picture


@dataclass
class Targets:
    """Targets of the network's output for one batch.

    Attributes:
        labels: 1 + class, 0 background, -1 neutral, of each anchor, shape (b, n), int64.
        boxes: Relative to the anchors, where the label is positive, shape (b, n, 4).
        instance: Index of each anchor's instance in its picture, shape (b, n), int64.
        masks: Of each picture's instances at the prototypes' size, list of (m, h / 4, w / 4), 0..1.
        frames: Corner boxes of the instances in pixels of the prototypes, list of (m, 4).
        semantic: Where each class is, shape (b, c, h / 8, w / 8), 0..1.
    """

    labels: Tensor
    boxes: Tensor
    instance: Tensor
    masks: list[Tensor]
    frames: list[Tensor]
    semantic: Tensor


def losses(output: Output, targets: Targets) -> dict[str, Tensor]:
    """Return the weighted losses by name; training minimises their sum."""
    positive, semantic = targets.labels > 0, output.semantic
    assert semantic is not None, 'only a network in training has semantic logits'
    count = positive.sum().clamp(min=1)
    found = {
        'class': _class_loss(output.scores, targets.labels, positive) / count,
        'box': functional.smooth_l1_loss(
            output.boxes[positive], targets.boxes[positive], reduction='sum'
        )
        / count,
        'mask': _mask_loss(output, targets, positive) / count,
        'semantic': functional.binary_cross_entropy_with_logits(semantic, targets.semantic),
    }
    return {name: WEIGHTS[name] * value for name, value in found.items()}


def _class_loss(scores: Tensor, labels: Tensor, positive: Tensor) -> Tensor:
    """Return the cross entropy of all positives and of the three hardest negatives for each."""
    every = functional.cross_entropy(scores.transpose(1, 2), labels.clamp(min=0), reduction='none')
    with torch.no_grad():
        hardness = every.masked_fill(positive | (labels == NEUTRAL), -1.0)
        rank = hardness.argsort(dim=1, descending=True).argsort(dim=1)
        wanted = (NEGATIVES_PER_POSITIVE * positive.sum(dim=1)).clamp(min=MIN_NEGATIVES)
        negative = (rank < wanted[:, None]) & (hardness >= 0)
    return every[positive | negative].sum()


def _mask_loss(output: Output, targets: Targets, positive: Tensor) -> Tensor:
    """Return the binary cross entropy of the masks inside their boxes, divided by the box areas."""
    total = output.prototypes.sum() * 0
    rows = torch.arange(output.prototypes.shape[-2])[None, :, None]
    columns = torch.arange(output.prototypes.shape[-1])[None, None, :]
    for i, (prototypes, coefficients) in enumerate(
        zip(output.prototypes, output.coefficients, strict=True)
    ):
        anchors = positive[i].nonzero()[:, 0]
        share = max(1.0, len(anchors) / MAX_MASKS)
        if share > 1:
            anchors = anchors[torch.linspace(0, len(anchors) - 1, MAX_MASKS).long()]
        if len(anchors) == 0:
            continue
        which = targets.instance[i, anchors]
        logits = torch.einsum('nk,khw->nhw', coefficients[anchors], prototypes)
        left, top, right, bottom = (
            edge[:, None, None] for edge in targets.frames[i][which].unbind(dim=1)
        )
        inside = (columns + 1 > left) & (columns < right) & (rows + 1 > top) & (rows < bottom)
        loss = functional.binary_cross_entropy_with_logits(
            logits, targets.masks[i][which], reduction='none'
        )
        area = ((right - left) * (bottom - top)).clamp(min=1)
        total = total + share * (loss * inside / area).sum()
    return total
