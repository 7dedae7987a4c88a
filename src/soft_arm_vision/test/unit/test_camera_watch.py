import cv2
import numpy as np
import pytest

from soft_arm_vision.calibration.camera_watch import MOVED_PX, PATIENCE_LOOKS, CameraWatch


def room(seed=0):
    """A picture with corners: overlapping boxes of random grey."""
    rng, picture = np.random.default_rng(seed), np.full((480, 640, 3), 128, np.uint8)
    for _ in range(60):
        x = rng.integers(0, 600)
        y = rng.integers(0, 440)
        w = rng.integers(20, 120)
        h = rng.integers(20, 120)
        picture[y : y + h, x : x + w] = rng.integers(0, 255)
    return cv2.GaussianBlur(picture, (0, 0), 1.0)


def noisy(picture, seed):
    return np.clip(
        picture + np.random.default_rng(seed).normal(0, 3, picture.shape), 0, 255
    ).astype(np.uint8)


def shifted(picture, dx, dy):
    return cv2.warpAffine(
        picture,
        np.array([[1, 0, dx], [0, 1, dy]], float),
        (640, 480),
        borderMode=cv2.BORDER_REPLICATE,
    )


def update(watch, pictures):
    for picture in pictures:
        watch.update(picture)


def test_camera_that_stands_still_while_something_moves():
    watch, picture = CameraWatch(), room()
    for i in range(20):
        frame = noisy(picture, i)
        cv2.circle(frame, (150 + 15 * i, 240), 60, (255, 115, 13), -1)
        watch.update(frame)
        assert not watch.moved
    assert watch.shift_px < 0.3


@pytest.mark.parametrize(('dx', 'dy'), [(3.0, 0.0), (-20.0, 8.0)])
def test_knocked_camera_is_noticed_and_its_return_too(dx, dy):
    watch, picture = CameraWatch(), room()
    update(watch, [noisy(picture, 0)] + PATIENCE_LOOKS * [noisy(shifted(picture, dx, dy), 1)])
    assert watch.moved and watch.shift_px == pytest.approx(np.hypot(dx, dy), abs=0.3)
    watch.update(noisy(picture, 2))
    assert not watch.moved


def test_one_shaken_picture_is_none():
    watch, picture = CameraWatch(), room()
    update(watch, [picture, shifted(picture, 9, 0), picture])
    assert not watch.moved and watch.shift_px < MOVED_PX


def test_covered_lens_and_another_room_say_nothing():
    watch = CameraWatch()
    update(watch, [room()] + 5 * [np.zeros((480, 640, 3), np.uint8)])
    assert not watch.moved and watch.shift_px is None


def test_covered_at_first_then_seen():
    watch, picture = CameraWatch(), room()
    update(watch, [np.zeros_like(picture), picture] + PATIENCE_LOOKS * [shifted(picture, 5, 5)])
    assert watch.moved


def test_another_resolution_begins_anew():
    watch, picture = CameraWatch(), room()
    update(watch, [picture] + PATIENCE_LOOKS * [shifted(picture, 5, 5)])
    assert watch.moved
    watch.update(np.ascontiguousarray(picture[::2, ::2]))
    assert not watch.moved


@pytest.mark.parametrize('masked', [True, False])
def test_markers_that_move_with_the_tip_are_left_out_of_the_background(masked):
    plain = room()
    plain = (128 + 0.3 * (plain.astype(float) - 128)).astype(np.uint8)  # of low contrast
    board = np.kron(np.indices((16, 16)).sum(axis=0) % 2 * 255, np.ones((13, 13)))
    still = np.full(plain.shape[:2], 255, np.uint8)
    still[90:320, 190:420] = 0
    watch = CameraWatch()
    for i in range(5):
        frame = noisy(plain, i)
        frame[100 : 100 + 208, 200 + 5 * i : 408 + 5 * i] = board[..., None]
        watch.update(frame, still if masked else None)
    assert watch.moved != masked
