"""Recordings of common camera drivers are read, or refused with a remedy."""

import copy
import json
import struct

import cv2
import numpy as np
import pytest
from changed_bag import COLOUR, DEPTH, INFO, STORE, TRUTH, changed_bag, later

from soft_arm_calibration.bags.bag_cameras import CameraChoice, cameras
from soft_arm_calibration.bags.bag_frames import read_frames
from soft_arm_calibration.cli import bag_evaluate
from soft_arm_description.rig import RigCamera
from softarm_cli.bags.file import open_bag

CAMERA, DEPTH_FRAME = RigCamera(), 'camera_depth_optical_frame'
COMPRESSED = STORE.types['sensor_msgs/msg/CompressedImage']


def evaluated(capsys, bag, *options):
    """Return error of the tip [m], None without one, exit code, and text on standard error."""
    code = bag_evaluate.main([str(bag), '--tip-source', 'colour', '--json', *options])
    captured = capsys.readouterr()
    if code:
        return None, code, captured.err
    return json.loads(captured.out)['bags'][0]['detector']['errors'], code, captured.err


def frames_of(path, **choice):
    with open_bag(path) as bag:
        topics = cameras(bag, CameraChoice(**choice))[0]
        return topics, list(read_frames(bag, CAMERA, topics))


@pytest.mark.parametrize('ms', [0.001, 1, 8, 20])
def test_unequal_stamps_are_paired_and_stated(tmp_path, capsys, ms):
    def change(topic, message):
        yield topic, later(message, round(1e6 * ms)) if topic == DEPTH else message

    errors, code, error = evaluated(capsys, changed_bag(tmp_path / 'bag', change))
    stated_ms = ms if ms < 16 else ms - 33.333
    assert code == 0 and f'stamps of depth and colour differ by {stated_ms:.3f} ms' in error
    assert errors['centre_mean_m'] < 4e-3  # the tip moves


def test_stamps_without_anything_in_common_are_an_error(tmp_path, capsys):
    def change(topic, message):
        yield topic, later(message, 10**10) if topic == DEPTH else message

    _, code, error = evaluated(capsys, changed_bag(tmp_path / 'bag', change))
    assert code == 2 and 'their stamps differ by 9833.333 ms' in error


@pytest.mark.parametrize('topic', [COLOUR, DEPTH, INFO])
def test_a_damaged_message_costs_one_frame(tmp_path, capsys, topic):
    numbers = iter(range(100))

    def change(name, message):
        if name == topic and next(numbers) == 2:
            raw = bytes(STORE.serialize_cdr(message, message.__msgtype__))
            message = raw.replace(b'optical', b'opti\xffal')
        yield name, message

    errors, code, error = evaluated(capsys, changed_bag(tmp_path / 'bag', change))
    assert code == 0 and errors['centre_mean_m'] < 2e-3
    assert f'1 of 6 messages of {topic} cannot be decoded' in error


def zed(topic, message):
    """The messages as a ZED publishes them: colour bgra8, depth in metres with gaps."""
    if topic == COLOUR:
        rgb = message.data.reshape(message.height, message.width, 3)
        bgra = np.dstack([rgb[..., ::-1], np.full(rgb.shape[:2], 255, np.uint8)])
        message.encoding, message.step, message.data = 'bgra8', 4 * message.width, bgra.ravel()
        topic = '/zed/zed_node/rgb/color/rect/image'
    elif topic == DEPTH:
        depth_m = message.data.view('<u2').astype('<f4') * np.float32(1e-3)
        depth_m[depth_m == 0] = np.nan
        depth_m[::101] = np.inf
        message.encoding, message.step = '32FC1', 4 * message.width
        topic, message.data = '/zed/zed_node/depth/depth_registered', depth_m.view(np.uint8)
    elif topic == INFO:
        topic = '/zed/zed_node/rgb/camera_info'
        yield '/zed/zed_node/depth/camera_info', message
    yield topic, message


def compressed(topic, message):
    """The messages as image_transport compresses them."""
    if topic in (COLOUR, DEPTH):
        pixels = message.data.view('<u2' if topic == DEPTH else 'u1')
        pixels = pixels.reshape(message.height, message.width, -1)
        if topic == COLOUR:
            data = cv2.imencode('.jpg', pixels[..., ::-1])[1]
            form, topic = 'rgb8; jpeg compressed bgr8', f'{topic}/compressed'
        else:
            header = np.frombuffer(struct.pack('<iff', 0, 0.0, 0.0), np.uint8)
            data = np.concatenate([header, cv2.imencode('.png', pixels)[1]])
            form, topic = '16UC1; compressedDepth png', f'{topic}/compressedDepth'
        message = COMPRESSED(message.header, form, data)
    yield topic, message


@pytest.mark.parametrize('change', [zed, compressed])
def test_images_of_other_drivers_and_transports_are_found_and_read(tmp_path, capsys, change):
    errors, code, _ = evaluated(capsys, changed_bag(tmp_path / 'bag', change))
    assert code == 0 and errors['centre_mean_m'] < 2e-3


def test_inverse_depth_of_compressed_images_is_read(tmp_path):
    def change(topic, message):
        if topic == DEPTH:  # as compressed_depth_image_transport quantizes 32FC1
            depth_m = message.data.view('<u2').reshape(message.height, message.width) * 1e-3
            a, b = 100.0 * 101.0, 1.0 - 100.0 * 101.0 / 10.0
            inverse = np.where(depth_m > 0, a / np.maximum(depth_m, 0.1) + b, 0).astype(np.uint16)
            header = np.frombuffer(struct.pack('<iff', 1, a, b), np.uint8)
            data = np.concatenate([header, cv2.imencode('.png', inverse)[1]])
            message = COMPRESSED(message.header, '32FC1; compressedDepth png', data)
        yield topic, message

    (_, plain), (_, found) = (
        frames_of(changed_bag(tmp_path / 'a', lambda *m: [m])),
        frames_of(changed_bag(tmp_path / 'b', change)),
    )
    there = plain[0].depth_m > 0.1
    np.testing.assert_allclose(found[0].depth_m[there], plain[0].depth_m[there], rtol=1e-3)


def test_the_camera_of_several_is_the_one_that_is_named(tmp_path, capsys):
    def change(topic, message):
        yield topic, message
        if topic in (COLOUR, DEPTH):
            infra = copy.deepcopy(message)
            infra.header.frame_id = DEPTH_FRAME
            if topic == COLOUR:
                infra.encoding, infra.step = 'mono8', message.width
                infra.data = message.data[::3].copy()
            yield topic.replace('color', 'infra1'), infra
        if topic == INFO:
            yield topic.replace('color', 'infra1'), message

    bag = changed_bag(tmp_path / 'bag', change)
    topics, frames = frames_of(bag)
    assert (topics.colour, topics.depth, topics.info, len(frames)) == (COLOUR, DEPTH, INFO, 6)
    infra, other = (name.replace('color', 'infra1') for name in (COLOUR, DEPTH))
    with open_bag(bag) as opened:
        [named] = cameras(opened, CameraChoice(infra, other, INFO))
    assert (named.colour, named.depth, named.info) == (infra, other, INFO)
    assert 'holds no topic /camera' in evaluated(capsys, bag, '--depth-topic', '/camera/x')[2]
    assert 'is of type' in evaluated(capsys, bag, '--info-topic', DEPTH)[2]


def test_images_that_are_no_camera_are_listed_with_the_options(tmp_path, capsys):
    def change(topic, message):
        if topic in (COLOUR, TRUTH):
            yield topic, message

    _, code, error = evaluated(capsys, changed_bag(tmp_path / 'bag', change))
    assert code == 2 and f'{COLOUR} (rgb8)' in error and '--depth-topic' in error


def depth_frame(topic, message):
    """Aligned depth whose header names the depth camera."""
    if topic == DEPTH:
        message.header.frame_id = DEPTH_FRAME
    yield topic, message
    if topic == INFO:
        message = copy.deepcopy(message)
        message.header.frame_id = DEPTH_FRAME
        yield DEPTH.replace('image_raw', 'camera_info'), message


def test_depth_whose_frame_contradicts_its_camera_info_is_not_aligned_again(tmp_path, capsys):
    bag = changed_bag(tmp_path / 'bag', depth_frame)
    _, code, error = evaluated(capsys, bag)
    assert code == 2 and DEPTH_FRAME in error and '--aligned-depth' in error
    errors, code, _ = evaluated(capsys, bag, '--aligned-depth')
    assert code == 0 and errors['centre_mean_m'] < 2e-3


def test_depth_in_the_frame_of_colour_with_another_camera_info_is_refused(tmp_path, capsys):
    def change(topic, message):
        yield topic, message
        if topic == INFO:
            message = copy.deepcopy(message)
            message.k, message.p = 0.8 * message.k, 0.8 * message.p
            yield DEPTH.replace('image_raw', 'camera_info'), message

    _, code, error = evaluated(capsys, changed_bag(tmp_path / 'bag', change))
    assert code == 2 and 'infos differ: if depth is aligned' in error
