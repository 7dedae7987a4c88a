import numpy as np
import pytest

from soft_arm_control.tip.controller import ADDED_DAMPING_RATIO
from soft_arm_control.tip.loaded_arm import LoadedArm
from soft_arm_control.tip.stability_margins import FREQUENCIES_HZ, margins_of, stability_margins

LENGTHS_PA = np.array([20e3, 0.0, 10e3, 30e3, 10e3, -10e3])


def margins_at(modes, delay_s=0.08, period_s=1 / 30, deviation_m=4e-4):
    return stability_margins(modes, ADDED_DAMPING_RATIO, 0.02, delay_s, period_s, deviation_m)


@pytest.fixture(scope='module')
def modes(arm):
    return LoadedArm(arm).modes(arm.lengths(LENGTHS_PA))


def test_the_margins_of_a_loop_of_three_lags():
    s = 2j * np.pi * FREQUENCIES_HZ
    found = margins_of(np.array([4.0 / (s + 1.0) ** 3, 1.0 / (s + 1.0)]))
    assert found.gain == pytest.approx(2.0, rel=0.01)
    assert np.degrees(found.phase_rad) == pytest.approx(27.1, abs=3.0)


def test_a_loop_that_never_amplifies_has_no_margin_to_lose():
    s = 2j * np.pi * FREQUENCIES_HZ
    found = margins_of(np.array([0.5 / (s + 1.0)]))
    assert found.gain == np.inf and found.phase_rad == np.pi


def test_a_longer_delay_costs_phase_and_gain(modes):
    soon, late = margins_at(modes), margins_at(modes, 0.4)
    assert soon.phase_rad > late.phase_rad > 0.0 and soon.gain > late.gain > 1.0


def test_fewer_images_correct_less_and_leave_more_margin(modes):
    often, rarely = margins_at(modes), margins_at(modes, period_s=0.2)
    assert rarely.phase_rad > often.phase_rad and rarely.gain > often.gain


def test_without_noise_the_margins_are_finite(modes):
    assert 1.0 < margins_at(modes, deviation_m=0.0).gain < 10.0


@pytest.mark.parametrize(('share', 'stable'), [(0.8, True), (2.5, False)])
def test_a_gain_inside_the_margin_is_stable_and_one_far_outside_is_not(
    arm, make_loop, modes, share, stable
):
    """The model is conservative; see docs/explanation/motion.md."""
    loop = make_loop(3)
    goal = loop.goal(arm.lengths(LENGTHS_PA), free=(True,) * 6)
    add, gain = loop.controller.add_tip_pose, share * margins_at(modes).gain
    loop.controller.start(goal, loop.now_s)
    loop.run(4.0)
    target_m = goal.points_m[0]
    loop.controller.add_tip_pose = lambda stamp_s, tip_m, covariance_m2: add(
        stamp_s, target_m + gain * (tip_m - target_m), covariance_m2
    )
    loop.run(20.0)
    tips_m = np.array(loop.tips_m[-200:])
    swing_m = np.linalg.norm(tips_m - tips_m.mean(axis=0), axis=1).max()
    assert (swing_m < 1e-3) == stable
