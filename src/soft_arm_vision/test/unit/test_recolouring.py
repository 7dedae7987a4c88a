"""Rings of any paint look to the network like those that it has learned."""

import colorsys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soft_arm_vision.errors import VisionError
from soft_arm_vision.segmentation.segmenter import make_segmenter
from soft_arm_vision.segmentation.yolact.exported import (
    SHIPPED,
    SHIPPED_FOR_GREY,
    ExportedYolact,
)
from soft_arm_vision.segmentation.yolact.recolouring import painted, recoloured

ORANGE = (1.0, 0.45, 0.05)
coloured = st.builds(colorsys.hsv_to_rgb, st.floats(0, 1), st.floats(0.5, 0.95), st.floats(0.25, 1))


def chromaticity(rgb):
    return np.asarray(rgb) / np.mean(rgb, axis=-1, keepdims=True) - 1


@given(coloured, coloured, st.floats(0.2, 0.5))
def test_coloured_paint_gets_the_known_hue_and_greys_stay(paint, known, shade):
    picture = np.array([[255 * shade * np.array(paint), [70.0] * 3]], np.float32)
    seen = recoloured(picture, paint, known)
    assert chromaticity(seen[0, 0]) == pytest.approx(chromaticity(known), abs=1e-3)
    assert seen[0].mean(axis=1) == pytest.approx(picture[0].mean(axis=1), rel=1e-4)
    assert seen[0, 1] == pytest.approx([70.0] * 3, abs=1e-2)


@given(st.floats(0.03, 1), st.floats(0.5, 1))
def test_grey_paint_gets_the_known_hue_and_colours_lose_theirs(value, shade):
    grey = (value,) * 3
    picture = np.array([[255 * shade * np.array(grey), [230.0, 20, 20]]], np.float32)
    ring, other = recoloured(picture, grey, ORANGE)[0]
    assert chromaticity(ring) == pytest.approx(chromaticity(ORANGE), abs=1e-3)
    assert chromaticity(other) == pytest.approx(np.zeros(3), abs=1e-3)


@given(coloured, coloured)
def test_own_paint_is_shown_as_it_is_and_painting_is_undone(paint, new):
    picture = np.array([[60 * np.array(paint), 40 * np.array(paint)]], np.float32)
    assert recoloured(picture, paint, paint) is picture
    seen = recoloured(painted(picture, paint, new), new, paint)
    assert chromaticity(seen) == pytest.approx(chromaticity(picture), abs=1e-2)


@pytest.mark.parametrize('rgb', [(0.1, 0.2, 0.9), (0.1, 0.7, 0.2), (0.6, 0.6, 0.6)])
def test_ring_of_another_colour_is_found(ring, render_ring, rgb):
    frame = render_ring([0.02, -0.01, 0.45], [0.3, 1, 0.4])
    colour = frame.colour.copy()
    colour[frame.visible] = painted(frame.colour, ring.colour_rgb, rgb)[frame.visible]
    segmenter = make_segmenter('yolact', ring.model_copy(update={'colour_rgb': rgb}))
    found, _ = segmenter.network.detect(colour, frame.depth / np.float32(1000))
    assert found.scores[0] > 0.9


@pytest.mark.parametrize(
    ('network', 'rgb', 'why'),
    [
        (SHIPPED, (0.5, 0.5, 0.5), 'no grey, white or black one'),
        (SHIPPED_FOR_GREY, (0.05, 0.05, 0.05), 'mean is below 0.3'),
    ],
)
def test_network_refuses_a_paint_that_it_cannot_find(ring, network, rgb, why):
    with pytest.raises(VisionError, match=f'{why}.*softarm train'):
        ExportedYolact(network, ring.model_copy(update={'colour_rgb': rgb}))
