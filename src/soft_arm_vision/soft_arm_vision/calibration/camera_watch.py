"""Detect whether the camera has moved since the start, by corners of the background."""

import cv2
import numpy as np

CORNERS = 150
# With fewer corners tracked nothing is concluded: the image is dark or the view is blocked.
MIN_TRACKED = 15
THERE_AND_BACK_PX = 0.5
MOVED_PX = 2.0  # 1.5 mm at 0.47 m
PATIENCE_LOOKS = 3
_WINDOW = {'winSize': (21, 21), 'maxLevel': 4}


class CameraWatch:
    """Track the corners of the first image in later ones.

    An object that moves in the scene moves few corners; a camera that has moved moves all of them.

    Update it about once a second: an update takes some milliseconds.
    """

    def __init__(self) -> None:
        self._first: np.ndarray | None = None
        self._corners: np.ndarray | None = None
        self._looks_moved = 0
        self.shift_px: float | None = (
            None  # median at the last look, None where the background does not tell
        )

    @property
    def begun(self) -> bool:
        """Whether there is a first image."""
        return self._first is not None

    @property
    def moved(self) -> bool:
        """Whether several successive images show that the camera has moved since the first one."""
        return self._looks_moved >= PATIENCE_LOOKS

    def update(self, rgb: np.ndarray, still: np.ndarray | None = None) -> None:
        """Process one image; an image of another size becomes the first one.

        Args:
            rgb: Shape (h, w, 3), uint8.
            still: Not 0 where a first image shows nothing that moves, shape (h, w), uint8; None:
                anywhere. Markers on the tip have more corners than the rest of a picture.
        """
        grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
        if self._first is None or self._corners is None or self._first.shape != grey.shape:
            corners = cv2.goodFeaturesToTrack(grey, CORNERS, 0.02, 12, mask=still)
            self.shift_px, self._looks_moved = None, 0
            if corners is not None and len(corners) >= 2 * MIN_TRACKED:
                self._first, self._corners = grey, corners
            return
        now, found, _ = _tracked(self._first, grey, self._corners)
        back, again, _ = _tracked(grey, self._first, now)
        same = (found & again)[:, 0].astype(bool) & (
            np.linalg.norm(back - self._corners, axis=-1)[:, 0] < THERE_AND_BACK_PX
        )
        if same.sum() < MIN_TRACKED:
            self.shift_px = None
            return
        self.shift_px = float(np.median(np.linalg.norm((now - self._corners)[same, 0], axis=1)))
        self._looks_moved = self._looks_moved + 1 if self.shift_px > MOVED_PX else 0


def _tracked(first: np.ndarray, second: np.ndarray, corners: np.ndarray) -> tuple:
    return cv2.calcOpticalFlowPyrLK(first, second, corners, None, **_WINDOW)  # type: ignore[call-overload]
