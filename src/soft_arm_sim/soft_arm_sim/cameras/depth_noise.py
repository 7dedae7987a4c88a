"""Imperfections of a stereo depth camera, from random fields that are drawn once.

Each frame then costs two passes over the image.
"""

import cv2
import numpy as np
from scipy.ndimage import gaussian_filter

from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_sim.cameras.parameters import Noise

FIELDS = 4


class DepthNoise:
    """Adds the sensor's imperfections to exact depth and colour.

    Args:
        noise: Its parameters.
        shape: (height, width) of the image [px].
        seed: Draws the fields and their order.
    """

    def __init__(self, noise: Noise, shape: tuple[int, int], seed: int):
        self._noise, self._random = noise, np.random.default_rng(seed)
        fields = [
            gaussian_filter(
                self._random.standard_normal(shape, dtype=np.float32),
                noise.depth_correlation_px,
                mode='wrap',
            )
            for _ in range(FIELDS)
        ]
        # Every field twice in succession, so that a part of any beginning has the size of an image.
        self._axial = np.stack([np.tile((f / f.std()).ravel(), 2) for f in fields])
        holes = gaussian_filter(
            self._random.standard_normal(shape, dtype=np.float32), noise.hole_size_px, mode='wrap'
        )
        self._holes = np.tile((holes < np.quantile(holes, noise.hole_share)).ravel(), 2)
        self._chance, self._mix = (
            np.tile(self._random.random(shape, dtype=np.float32).ravel(), 2) for _ in range(2)
        )
        self._coded = np.rint(255 * np.linspace(0, 1, 256) ** (1 / noise.colour_gamma)).astype(
            np.uint8
        )
        colour = np.clip(
            np.rint(noise.colour_sigma * self._random.standard_normal((*shape, 3))), -128, 127
        )
        self._lighter, self._darker = (
            np.tile(np.maximum(part, 0).astype(np.uint8).ravel(), 2) for part in (colour, -colour)
        )

    def depth(self, depth_m: np.ndarray) -> np.ndarray:
        """Reported depth in quanta (uint16, 0 = none) of exact depth [m], both (height, width)."""
        noise, result = self._noise, np.empty(depth_m.shape, np.uint16)
        shift = self._random.integers(depth_m.size, size=3)
        sign = float(self._random.choice((-1.0, 1.0)))
        axial = self._axial[self._random.integers(FIELDS)]
        _sense_depth(
            depth_m,
            axial[shift[0] :],
            self._holes[shift[1] :],
            self._chance[shift[2] :],
            self._mix[shift[2] :],
            sign * noise.depth_sigma_m_per_m2,
            1.0 + noise.depth_scale_error,
            noise.depth_quantum_m,
            *noise.depth_range_m,
            noise.border_width_px,
            noise.border_step_m,
            noise.flying_pixel_share,
            noise.border_hole_share,
            result,
        )
        return result

    def colour(self, rgb: np.ndarray) -> np.ndarray:
        """Noisy copy of a colour image, (height, width, 3) uint8."""
        first = int(self._random.integers(rgb.size))
        lighter, darker = (
            part[first : first + rgb.size].reshape(rgb.shape)
            for part in (self._lighter, self._darker)
        )
        return cv2.subtract(cv2.add(cv2.LUT(rgb, self._coded), lighter), darker)


@njit(cache=True, nogil=True)
def _sense_depth(
    depth_m: np.ndarray,
    axial: np.ndarray,
    holes: np.ndarray,
    chance: np.ndarray,
    mix: np.ndarray,
    sigma: float,
    scale: float,
    quantum_m: float,
    nearest_m: float,
    farthest_m: float,
    border: int,
    step_m: float,
    flying: float,
    border_hole: float,
    result: np.ndarray,
) -> None:
    height, width = depth_m.shape
    for v in range(height):
        above, below = depth_m[max(v - border, 0)], depth_m[min(v + border, height - 1)]
        for u in range(width):
            z = depth_m[v, u]
            other, step = z, np.float32(0.0)
            left, right = depth_m[v, max(u - border, 0)], depth_m[v, min(u + border, width - 1)]
            for n in (left, right, above[u], below[u]):
                if abs(n - z) > step:
                    other, step = n, abs(n - z)
            i = v * width + u
            lost = holes[i]
            if step > step_m:
                if chance[i] < flying:
                    z += (other - z) * mix[i]
                elif chance[i] < flying + border_hole:
                    lost = True
            z = z * scale + sigma * z * z * axial[i]
            if lost or z < nearest_m or z > farthest_m:
                result[v, u] = 0
            else:
                result[v, u] = np.uint16(z / quantum_m + 0.5)
