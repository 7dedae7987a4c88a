"""The way back to where the tip was measured."""

import numpy as np

from soft_arm_control.tip.way_back import REST_S, WayBack

PATIENCE_S = 0.8
SEEN_PA, GOAL_PA = np.full(3, 1e4), np.full(3, 3e4)
FREE = np.ones(3, bool)


def prepared():
    way = WayBack(PATIENCE_S)
    way.remember(0.0, SEEN_PA)
    way.remember(REST_S, SEEN_PA)
    way.prepare(GOAL_PA, FREE)
    return way


def test_a_tip_that_is_lost_again_on_the_way_leads_to_the_pressures_of_the_goal_once():
    way = prepared()
    assert not way.update(2.0, 1.0, 2.0) and way.active
    np.testing.assert_array_equal(way.wanted_pa(2.1, resting=False), SEEN_PA)
    assert way.update(2.5, 0.1, 2.0) and not way.active
    way.update(3.5, 1.0, 2.5)
    assert way.active
    np.testing.assert_array_equal(way.wanted_pa(3.6, resting=False), GOAL_PA)
    assert way.update(4.0, 0.1, 2.5)
    way.update(5.0, 1.0, 4.0)
    assert not way.active


def test_a_tip_that_is_lost_during_a_goal_that_began_with_it_is_no_reason_to_return():
    way = prepared()
    assert not way.update(2.2, 0.1, 2.0)
    way.update(3.2, 1.0, 2.0)
    assert not way.active


def test_a_tip_not_measured_at_rest_leads_on_and_then_ends_the_sequence():
    way = prepared()
    way.update(2.0, 1.0, 2.0)
    way.wanted_pa(2.0 + PATIENCE_S + 0.1, resting=True)
    np.testing.assert_array_equal(way.wanted_pa(3.0, resting=True), GOAL_PA)
    way.wanted_pa(3.0 + PATIENCE_S + 0.1, resting=True)
    assert not way.active
