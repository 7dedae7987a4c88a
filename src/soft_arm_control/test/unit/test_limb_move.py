import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soft_arm_control.outcome import Outcome
from soft_arm_control.tip.limb_move import MAX_BEND_RATE_RAD_S, MAX_LENGTH_RATE_M_S, LimbMove
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import Arm

ARM = Arm(load_robot('squid_grasper'))
PERIOD_S = 0.02


def inside(share):
    low, high = ARM.q_limits
    return low + share * (high - low)


configurations = st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6).map(
    lambda shares: inside(np.array(shares))
)


def run(move, tip_of):
    """Return the commands and the last status."""
    commands, now_s = [], 0.0
    while True:
        command, status = move.step(now_s, tip_of(commands[-1] if commands else None))
        commands.append(command)
        if status.outcome is not None:
            return np.array(commands), status
        now_s += PERIOD_S


def bends(commands):
    theta, phi, ell = commands.reshape(-1, 2, 3).transpose(2, 0, 1)
    return np.stack([theta * np.cos(phi), theta * np.sin(phi), ell], axis=-1)


@given(configurations, configurations)
def test_the_way_is_slow_inside_the_limits_and_ends_at_the_goal(start, goal):
    move = LimbMove(ARM, start, goal, ARM.at(goal).tip_m, None, 1.0, 0.0)
    commands, status = run(move, lambda _: None)
    assert status.outcome is Outcome.REACHED
    assert ARM.at(commands[0]).tip_m == pytest.approx(ARM.at(start).tip_m, abs=1e-9)
    assert ARM.at(commands[-1]).tip_m == pytest.approx(ARM.at(goal).tip_m, abs=1e-9)
    low, high = ARM.q_limits
    assert ((commands >= low - 1e-9) & (commands <= high + 1e-9)).all()
    rates = np.abs(np.diff(bends(commands), axis=0)).max(axis=(0, 1)) / PERIOD_S
    # the fastest moment of the smooth way is 1.875 times the mean
    assert (
        rates <= 1.9 * np.array([MAX_BEND_RATE_RAD_S, MAX_BEND_RATE_RAD_S, MAX_LENGTH_RATE_M_S])
    ).all()


def test_at_half_the_velocity_the_way_takes_twice_as_long():
    full, half = (
        LimbMove(ARM, ARM.rest_q, TARGET, ARM.at(TARGET).tip_m, None, 1.0, 0.0, velocity_scaling=v)
        for v in (1.0, 0.5)
    )
    assert half.duration_s == pytest.approx(2 * full.duration_s)


TARGET = np.array([0.8, 0.3, 0.295, 0.6, 1.1, 0.295])
# By the model both segments bend the same way; a limb that sags gets there bent two ways.
APART = np.array([0.64, 2.14, 0.293, 1.29, 2.14, 0.293])
SAG_M = np.array([0.03, -0.03, -0.02])


def make(tolerance_m, goal=TARGET):
    return LimbMove(ARM, ARM.rest_q, goal, ARM.at(goal).tip_m, tolerance_m, 30.0, 0.0)


def sagging(share):
    """A limb whose tip is off its model's by a sag that its command changes, and lags by 1 s."""
    tip_m = ARM.at(ARM.rest_q).tip_m

    def tip_of(command):
        nonlocal tip_m
        if command is not None:
            model_m = ARM.at(command).tip_m
            tip_m = tip_m + PERIOD_S * (model_m + share * model_m + SAG_M - tip_m)
        return tip_m

    return tip_of


@pytest.mark.parametrize(('share', 'goal'), [(0.0, TARGET), (0.1, TARGET), (0.0, APART)])
def test_the_tip_reaches_its_target_though_the_limb_sags(share, goal):
    commands, status = run(make(0.005, goal), sagging(share))
    assert status.outcome is Outcome.REACHED, status.message
    assert status.error_m <= 0.005 and status.settle_s < 30.0
    low, high = ARM.q_limits
    assert ((commands >= low - 1e-9) & (commands <= high + 1e-9)).all()
    assert np.abs(np.diff(bends(commands), axis=0)).max() < 0.05  # no jump: rad, m per tick


def test_a_blocked_limb_ends_with_its_distance():
    stop_m = ARM.at(TARGET).tip_m + [0.0, 0.06, 0.0]
    _, status = run(make(0.005), lambda _: stop_m)
    assert status.outcome in (Outcome.TIMEOUT, Outcome.SATURATED)
    assert 'tip is 60.0 mm' in status.message and 'tolerance 5.0 mm' in status.message
    assert 'clear what blocks the limb' in status.message
    assert status.elapsed_s < 10.0  # it does not push until the time is over


def test_a_target_out_of_reach_ends_at_the_limits():
    target_m = np.array([0.0, 0.0, 0.595])
    goal = ARM.rest_q
    move = LimbMove(ARM, goal, goal, target_m, 0.005, 30.0, 0.0)
    _, status = run(move, lambda c: 0.9 * ARM.at(goal if c is None else c).tip_m)
    assert status.outcome is Outcome.SATURATED and 'grasper_1_ell' in status.message
    assert status.error_m == pytest.approx(0.595 - 0.9 * 0.6, abs=1e-3)
    assert f'{1e3 * status.error_m:.1f} mm' in status.message


def test_without_a_measured_tip_it_stays_open_loop_and_says_so():
    commands, status = run(make(0.005), lambda _: None)
    assert status.outcome is Outcome.TIMEOUT
    assert 'no pose of the tip' in status.message and 'open loop' in status.message
    assert ARM.at(commands[-1]).tip_m == pytest.approx(ARM.at(TARGET).tip_m, abs=1e-3)
    _, status = run(make(None), lambda _: None)
    assert status.outcome is Outcome.REACHED and status.error_m is None
