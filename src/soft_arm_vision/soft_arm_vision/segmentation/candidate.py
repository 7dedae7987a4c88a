"""One candidate of a segmenter."""

from dataclasses import dataclass

import numpy as np

# Around a candidate, where the ring is looked for in the next frame: at 0.5 m, a ring that moves
# 1 m/s shifts by this much between two frames at 30 Hz.
TRACKING_MARGIN_PX = 40


@dataclass(frozen=True)
class Candidate:
    """One candidate: its mask inside a window of the image.

    Attributes:
        mask: Shape (h, w), bool.
        row, column: The window's first pixel in the whole image.
        score: Confidence of the segmenter, 0..1.
    """

    mask: np.ndarray
    row: int
    column: int
    score: float

    @property
    def window(self) -> tuple[slice, slice]:
        """Rows and columns of the window in the whole image."""
        return slice(self.row, self.row + self.mask.shape[0]), slice(
            self.column, self.column + self.mask.shape[1]
        )

    def inside(self, shape: tuple[int, int]) -> bool:
        """Return whether the window lies inside an image of this shape."""
        return all(s.stop <= size for s, size in zip(self.window, shape, strict=True))

    def widened(self, by_px: int, shape: tuple[int, int]) -> tuple[slice, slice]:
        """The window with room on each side, inside an image of this shape."""
        rows, columns = (
            slice(max(0, s.start - by_px), min(size, s.stop + by_px))
            for s, size in zip(self.window, shape, strict=True)
        )
        return rows, columns

    def mask_in(self, rows: slice, columns: slice) -> np.ndarray:
        """The mask in a larger window, bool."""
        v, u = self.window
        return np.pad(
            self.mask,
            (
                (v.start - rows.start, rows.stop - v.stop),
                (u.start - columns.start, columns.stop - u.stop),
            ),
        )
