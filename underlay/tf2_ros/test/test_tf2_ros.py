import math
import threading

import pytest
from geometry_msgs.msg import TransformStamped
from hypothesis import given
from hypothesis import strategies as st
from rclpy.duration import Duration
from rclpy.time import Time
from tf2_ros import (
    Buffer,
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    StaticTransformBroadcaster,
    TransformBroadcaster,
    TransformListener,
)
from tf2_ros.rigid import IDENTITY, compose, interpolate, inverse

from system_testing.probe import Probe

LATEST = Time()


def stamped(parent, child, xyz=(0.0, 0.0, 0.0), yaw_rad=0.0, at_s=0.0):
    transform = TransformStamped(child_frame_id=child)
    transform.header.frame_id = parent
    transform.header.stamp = Time(nanoseconds=round(at_s * 1e9)).to_msg()
    translation, rotation = transform.transform.translation, transform.transform.rotation
    translation.x, translation.y, translation.z = map(float, xyz)
    rotation.z, rotation.w = math.sin(yaw_rad / 2), math.cos(yaw_rad / 2)
    return transform


def time(seconds):
    return Time(nanoseconds=round(seconds * 1e9))


def xyz_of(answer):
    translation = answer.transform.translation
    return translation.x, translation.y, translation.z


@pytest.fixture
def buffer():
    buffer = Buffer()
    buffer.set_transform_static(stamped('world', 'base', (1, 0, 0), math.pi / 2), 'test')
    buffer.set_transform(stamped('base', 'tip', (0, 0, 1), 0.0, at_s=100.0), 'test')
    buffer.set_transform(stamped('base', 'tip', (2, 0, 1), math.pi / 2, at_s=102.0), 'test')
    return buffer


def test_through_a_static_parent(buffer):
    answer = buffer.lookup_transform('world', 'tip', time(102.0))
    assert xyz_of(answer) == pytest.approx((1, 2, 1))
    assert abs(answer.transform.rotation.z) == pytest.approx(1.0)
    assert (answer.header.frame_id, answer.child_frame_id, answer.header.stamp.sec) == (
        'world',
        'tip',
        102,
    )


def test_the_other_way_is_the_inverse(buffer):
    assert xyz_of(buffer.lookup_transform('tip', 'world', time(100.0))) == pytest.approx((0, 1, -1))


def test_interpolates_between_stamps(buffer):
    answer = buffer.lookup_transform('base', 'tip', time(101.0))
    assert xyz_of(answer) == pytest.approx((1, 0, 1))
    assert answer.transform.rotation.z == pytest.approx(math.sin(math.pi / 8))


def test_latest_is_the_newest_that_all_frames_have(buffer):
    buffer.set_transform(stamped('tip', 'ring', at_s=101.0), 'test')
    assert buffer.lookup_transform('base', 'tip', LATEST).header.stamp.sec == 102
    assert buffer.lookup_transform('base', 'ring', LATEST).header.stamp.sec == 101
    assert buffer.lookup_transform('world', 'base', LATEST).header.stamp.sec == 0


def test_only_the_frames_between_count():
    buffer = Buffer()
    buffer.set_transform(stamped('world', 'base', at_s=1.0), 'test')
    buffer.set_transform(stamped('base', 'left', (1, 0, 0), at_s=5.0), 'test')
    buffer.set_transform(stamped('base', 'right', (0, 1, 0), at_s=5.0), 'test')
    assert xyz_of(buffer.lookup_transform('left', 'right', time(5.0))) == pytest.approx((-1, 1, 0))


def test_times_outside_the_data(buffer):
    with pytest.raises(ExtrapolationException, match='into the future.*103.000000.*102.000000'):
        buffer.lookup_transform('base', 'tip', time(103.0))
    with pytest.raises(ExtrapolationException, match='into the past.*99.000000.*100.000000'):
        buffer.lookup_transform('base', 'tip', time(99.0))


def test_history_is_limited(buffer):
    buffer.set_transform(stamped('base', 'tip', at_s=111.0), 'test')
    with pytest.raises(ExtrapolationException, match='past'):
        buffer.lookup_transform('base', 'tip', time(100.5))
    buffer.set_transform(stamped('base', 'tip', (9, 9, 9), at_s=100.5), 'test')
    assert not buffer.can_transform('base', 'tip', time(100.5))


def test_unknown_and_unconnected_frames(buffer):
    buffer.set_transform(stamped('island', 'palm', at_s=100.0), 'test')
    with pytest.raises(
        LookupException, match='"tipp" passed to lookupTransform argument source_frame'
    ):
        buffer.lookup_transform('base', 'tipp', LATEST)
    with pytest.raises(ConnectivityException, match='two or more unconnected trees'):
        buffer.lookup_transform('base', 'palm', LATEST)
    possible, why = buffer.can_transform('base', 'palm', LATEST, return_debug_tuple=True)
    assert not possible and 'palm' in why


@pytest.mark.parametrize(
    'bad',
    [
        stamped('base', 'base'),
        stamped('', 'tip', at_s=103.0),
        stamped('base', 'tip', (math.nan, 0, 0), at_s=103.0),
    ],
)
def test_bad_transforms_are_dropped(buffer, bad):
    before = buffer.lookup_transform('world', 'tip', LATEST)
    buffer.set_transform(bad, 'test')
    assert buffer.lookup_transform('world', 'tip', LATEST) == before


def test_empty_frame_names_are_refused(buffer):
    with pytest.raises(InvalidArgumentException, match='source_frame'):
        buffer.lookup_transform('base', '', LATEST)


def test_waiting_ends_when_the_transform_arrives():
    buffer = Buffer()
    timer = threading.Timer(
        0.1, lambda: buffer.set_transform_static(stamped('a', 'b', (1, 2, 3)), 'test')
    )
    timer.start()
    assert xyz_of(buffer.lookup_transform('a', 'b', LATEST, Duration(seconds=10))) == (1, 2, 3)
    timer.join()
    with pytest.raises(LookupException):
        buffer.lookup_transform('a', 'c', LATEST, Duration(seconds=0.05))


numbers = st.floats(-3, 3)
rotations = (
    st.tuples(numbers, numbers, numbers, numbers)
    .filter(lambda q: math.hypot(*q) > 0.1)
    .map(lambda q: tuple(c / math.hypot(*q) for c in q))
)
motions = st.tuples(st.tuples(numbers, numbers, numbers), rotations)


def assert_same(first, second):
    assert first[0] == pytest.approx(second[0], abs=1e-9)
    assert abs(sum(a * b for a, b in zip(first[1], second[1], strict=True))) == pytest.approx(
        1.0, abs=1e-9
    )


@given(motions, motions, motions)
def test_rigid_motions_form_a_group(a, b, c):
    assert_same(compose(a, inverse(a)), IDENTITY)
    assert_same(compose(compose(a, b), c), compose(a, compose(b, c)))


@given(motions, motions)
def test_interpolation_is_symmetric_and_meets_its_ends(a, b):
    assert_same(interpolate(a, b, 0.0), a)
    assert_same(interpolate(a, b, 1.0), b)
    assert_same(interpolate(a, b, 0.3), interpolate(b, a, 0.7))


def test_over_the_graph_with_a_late_listener():
    with Probe('sender') as sender, Probe('receiver') as receiver:
        static, moving = StaticTransformBroadcaster(sender), TransformBroadcaster(sender)
        static.sendTransform(stamped('world', 'base', (1, 0, 0)))
        static.sendTransform([stamped('base', 'camera', (0, 1, 0))])
        buffer = Buffer()
        listener = TransformListener(buffer, receiver)
        tip = stamped('base', 'tip', (0, 0, 1), at_s=7.0)
        sender.create_timer(0.02, lambda: moving.sendTransform(tip))
        sender.spin()
        receiver.spin()
        for frame, xyz in (('tip', (1, 0, 1)), ('camera', (1, 1, 0))):
            found = buffer.lookup_transform('world', frame, LATEST, Duration(seconds=20))
            assert xyz_of(found) == pytest.approx(xyz)
        listener.unregister()
