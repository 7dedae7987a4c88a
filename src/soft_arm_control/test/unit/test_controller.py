import re

import numpy as np
import pytest

from soft_arm_control.errors import GoalError
from soft_arm_control.outcome import Outcome
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.controller import ControllerSettings
from soft_arm_control.tip.goal import Goal
from soft_arm_kinematics.segments import pcc

MIDDLE = np.array([0.07, 0.07, 0.07, 0.1, 0.1, 0.1])


BEND = np.deg2rad(np.linspace(0.0, 120.0, 7)), np.deg2rad(30.0)
DEFLECTION = np.deg2rad(30.0), np.deg2rad(np.linspace(0.0, 360.0, 7))


def papers_targets(arm, theta_rad, phi_rad):
    """Return tips (k, 3) [m] and lengths (k, n) [m]: module 1 at full vacuum, module 2 bent."""
    theta_rad, phi_rad = np.broadcast_arrays(theta_rad, phi_rad)
    arcs = np.zeros((len(theta_rad), 2, 3))
    arcs[:, 1] = pcc.arcs_from_polar(theta_rad, phi_rad, 0.0)
    above_m = arm.lengths_from_arcs(arcs)[:, 3:]
    above_m = above_m - above_m.min(axis=1, keepdims=True)
    low_m, high_m = arm.length_limits_m[:, 3:]
    margin_m = np.clip((high_m - low_m - 0.025 - above_m).min(axis=1, keepdims=True), 0.0, 0.008)
    lengths_m = np.tile(arm.length_limits_m[0], (len(theta_rad), 1))
    lengths_m[:, 3:] += margin_m + above_m
    return arm.at(lengths_m).tip_m, lengths_m


@pytest.fixture
def loop(make_loop):
    return make_loop(21)


def end_errors_m(loop, points_m, lengths_m, step_s, open_loop=False):
    loop.controller.start(loop.goal(lengths_m[0], open_loop=open_loop), loop.now_s)
    loop.run(2.5)
    errors_m = []
    for point_m, target_lengths_m in zip(points_m, lengths_m, strict=True):
        loop.controller.start(loop.goal(target_lengths_m, open_loop=open_loop), loop.now_s)
        loop.run(step_s)
        errors_m.append(loop.errors_m(point_m, 0.3))
    return np.array(errors_m)


@pytest.mark.parametrize(('polar', 'plant_seed'), [(BEND, 31), (BEND, 32), (DEFLECTION, 33)])
def test_both_experiments_end_within_a_millimetre(arm, make_loop, polar, plant_seed):
    points_m, lengths_m = papers_targets(arm, *polar)
    loop = make_loop(plant_seed)
    closed_m = end_errors_m(loop, points_m, lengths_m, 1.6)
    assert closed_m.mean() < 0.5e-3 and np.percentile(closed_m, 95) < 1.0e-3
    open_m = end_errors_m(loop, points_m, lengths_m, 1.2, open_loop=True)
    assert open_m.mean() > 5 * closed_m.mean()


def test_a_bias_of_the_camera_is_all_that_stays(arm, make_loop):
    bias_m = np.array([0.0006, -0.0004, 0.0005])
    loop, (points_m, lengths_m) = make_loop(34, bias_m=bias_m), papers_targets(arm, *BEND)
    end_errors_m(loop, points_m, lengths_m, 2.5)
    assert loop.tips_m[-1] - points_m[-1] == pytest.approx(-bias_m, abs=0.5e-3)


def test_ninety_degrees_settle_in_the_papers_time_where_the_arm_has_been(arm, make_loop):
    points_m, lengths_m = papers_targets(arm, np.deg2rad([0.0, 90.0]), np.deg2rad(30.0))
    settled_s = []
    for plant_seed in (35, 36, 37):
        loop = make_loop(plant_seed)
        end_errors_m(loop, points_m[[0, 1, 0]], lengths_m[[0, 1, 0]], 2.0)
        start_s = loop.now_s
        loop.controller.start(loop.goal(lengths_m[1]), start_s)
        loop.run(2.5)
        times_s, tips_m = np.array(loop.times_s), np.array(loop.tips_m)
        off_m = np.linalg.norm(tips_m - points_m[1], axis=1)
        outside = off_m > 0.02 * np.linalg.norm(points_m[1] - points_m[0])
        settled_s.append(times_s[np.flatnonzero(outside)[-1] + 1] - start_s)
    assert np.mean(settled_s) < 1.58


def test_reaches_holds_and_remembers(loop):
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    status = loop.until_end()
    assert status.outcome is Outcome.REACHED and 0.2 < status.settle_s < 3.0
    assert loop.run(1.0).phase == 'hold'
    assert loop.errors_m(loop.arm.at(MIDDLE).tip_m, 0.3) < 1e-3
    assert len(loop.controller.residual_model) == 0
    loop.controller.start(loop.goal(MIDDLE + 0.01 * (np.arange(6) > 2)), loop.now_s)
    assert len(loop.controller.residual_model) == 1


@pytest.mark.parametrize(
    ('lengths_mm', 'plant_seed'),
    [((172, 176, 180, 75, 75, 75), 51), ((160, 170, 180, 80, 90, 85), 52)],
)
def test_an_arm_that_swings_comes_to_rest(make_loop, lengths_mm, plant_seed):
    """A short module below a long one swings at 2 Hz and is hardly damped."""
    loop, lengths_m = make_loop(plant_seed), 1e-3 * np.array(lengths_mm)
    loop.controller.start(loop.goal(lengths_m, free=(True,) * 6), loop.now_s)
    assert loop.until_end().outcome is Outcome.REACHED
    loop.run(3.0)
    off_m = np.linalg.norm(loop.tips_m[-100:] - loop.arm.at(lengths_m).tip_m, axis=1)
    assert off_m.mean() < 1e-3


def test_a_target_is_not_reached_while_the_tip_swings_about_it(loop):
    loop.controller.start(loop.goal(MIDDLE, timeout_s=20.0), loop.now_s)
    for _ in range(200):
        loop.bias_m = np.array([3e-3 * np.sin(2 * np.pi * 1.5 * loop.now_s), 0.0, 0.0])
        assert loop.run(PERIOD_S).outcome is None
    loop.bias_m = np.zeros(3)
    assert loop.until_end().outcome is Outcome.REACHED


def test_damping_leaves_held_segments_where_they_are(loop, arm):
    low_m, high_m = arm.length_limits_m
    bent_m = np.append(MIDDLE[:3], low_m[3:] + np.array([0.8, 0.2, 0.2]) * (high_m - low_m)[3:])
    loop.controller.start(loop.goal(np.append(MIDDLE[:3], bent_m[3:][::-1])), loop.now_s)
    loop.run(3.0)
    loop.controller.start(loop.goal(bent_m), loop.now_s)
    first = len(loop._commands)
    loop.run(2.0)
    held_pa = np.array(loop._commands[first:])[:, :3]
    assert np.ptp(held_pa, axis=0).max() < 300.0


def test_goals_streamed_while_the_arm_moves_teach_nothing(arm, make_loop):
    loop = make_loop(21)
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    loop.run(2.0)
    for k in range(40):  # at 10 Hz, round a circle of lengths
        phases = 2 * np.pi * (k / 20 + np.arange(3) / 3)
        loop.controller.start(
            loop.goal(MIDDLE + 0.02 * np.append(np.zeros(3), np.cos(phases))), loop.now_s
        )
        loop.run(0.1)
    assert len(loop.controller.residual_model) == 1  # of the rest before the first


def test_a_tip_that_contradicts_the_model_ends_and_refuses_goals(make_loop):
    loop = make_loop(21)
    loop.controller.start(loop.goal(MIDDLE, tolerance_m=1e-6), loop.now_s)
    loop.run(1.0)
    loop.bias_m = np.array([5.0, 0.0, 0.0])
    status = loop.until_end()
    assert status.outcome is Outcome.TIP_LOST
    assert "from the model's" in status.message
    assert 'extrinsics' in status.message
    with pytest.raises(GoalError, match='goal rejected'):
        loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    loop.controller.start(loop.goal(MIDDLE, open_loop=True), loop.now_s)  # needs no measured tip
    loop.bias_m = np.zeros(3)
    loop.run(0.5)
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    assert loop.until_end().outcome is Outcome.REACHED


def test_the_reason_for_not_being_ready(loop):
    assert loop.controller.not_ready_reason(loop.now_s) == ''
    for sense, word in (
        ('tip', 'not measured'),
        ('camera', 'no image'),
        ('driver', 'no measured pressures'),
    ):
        setattr(loop, sense, False)
        loop.run(1.2)
        assert word in loop.controller.not_ready_reason(loop.now_s)
    loop.driver = True
    loop.run(0.1)
    loop.controller.liveness.add_driver_state(loop.now_s, False)
    loop.run(1.1)
    assert 'activate it' in loop.controller.not_ready_reason(loop.now_s)


def test_open_loop_teaches_nothing_and_needs_no_camera(loop):
    loop.camera = False
    loop.run(1.0)
    loop.controller.start(loop.goal(MIDDLE, open_loop=True), loop.now_s)
    assert loop.until_end().outcome is Outcome.REACHED
    loop.controller.start(loop.goal(MIDDLE, open_loop=True), loop.now_s)
    assert len(loop.controller.residual_model) == 0


@pytest.mark.parametrize(
    ('lost', 'outcome', 'words'),
    [
        ('camera', Outcome.CAMERA_STALE, ('no image',)),
        ('tip', Outcome.TIP_LOST, ('not measured for', '104.6 mm high', 'robot file')),
        ('driver', Outcome.DRIVER_LOST, ('no measured pressures',)),
    ],
)
@pytest.mark.parametrize('held', [False, True])
def test_a_lost_input_ends_the_goal_and_the_hold(loop, lost, outcome, words, held):
    loop.controller.tip_trouble = 'ring lost: the wall found is 104.6 mm high'
    loop.controller.start(loop.goal(MIDDLE, tolerance_m=1e-3 if held else 1e-6), loop.now_s)
    loop.run(6.0 if held else 1.0)
    assert loop.controller.active is not held
    setattr(loop, lost, False)
    status = loop.until_end(1.2)
    assert status.outcome is outcome and all(word in status.message for word in words)
    assert len(status.message) <= 300
    setattr(loop, lost, True)
    assert loop.run(0.5).phase == 'idle'


@pytest.mark.parametrize('unseen_s', [0.7, 6.0])
def test_from_out_of_view_the_next_goal_returns_and_is_reached(loop, arm, unseen_s):
    low_m, high_m = arm.length_limits_m
    away_m = low_m + (high_m - low_m) * np.array([0.9, 0.0, 0.0, 0.9, 0.0, 0.0])
    edge_m = arm.at((MIDDLE + away_m) / 2).tip_m
    direction = arm.at(away_m).tip_m - arm.at(MIDDLE).tip_m
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    assert loop.until_end().outcome is Outcome.REACHED
    loop.run(0.5)
    loop.in_view = lambda tip_m: (tip_m - edge_m) @ direction < 0
    loop.controller.start(loop.goal(away_m, open_loop=True), loop.now_s)
    while loop.in_view(loop.tips_m[-1]):
        loop.run(0.02)
    loop.run(unseen_s)
    assert not loop.in_view(loop.tips_m[-1])
    reason = loop.controller.not_ready_reason(loop.now_s)
    assert ('not measured' in reason) is (unseen_s > 0.8)
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    assert loop.run(0.2).phase == 'return'
    status = loop.until_end()
    assert status.outcome is Outcome.REACHED and status.settle_s < 5.0
    assert loop.errors_m(arm.at(MIDDLE).tip_m, 0.5) < 1e-3


def test_a_tip_that_was_measured_only_in_motion_is_returned_to(loop, arm):
    away_m = np.where(np.arange(6) % 3 == 0, arm.length_limits_m[1], arm.length_limits_m[0])
    start_m = loop.tips_m[-1]
    loop.in_view = lambda tip_m: np.linalg.norm(tip_m - start_m) < 0.03
    loop.controller.start(loop.goal(away_m, open_loop=True), loop.now_s)
    loop.run(4.0)
    assert not loop.in_view(loop.tips_m[-1])
    near_m = arm.lengths(np.zeros(6))
    loop.controller.start(loop.goal(near_m, free=(True,) * 6), loop.now_s)
    assert loop.until_end(20.0).outcome is Outcome.REACHED


def test_with_a_covered_ring_the_next_goal_stays_then_goes_by_the_model_and_ends(loop, arm):
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    assert loop.until_end().outcome is Outcome.REACHED
    loop.run(0.5)
    loop.tip = False
    loop.run(1.5)
    target_m = arm.at(MIDDLE + 0.005).tip_m
    loop.controller.start(loop.goal(MIDDLE + 0.005, free=(True,) * 6), loop.now_s)
    assert loop.run(0.7).phase == 'return'
    assert loop.errors_m(arm.at(MIDDLE).tip_m, 0.2) < 0.003
    assert loop.until_end(4.0).outcome is Outcome.TIP_LOST
    assert loop.errors_m(target_m, 0.2) < 0.02


def test_held_segments_keep_their_pressures_on_the_way_back(loop, arm):
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    assert loop.until_end().outcome is Outcome.REACHED
    loop.run(0.5)
    loop.tip = False
    bent_m = MIDDLE + np.array([0.01, 0.0, 0.0, 0.02, 0.0, 0.0])
    loop.controller.start(loop.goal(bent_m, open_loop=True), loop.now_s)
    loop.run(3.0)
    before_pa = loop.plant.robot.pressures_pa
    loop.controller.start(loop.goal(bent_m), loop.now_s)
    assert loop.run(0.8).phase == 'return'
    changed_pa = np.abs(loop.plant.robot.pressures_pa - before_pa)
    assert changed_pa[:3].max() < 1e3 and changed_pa[3] > 5e3


def test_a_tip_that_was_never_measured_moves_nothing(make_loop):
    loop = make_loop(21, in_view=lambda tip_m: False)
    loop.run(1.5)
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    assert loop.run(0.02).outcome is Outcome.TIP_LOST
    loop.run(0.5)
    assert loop.controller.applied_pa is None


def lose_pressures(loop, duration_s):
    loop.driver = False
    loop.run(duration_s)
    loop.driver = True


def be_inactive(loop, duration_s):
    loop.controller.liveness.add_driver_state(loop.now_s, False)
    loop.run(duration_s)
    loop.controller.liveness.add_driver_state(loop.now_s, True)


@pytest.mark.parametrize('held', [False, True])
@pytest.mark.parametrize('lose', [lose_pressures, be_inactive])
def test_a_driver_that_may_have_vented_is_not_commanded_until_the_next_goal(loop, lose, held):
    loop.controller.start(loop.goal(MIDDLE, tolerance_m=1e-3 if held else 1e-6), loop.now_s)
    loop.run(6.0 if held else 1.0)
    assert loop.controller.active is not held
    lose(loop, 1.1)
    loop.run(0.1)
    assert Outcome.DRIVER_LOST in [status.outcome for status in loop.statuses[-60:]]
    assert loop.controller.applied_pa is None and loop.statuses[-1].phase == 'idle'
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    assert loop.until_end().outcome is Outcome.REACHED


def test_a_driver_that_recovers_by_itself_does_not_end_the_goal(loop):
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    loop.run(0.3)
    be_inactive(loop, 0.8)
    assert loop.until_end().outcome is Outcome.REACHED


def test_an_inactive_driver_refuses_goals_until_it_is_active_or_another_process(loop):
    loop.controller.liveness.add_driver_state(loop.now_s, False)
    loop.run(1.1)
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    status = loop.until_end(0.1)
    assert status.outcome is Outcome.DRIVER_LOST and 'activate it' in status.message
    lose_pressures(loop, 1.1)
    loop.run(0.1)
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    assert loop.until_end().outcome is Outcome.REACHED


def beyond_the_limits(arm, **options):
    lengths_m = arm.length_limits_m[1]
    point_m = arm.at(lengths_m).tip_m + [0, 0, 0.03]
    every = np.ones(6, bool)
    return Goal(point_m[None], lengths_m[None], np.zeros(1), every, 1e-3, 10.0, **options)


def test_limits_in_the_way_are_reported_and_do_not_wind_up(loop):
    loop.controller.start(beyond_the_limits(loop.arm), loop.now_s)
    status = loop.until_end()
    assert status.outcome is Outcome.SATURATED and 'limits' in status.message
    loop.controller.start(loop.goal(MIDDLE + 0.01, np.ones(6, bool)), loop.now_s)
    assert loop.until_end().settle_s < 3.5


def test_limits_in_the_way_end_a_slow_move_as_near_as_they_allow(loop):
    loop.controller.start(beyond_the_limits(loop.arm, velocity_scaling=0.2), loop.now_s)
    status = loop.until_end()
    short_mm = float(re.search(r'the tip ([\d.]+) mm', status.message)[1])
    assert status.outcome is Outcome.SATURATED
    assert 1e3 * status.error_m == pytest.approx(short_mm, abs=1.2)


def test_images_taken_within_the_tolerance_confirm_that_the_target_is_reached(loop, dynamics):
    start_s = loop.now_s
    loop.controller.start(loop.goal(MIDDLE), start_s)
    status = loop.until_end()
    assert status.outcome is Outcome.REACHED
    held_s = loop.now_s - start_s - status.settle_s
    assert held_s >= ControllerSettings.hold_s + dynamics.camera_delay_s - 1e-9


def test_times_out(loop):
    loop.controller.start(loop.goal(MIDDLE, tolerance_m=1e-6, timeout_s=1.0), loop.now_s)
    status = loop.until_end()
    assert status.outcome is Outcome.TIMEOUT and 'tolerance 0.00 mm' in status.message


def test_a_new_goal_takes_over_without_a_jump(loop):
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    loop.run(0.4)
    before_pa = loop.controller.applied_pa
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    loop.run(0.02)
    # A period at the rate limit, and its lead.
    assert np.abs(loop.controller.applied_pa - before_pa).max() < 8e3


def test_nothing_is_commanded_before_the_first_goal(loop):
    loop.driver = False
    loop.run(0.5)
    assert loop.controller.applied_pa is None
    with pytest.raises(GoalError, match='no measured pressures'):
        loop.controller.start(loop.goal(MIDDLE), loop.now_s)


def test_time_that_jumps_back_ends_the_goal_and_the_next_is_reached(loop):
    loop.now_s = 100.0
    loop.run(0.5)
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    loop.run(0.3)
    loop.now_s = 10.0
    assert loop.run(PERIOD_S).outcome in (Outcome.TIMEOUT, Outcome.DRIVER_LOST)
    loop.forget_images()
    loop.run(0.5)
    loop.controller.start(loop.goal(MIDDLE), loop.now_s)
    assert loop.until_end().outcome is Outcome.REACHED
