import numpy as np
import pytest

from soft_arm_description.robot import load_robot
from soft_arm_vision.clouds.cloud import depth_in_metres
from soft_arm_vision.errors import VisionError
from soft_arm_vision.ring.detector import RingDetector
from soft_arm_vision.segmentation.colour_segmenter import ColourSegmenter
from soft_arm_vision.segmentation.segmenter import make_segmenter, ring_of
from soft_arm_vision.segmentation.yolact.exported import SHIPPED

CENTRE, AXIS = [0.02, -0.01, 0.47], [0.3, 1, 0.2]


def whole(candidate, shape):
    mask = np.zeros(shape, bool)
    mask[candidate.window] = candidate.mask
    return mask


def overlap(frame, candidate):
    mask = whole(candidate, frame.visible.shape)
    return (mask & frame.visible).sum() / (mask | frame.visible).sum()


@pytest.mark.parametrize('exposure', [0.35, 0.7, 1.0, 1.5])
def test_exposure_is_tolerated(render_ring, ring, exposure):
    frame = render_ring(CENTRE, AXIS)
    colour = np.clip(frame.colour * exposure, 0, 255).astype(np.uint8)
    found = next(
        ColourSegmenter(ring).segment(colour, depth_in_metres(frame.depth), frame.intrinsics)
    )
    assert overlap(frame, found) > 0.93


def test_no_ring_and_things_of_its_colour(render_ring, ring):
    frame = render_ring(CENTRE, AXIS, ring_present=False)
    depth_m = depth_in_metres(frame.depth)
    segmenter = ColourSegmenter(ring)
    assert list(segmenter.segment(frame.colour, depth_m, frame.intrinsics)) == []
    for size, candidates in ((4, 0), (400, 1)):  # a speck, and a board, which depth must refuse
        colour = frame.colour.copy()
        colour[40 : 40 + size, 40 : 40 + size] = (255, 115, 13)
        assert len(list(segmenter.segment(colour, depth_m, frame.intrinsics))) >= candidates
        assert RingDetector(ring, segmenter).detect(colour, depth_m, frame.intrinsics).fit is None


def test_ring_of_another_colour_is_not_one(render_ring, ring):
    frame = render_ring(CENTRE, AXIS)
    swapped = np.ascontiguousarray(frame.colour[:, :, ::-1])
    assert (
        list(ColourSegmenter(ring).segment(swapped, depth_in_metres(frame.depth), frame.intrinsics))
        == []
    )


@pytest.mark.parametrize('shift_m', [0.03, 0.055, 0.3])
def test_ring_that_jumps_out_of_the_window_is_found_whole(render_ring, ring, shift_m):
    segmenter = ColourSegmenter(ring)
    found = None
    for x in (-0.15, -0.15 + shift_m):
        frame = render_ring([x, 0, 0.47], AXIS)
        depth_m = depth_in_metres(frame.depth)
        found = next(segmenter.segment(frame.colour, depth_m, frame.intrinsics, found))
    assert overlap(frame, found) > 0.93


@pytest.mark.parametrize('robot', ['modal_bellows', 'squid_grasper'])
def test_robot_without_a_ring_is_named(robot):
    with pytest.raises(VisionError, match=f'robot {robot} has no ring.*add the key ring'):
        ring_of(load_robot(robot))


def test_unknown_segmenter(ring):
    with pytest.raises(VisionError, match="'magic' is not known: use one of"):
        make_segmenter('magic', ring)


@pytest.mark.parametrize(
    'rgb', [(0.5, 0.5, 0.5), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0.6, 0.5, 0.5), (0.1, 0.0, 0.0)]
)
def test_ring_without_a_colour_is_refused(ring, rgb):
    with pytest.raises(VisionError, match='grey, white or black.*paint the ring'):
        make_segmenter('colour', ring.model_copy(update={'colour_rgb': rgb}))


def test_network_is_for_yolact_only(ring):
    with pytest.raises(VisionError, match=r"network .*\.onnx: 'colour' uses none"):
        make_segmenter('colour', ring, SHIPPED)
