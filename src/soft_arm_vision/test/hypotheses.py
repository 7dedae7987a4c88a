"""Finds of a segmenter, made from masks of a whole picture."""

import numpy as np

from soft_arm_vision.segmentation.candidate import Candidate


def candidate_from_mask(mask: np.ndarray) -> Candidate:
    """The find with exactly this mask."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return Candidate(
        mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1],
        int(rows[0]),
        int(columns[0]),
        1.0,
    )
