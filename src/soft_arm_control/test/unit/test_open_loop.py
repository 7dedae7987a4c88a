import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soft_arm_control.outcome import Outcome
from soft_arm_control.tip.open_loop import SPEED_M_S, SPEED_RAD_S, OpenLoopMove
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import Arm

ARM = Arm(load_robot('squid_grasper'))
PERIOD_S = 0.02


def inside(share):
    low, high = ARM.actuation_limits
    return low + share * (high - low)


actuations = st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6).map(
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


@given(actuations, actuations)
def test_the_way_is_slow_inside_the_limits_and_ends_at_the_goal(start, goal):
    move = OpenLoopMove(ARM, start, goal, ARM.tip(goal), None, 1.0, 0.0)
    commands, status = run(move, lambda _: None)
    assert status.outcome is Outcome.REACHED
    assert ARM.tip(commands[0]) == pytest.approx(ARM.tip(start), abs=1e-9)
    assert ARM.tip(commands[-1]) == pytest.approx(ARM.tip(goal), abs=1e-9)
    low, high = ARM.actuation_limits
    assert ((commands >= low - 1e-9) & (commands <= high + 1e-9)).all()
    rates = np.abs(np.diff(bends(commands), axis=0)).max(axis=(0, 1)) / PERIOD_S
    # the fastest moment of the smooth way is 1.875 times the mean
    assert (rates <= 1.9 * np.array([SPEED_RAD_S, SPEED_RAD_S, SPEED_M_S])).all()


def make(tolerance_m):
    goal = np.array([0.5, 0.3, 0.295, -0.4, 0.1, 0.295])
    target_m = ARM.tip(goal)
    return OpenLoopMove(
        ARM, ARM.rest_actuation, goal, target_m, tolerance_m, 2.0, 0.0
    ), target_m + [0.0, 0.0, 0.02]


def test_the_measured_tip_decides():
    move, tip_m = make(0.03)
    _, status = run(move, lambda _: tip_m)
    assert status.outcome is Outcome.REACHED and status.error_m == pytest.approx(0.02)
    assert status.settle_s == pytest.approx(move.duration_s, abs=0.05)
    move, tip_m = make(0.01)
    _, status = run(move, lambda _: tip_m)
    assert status.outcome is Outcome.TIMEOUT
    assert 'tip is 20.0 mm' in status.message and 'tolerance 10.0 mm' in status.message
    assert status.elapsed_s == pytest.approx(move.duration_s + 2.0, abs=0.05)


def test_without_a_measured_tip_only_an_open_loop_goal_is_reached():
    _, status = run(make(0.03)[0], lambda _: None)
    assert status.outcome is Outcome.TIMEOUT and 'no pose of the tip' in status.message
    _, status = run(make(None)[0], lambda _: None)
    assert status.outcome is Outcome.REACHED and status.error_m is None
