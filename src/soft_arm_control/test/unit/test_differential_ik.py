import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from soft_arm_control.tip.differential_ik import differential_ik
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import make_arm

ARM = make_arm(load_robot('two_module_arm'))
FREE = np.ones(6, bool)
SECOND = np.array([False, False, False, True, True, True])
shares = st.lists(st.floats(0.2, 0.8), min_size=6, max_size=6).map(np.array)


def lengths(share):
    low, high = ARM.length_limits_m
    return low + share * (high - low)


@settings(max_examples=40)
@given(shares, shares, st.sampled_from([FREE, SECOND]))
def test_reaches_a_nearby_target_and_leaves_held_actuators_alone(share, towards, free):
    start_m = lengths(share)
    goal_m = np.where(free, start_m + 0.1 * (lengths(towards) - start_m), start_m)
    target_m = ARM.at(goal_m).tip_m
    found_m, off_m = differential_ik(
        ARM, start_m, target_m, start_m, ARM.length_limits_m, free, iterations=8
    )
    assert off_m < 2e-4
    assert np.linalg.norm(ARM.at(found_m).tip_m - target_m) == off_m
    assert (found_m[~free] == start_m[~free]).all()


def test_the_null_space_leads_to_the_preferred_lengths():
    start_m = np.array([0.12, 0.11, 0.1, 0.1, 0.11, 0.12])
    preferred_m = np.array([0.1, 0.11, 0.12, 0.12, 0.11, 0.1])
    target_m, found_m = ARM.at(start_m).tip_m, start_m
    for _ in range(60):
        found_m, off_m = differential_ik(
            ARM, found_m, target_m, preferred_m, ARM.length_limits_m, FREE
        )
    assert off_m < 1e-6
    assert np.linalg.norm(found_m - preferred_m) < 0.7 * np.linalg.norm(start_m - preferred_m)


def test_an_unreachable_target_is_approached_and_left_without_windup():
    start_m = lengths(np.full(6, 0.5))
    near_m = ARM.at(start_m).tip_m
    found_m = start_m
    for _ in range(50):
        found_m, off_m = differential_ik(
            ARM, found_m, np.array([0.0, 0.0, 0.6]), start_m, ARM.length_limits_m, FREE
        )
    # Straight and as long as it gets.
    assert abs(off_m - (0.6 - 2 * ARM.length_limits_m[1, 0])) < 1e-3
    for _ in range(5):
        found_m, off_m = differential_ik(ARM, found_m, near_m, start_m, ARM.length_limits_m, FREE)
    assert off_m < 1e-4


@settings(max_examples=25)
@given(shares, st.lists(st.floats(-1, 1), min_size=3, max_size=3))
def test_out_of_reach_the_nearest_point_is_found(share, away):
    limits_m, moving = ARM.length_limits_m, SECOND
    start_m = np.where(moving, lengths(np.full(6, 0.5)), limits_m[0])
    target_m = ARM.at(np.where(moving, lengths(share), limits_m[0])).tip_m + 0.05 * np.array(away)
    found_m = start_m
    for _ in range(40):
        found_m, off_m = differential_ik(ARM, found_m, target_m, found_m, limits_m, moving)
    # No bellows that its limits let move leads nearer.
    slopes = ARM.at(found_m).tip_jacobian.T @ (ARM.at(found_m).tip_m - target_m) / max(off_m, 1e-3)
    can_shorten, can_lengthen = found_m > limits_m[0] + 1e-6, found_m < limits_m[1] - 1e-6
    assert (slopes[moving & can_shorten] < 0.02).all()
    assert (slopes[moving & can_lengthen] > -0.02).all()
