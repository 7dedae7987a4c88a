"""Frames of messages: what is read, corrected, aligned and refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from soft_arm_description.rig import RigCamera
from soft_arm_vision.calibration.camera_correction import CameraCorrection
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import FrameSource

HEIGHT, WIDTH = 6, 8
RGB = np.random.default_rng(1).integers(0, 255, (HEIGHT, WIDTH, 3), np.uint8)
MM = np.full((HEIGHT, WIDTH), 500, np.uint16)


def header(frame_id='rgb'):
    return SimpleNamespace(frame_id=frame_id, stamp=SimpleNamespace(sec=3, nanosec=7))


def info(frame_id='rgb', **changes):
    k = [10.0, 0.0, 3.5, 0.0, 10.0, 2.5, 0.0, 0.0, 1.0]
    given = {'width': WIDTH, 'height': HEIGHT, 'k': k, 'd': [], 'distortion_model': 'plumb_bob'}
    given |= {'r': np.eye(3).ravel(), 'p': np.zeros(12), 'binning_x': 0, 'binning_y': 0}
    given['roi'] = SimpleNamespace(x_offset=0, y_offset=0, width=0, height=0)
    return SimpleNamespace(header=header(frame_id), **given | changes)


def image(pixels, encoding, frame_id='rgb', **changes):
    pixels = np.ascontiguousarray(pixels)
    given = {'height': len(pixels), 'width': pixels.shape[1], 'step': pixels[0].nbytes}
    given |= {'encoding': encoding, 'is_bigendian': 0, 'data': pixels.tobytes()}
    return SimpleNamespace(header=header(frame_id), **given | changes)


def source(unit_m=1e-3, **options):
    made = FrameSource(RigCamera(depth_unit_m=unit_m), **options)
    made.take_info(info())
    return made


def test_a_frame_has_metres_and_the_stamp_of_its_images():
    frame = source().frame(image(RGB, 'rgb8'), image(MM, '16UC1'))
    assert (frame.stamp_ns, frame.frame_id) == (3_000_000_007, 'rgb')
    np.testing.assert_array_equal(frame.rgb, RGB)
    assert frame.depth_m.dtype == np.float32 and frame.depth_m == pytest.approx(0.5)


@pytest.mark.parametrize(
    ('pixels', 'encoding', 'changes'),
    [
        (RGB[..., ::-1], 'bgr8', {}),
        (np.dstack([RGB, RGB[..., :1]]), 'rgba8', {}),
        (np.pad(RGB, ((0, 0), (0, 2), (0, 0))), 'rgb8', {'width': WIDTH}),
    ],
)
def test_usual_encodings_and_padded_rows_are_read(pixels, encoding, changes):
    frame = source().frame(image(pixels, encoding, **changes), image(MM, '16UC1'))
    np.testing.assert_array_equal(frame.rgb, RGB)


def test_depth_has_its_unit_its_byte_order_its_holes_and_the_correction():
    correction = CameraCorrection(depth_scale=1.1, focal_length_scale=0.9, radial=0.0)
    made, colour = source(1e-4, correction=correction), image(RGB, 'rgb8')
    big = image(MM.byteswap(), '16UC1', is_bigendian=1)
    assert made.frame(colour, big).depth_m == pytest.approx(0.055)
    assert made.frame(colour, big).intrinsics.fx == pytest.approx(9.0)
    metres = np.full((HEIGHT, WIDTH), 0.5, np.float32)
    metres[0] = np.nan
    depth_m = made.frame(colour, image(metres, '32FC1')).depth_m
    assert not depth_m[0].any() and depth_m[1:] == pytest.approx(0.55)


@pytest.mark.parametrize(('encoding', 'unit'), [('16UC1', 1000.0), ('32FC1', 1.0)])
def test_a_stated_byte_order_that_is_not_that_of_the_numbers_is_refused(encoding, unit):
    slope = np.linspace(0.4, 0.6, HEIGHT * WIDTH).reshape(HEIGHT, WIDTH) * unit
    numbers = slope.astype(np.uint16 if encoding == '16UC1' else np.float32)
    colour, big = image(RGB, 'rgb8'), image(numbers.byteswap(), encoding, is_bigendian=1)
    assert source().frame(colour, big).depth_m == pytest.approx(slope / unit, abs=1e-3)
    with pytest.raises(VisionError, match='is_bigendian 1'):
        source().frame(colour, image(numbers, encoding, is_bigendian=1))


@pytest.mark.parametrize(
    ('topic', 'fx', 'distortion'),
    [
        ('/cam/image_raw', 10.0, (0.01, 0.0, 0.0, 0.0)),
        ('/cam/image_rect_color/compressed', 9.0, ()),
    ],
)
def test_rectified_images_have_the_projection_of_their_camera_info(topic, fx, distortion):
    made = FrameSource(RigCamera(), colour_topic=topic)
    p = [9.0, 0.0, 3.0, 0.0, 0.0, 9.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    made.take_info(info(d=[0.01, 0.0, 0.0, 0.0], p=p))
    assert (made.intrinsics.fx, made.intrinsics.distortion) == (fx, distortion)


def test_rectified_depth_has_the_projection_of_its_camera_info():
    options = {'colour_topic': '/cam/rgb/image_rect_color', 'depth_topic': '/cam/depth/image_rect'}
    made = FrameSource(RigCamera(), **options)
    p = [9.0, 0.0, 3.0, 0.0, 0.0, 9.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    made.take_info(info(d=[0.01, 0.0, 0.0, 0.0], p=p))
    made.take_depth_info(info(d=[0.02, 0.0, 0.0, 0.0], p=p))
    frame = made.frame(image(RGB, 'rgb8'), image(MM, '16UC1'))
    assert frame.depth_m == pytest.approx(0.5)  # camera infos of equal rectified images


def test_depth_of_another_frame_is_aligned_or_refused():
    asked = []

    def pose_of(target, frame):
        asked.append((target, frame))
        T = np.eye(4)
        T[2, 3] = 0.1
        return T

    made = source(pose_of=pose_of)
    pair = image(RGB, 'rgb8'), image(MM, '16UC1', 'infrared')
    with pytest.raises(VisionError, match='not aligned'):
        made.frame(*pair)
    k = [5.0, 0.0, 3.5, 0.0, 5.0, 2.5, 0.0, 0.0, 1.0]
    made.take_depth_info(info('infrared', k=k))
    assert made.frame(*pair).depth_m[2, 3] == pytest.approx(0.6)
    made.frame(*pair)
    assert asked == [('rgb', 'infrared')]


def test_frames_and_camera_infos_that_contradict_each_other_are_refused():
    made, pair = source(), (image(RGB, 'rgb8'), image(MM, '16UC1', 'infrared'))
    made.take_depth_info(info('infrared'))
    with pytest.raises(VisionError, match='aligned-depth'):
        made.frame(*pair)
    made = source(is_aligned=True)
    made.take_depth_info(info('infrared'))
    assert made.frame(*pair).depth_m == pytest.approx(0.5)
    made.take_info(info('left'))
    with pytest.raises(VisionError, match="camera info in 'left'"):
        made.frame(*pair)


@pytest.mark.parametrize(
    'changes',
    [
        {'binning_x': 2},
        {'roi': SimpleNamespace(x_offset=1, y_offset=0, width=WIDTH - 1, height=HEIGHT)},
        {'p': [20.0, 0, 3.5, 0, 0, 20.0, 2.5, 0, 0, 0, 1.0, 0]},
    ],
)
def test_a_camera_info_of_other_pixels_is_refused(changes):
    made = source()
    made.take_info(info(**changes))
    with pytest.raises(VisionError, match='camera info'):
        made.frame(image(RGB, 'rgb8'), image(MM, '16UC1'))


@pytest.mark.parametrize(
    ('colour', 'depth', 'words'),
    [
        (image(RGB, 'no such'), image(MM, '16UC1'), 'encoding'),
        (image(RGB, 'rgb8', step=3), image(MM, '16UC1'), 'damaged'),
        (image(RGB, 'rgb8', data=b''), image(MM, '16UC1'), 'damaged'),
        (image(RGB, 'rgb8'), image(RGB, 'rgb8'), 'depth of encoding'),
        (image(RGB, 'rgb8'), image(MM[::2], '16UC1'), 'differ in size'),
        (image(RGB, 'rgb8', 'left'), image(MM, '16UC1'), "in frame 'left'"),
    ],
)
def test_what_cannot_be_used_is_refused(colour, depth, words):
    with pytest.raises(VisionError, match=words):
        source(frame_id='rgb').frame(colour, depth)


def test_an_unusable_camera_info_is_the_reason_until_a_better_one_comes():
    made, pair = source(), (image(RGB, 'rgb8'), image(MM, '16UC1'))
    made.take_info(info(distortion_model='equidistant'))
    with pytest.raises(VisionError, match='equidistant'):
        made.frame(*pair)
    for model in ('plumb_bob', 'rational_polynomial', ''):
        made.take_info(info(distortion_model=model))
        made.frame(*pair)
