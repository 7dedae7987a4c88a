"""Latest transforms of a graph, by the names of their frames."""

import contextlib
from typing import Any

import numpy as np

from soft_arm_description.poses import PoseError, pose_matrix

MAX_FRAMES = 5000


class LatestFrames:
    """Newest transform of every frame relative to its parent."""

    def __init__(self) -> None:
        self._parents: dict[str, tuple[str, np.ndarray]] = {}

    def set(self, parent: str, child: str, T_parent_child: np.ndarray) -> None:
        """Store a transform (4, 4); frames beyond 5000 are ignored."""
        if child in self._parents or len(self._parents) < MAX_FRAMES:
            self._parents[child] = parent, T_parent_child

    def take(self, message: Any) -> None:
        """Store all valid transforms of a tf message."""
        for transform in message.transforms:
            with contextlib.suppress(PoseError):
                T = pose_matrix(transform.transform.translation, transform.transform.rotation)
                self.set(transform.header.frame_id, transform.child_frame_id, T)

    def pose(self, frame: str) -> np.ndarray | None:
        """Return the pose (4, 4) of a frame in the root of its tree.

        It is None for an unknown frame and for cyclic parents.
        """
        if frame not in self._parents:
            return None
        T = np.eye(4)
        for _ in range(MAX_FRAMES):
            entry = self._parents.get(frame)
            if entry is None:
                return T
            frame, step = entry
            T = step @ T
        return None
