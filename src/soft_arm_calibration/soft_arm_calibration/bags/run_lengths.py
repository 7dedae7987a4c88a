"""Masks as COCO run lengths."""

from typing import Any

import numpy as np
from pycocotools import mask as cocomask

from soft_arm_io.yaml_file import shown
from soft_arm_vision.errors import VisionError


def run_lengths(mask: np.ndarray) -> dict[str, Any]:
    """Return COCO's compressed run-length encoding of a mask (h, w)."""
    encoded = cocomask.encode(np.asfortranarray(mask, np.uint8))
    return {'size': list(mask.shape), 'counts': encoded['counts'].decode('ascii')}


def mask_of_runs(runs: dict[str, Any], shape: tuple[int, int]) -> np.ndarray:
    """Return the mask (h, w) of COCO's run lengths, compressed or not.

    Raises:
        VisionError: If they do not fit the image.
    """
    counts = runs['counts']
    counts = _counts(counts) if isinstance(counts, str) else counts
    if tuple(runs['size']) != tuple(shape) or sum(counts) != shape[0] * shape[1]:
        size = shown(runs['size'], plain=True)
        raise VisionError(f'run lengths of {size} px do not fit an image of {shape} px')
    return np.repeat(np.arange(len(counts)) % 2 == 1, counts).reshape(shape, order='F')


def _counts(text: str) -> list[int]:
    """Return the run lengths in COCO's compressed text.

    They are read here, since pycocotools 2.0.11 reads and writes past the end of a text that is
    cut short. Each character holds five bits and says whether more follow; from the fourth length
    on the text holds the difference to the last but one.
    """
    counts: list[int] = []
    length = bits = 0
    for character in text:
        digit = ord(character) - ord('0')
        length |= (digit & 31) << bits
        bits += 5
        if not 0 <= digit < 64 or bits > 35:
            break
        if digit < 32:
            length -= (digit & 16) << bits - 4
            counts.append(length + (counts[-2] if len(counts) > 2 else 0))
            length = bits = 0
    if bits or any(count < 0 for count in counts):
        raise VisionError(f'{shown(text)} are no run lengths of a mask')
    return counts
