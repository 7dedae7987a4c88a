"""Colour and depth of one stamp meet, however late and however fast the other half comes."""

import threading

import pytest
from rclpy.time import Time
from sensor_msgs.msg import Image

from soft_arm_vision.ros.newest_pair import NewestPair


def image(stamp_s: float) -> Image:
    message = Image()
    message.header.stamp = Time(nanoseconds=round(1e9 * stamp_s)).to_msg()
    return message


@pytest.mark.parametrize('rate_hz', [15, 30, 60, 90])
@pytest.mark.parametrize('late_s', [0.0, 0.05, 0.15])
def test_depth_that_comes_late_is_paired_at_any_rate(rate_hz, late_s):
    paired, done = [], threading.Event()
    count, late = 30, round(late_s * rate_hz)

    def work(colour, depth):
        assert colour.header.stamp == depth.header.stamp
        paired.append(colour)
        if len(paired) == count:
            done.set()

    pair = NewestPair(work, keep_all=True)
    try:
        for number in range(count + late):
            if number < count:
                pair.put_colour(image(1 + number / rate_hz))
            if number >= late:
                pair.put_depth(image(1 + (number - late) / rate_hz))
        assert done.wait(10)
    finally:
        pair.close()


def test_halves_without_the_other_are_dropped():
    pair = NewestPair(lambda colour, depth: None)
    try:
        for number in range(200):
            pair.put_colour(image(1 + number / 90))
        assert len(pair._pairing.waiting['colour']) <= 0.2 * 90 + 2
        pair.put_colour(image(0.1))  # the clock restarts
        assert len(pair._pairing.waiting['colour']) == 1
        assert 'only colour images come' in pair.trouble
    finally:
        pair.close()


def test_a_bag_whose_recorder_stalled_gives_every_pair():
    """Several images of one camera come before the images of the other; replays wait for each."""
    stamps, paired, done = [1.0 + 0.1 * number for number in range(8)], [], threading.Event()

    def work(colour, depth):
        paired.append(colour)
        if len(paired) == len(stamps):
            done.set()

    pair = NewestPair(work, keep_all=True)
    try:
        for put in (pair.put_colour, pair.put_depth):
            for stamp_s in stamps:
                put(image(stamp_s))
        assert done.wait(10)
    finally:
        pair.close()
