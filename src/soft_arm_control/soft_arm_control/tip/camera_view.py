"""Field of view of the camera that measures the tip."""

from dataclasses import dataclass

import numpy as np

from soft_arm_control.errors import OutsideViewError


@dataclass(frozen=True)
class CameraView:
    """Pinhole image of a camera; a lens that distorts moves its border by some pixels.

    Attributes:
        T_base_camera: Pose of the optical frame in the base frame (z forward, x right, y down),
            shape (4, 4).
        matrix: Intrinsics [px], shape (3, 3).
        width_px, height_px: Size of the image.
    """

    T_base_camera: np.ndarray
    matrix: np.ndarray
    width_px: int
    height_px: int

    def check(self, point_m: np.ndarray) -> None:
        """Raise OutsideViewError if a tip at a point [m], base frame, is not in the image."""
        R, origin_m = self.T_base_camera[:3, :3], self.T_base_camera[:3, 3]
        across_m, down_m, ahead_m = R.T @ (point_m - origin_m)
        if ahead_m <= 0.0:
            where = f'{-1e3 * ahead_m:.0f} mm behind the camera'
        else:
            u, v, _ = self.matrix @ [across_m / ahead_m, down_m / ahead_m, 1.0]
            beyond_px = max(-u, u - self.width_px + 1, -v, v - self.height_px + 1)
            if beyond_px <= 0.0:
                return
            size = f'{self.width_px} x {self.height_px} px'
            where = f'{beyond_px:.0f} px outside the image of {size}'
        raise OutsideViewError(
            f'target {np.round(1e3 * point_m, 1).tolist()} mm: {where}, where the camera cannot '
            'measure the tip: choose a target in view, or set open_loop'
        )
