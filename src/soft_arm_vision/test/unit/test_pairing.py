"""Colour and depth of one frameset meet, whatever stamps the driver gives them."""

from types import SimpleNamespace

import pytest

from soft_arm_vision.pairing import Pairing

PERIOD_NS, COUNT = 33_333_333, 30


def image(stamp_ns):
    sec, nanosec = divmod(stamp_ns, 10**9)
    return SimpleNamespace(
        header=SimpleNamespace(stamp=SimpleNamespace(sec=sec, nanosec=nanosec)), ns=stamp_ns
    )


def paired(offset_ns, lost=()):
    """Pairs of a stream with unequal stamps of depth and colour and some lost colour images."""
    pairing, pairs = Pairing(keep_all=True, unequal=True), []
    for number in range(COUNT):
        stamp_ns = 10**9 + number * PERIOD_NS
        for kind, at_ns in (('colour', stamp_ns), ('depth', stamp_ns + offset_ns)):
            if kind == 'depth' or number not in lost:
                pairs.append(pairing.put(kind, image(at_ns)))
    return pairing, [(colour.ns, depth.ns) for colour, depth in filter(None, pairs)]


@pytest.mark.parametrize('offset_ms', [0.001, 1.0, 8.0, 20.0, -0.001, -16.0])
def test_unequal_stamps_are_paired_within_half_a_period(offset_ms):
    pairing, pairs = paired(round(1e6 * offset_ms))
    assert len(pairs) >= COUNT - 2  # the period is known after an interval
    nearest_ms = min((offset_ms, offset_ms - PERIOD_NS / 1e6), key=abs)
    for colour_ns, depth_ns in pairs:
        assert (depth_ns - colour_ns) / 1e6 == pytest.approx(nearest_ms, abs=1e-5)
    assert set(pairing.differences_ns) == {depth - colour for colour, depth in pairs}


def test_a_stamp_that_is_equal_by_chance_changes_nothing():
    pairing, pairs = Pairing(keep_all=True, unequal=True), []
    for number in range(COUNT):
        stamp_ns = 10**9 + number * PERIOD_NS
        pairs.append(pairing.put('colour', image(stamp_ns)))
        pairs.append(pairing.put('depth', image(stamp_ns + (10**6 if number else 0))))
    assert len([pair for pair in pairs if pair]) >= COUNT - 2


def test_only_equal_stamps_are_paired_where_there_are_some():
    pairing, pairs = paired(0, lost=(7, 8))
    pairing.put('colour', image(10**10))
    assert pairing.put('depth', image(10**10 + 1000)) is None
    assert len(pairs) == COUNT - 2 and all(colour == depth for colour, depth in pairs)
    assert pairing.unpaired == {'colour': 1, 'depth': 3}


def test_a_running_camera_must_synchronize():
    pairing = Pairing(keep_all=False)
    for number in range(COUNT):
        assert pairing.put('colour', image(number * PERIOD_NS)) is None
        assert pairing.put('depth', image(number * PERIOD_NS + 1000)) is None
