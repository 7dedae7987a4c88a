"""The response of pixels, on drawn edges."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from soft_arm_vision.calibration.pixel_response import pixel_gamma

SIZE_PX, FINER, NOISE = 120, 8, 1.5


def gammas(gamma: float, blur_px: float) -> np.ndarray:
    """Return what edges with random directions, places and noise tell."""
    rng = np.random.default_rng(1)
    v, u = np.mgrid[:SIZE_PX, :SIZE_PX] - SIZE_PX / 2
    fine_px = (np.arange(-SIZE_PX * FINER, SIZE_PX * FINER) + 0.5) / FINER
    found = []
    for _ in range(15):
        angle, place_px = rng.uniform(0, 2 * np.pi), rng.uniform(-1, 1)
        inside_px = u * np.cos(angle) + v * np.sin(angle) + place_px
        light = np.where(fine_px > 0, 0.8, 0.05)
        seen = np.interp(inside_px, fine_px, gaussian_filter1d(light, max(blur_px, 0.3) * FINER))
        picture = 255 * seen ** (1 / gamma) + rng.normal(0, NOISE, seen.shape)
        found.append(pixel_gamma(np.clip(np.rint(picture), 0, 255), inside_px))
    return np.array(found)


@pytest.mark.parametrize('blur_px', [0.6, 1.0, 2.0])
@pytest.mark.parametrize('gamma', [1.5, 2.2, 3.0])
def test_blurred_edges_tell_the_exponent(gamma, blur_px):
    assert np.nanmedian(gammas(gamma, blur_px)) == pytest.approx(gamma, rel=0.1)


@pytest.mark.parametrize('blur_px', [0.0, 0.6, 1.0, 2.0])
def test_pixels_in_proportion_are_not_doubted(blur_px):
    assert np.mean(gammas(1.0, blur_px) == 1.0) > 0.7


def test_no_edge_tells_nothing():
    rng = np.random.default_rng(2)
    inside_px = np.broadcast_to(np.arange(-20.0, 20.0), (40, 40))
    assert np.isnan(pixel_gamma(np.full((40, 40), 255.0), inside_px))
    assert np.isnan(pixel_gamma(rng.uniform(0, 255, (40, 40)), np.full((40, 40), np.nan)))
