import numpy as np
import pytest

from soft_arm_control.errors import GoalError, OutsideWorkspaceError
from soft_arm_control.tip.goal import Goal
from soft_arm_control.tip.goal_planning import plan
from soft_arm_control.tip.loaded_arm import LoadedArm

PRESENT = np.array([0.07, 0.07, 0.07, 0.1, 0.11, 0.12])


def make(arm, points_m, lengths_m=None, times_s=(0.0,), held=(), open_loop=False, **options):
    return plan(
        arm,
        list(points_m),
        lengths_m or [[]] * len(points_m),
        times_s,
        list(held),
        PRESENT,
        1e-3,
        5.0,
        open_loop,
        **options,
    )


def test_lengths_reach_the_points_one_from_the_other(arm):
    points_m = [arm.at(PRESENT + shift).tip_m for shift in (0.0, 0.01, 0.02)]
    goal = make(arm, points_m, times_s=[0.0, 1.0, 2.0])
    tips_m = [LoadedArm(arm).at(lengths_m).tip_m for lengths_m in goal.lengths_m]
    assert np.linalg.norm(np.subtract(tips_m, points_m), axis=1).max() < 1e-4


@pytest.mark.parametrize('scaling', [0.0, 1.2, np.nan])
def test_a_velocity_scaling_that_is_no_share_is_refused(arm, scaling):
    with pytest.raises(GoalError, match='velocity_scaling'):
        make(arm, [arm.at(PRESENT).tip_m], velocity_scaling=scaling)


def test_held_segments_stay(arm):
    wanted_m = PRESENT + [0, 0, 0, 0.01, 0.02, 0.0]
    goal = make(arm, [LoadedArm(arm).at(wanted_m).tip_m], held=['module_1'])
    assert goal.lengths_m[0, :3] == pytest.approx(PRESENT[:3], abs=1e-12)
    assert goal.lengths_m[0, 3:] == pytest.approx(wanted_m[3:], abs=1e-4)
    assert goal.free.tolist() == [False] * 3 + [True] * 3


@pytest.mark.parametrize('open_loop', [False, True])
def test_a_heavier_load_needs_other_lengths(arm, open_loop):
    point_m = LoadedArm(arm, 0.4).at(PRESENT + 0.01).tip_m
    goal = make(arm, [point_m], open_loop=open_loop, payload_kg=0.4)
    assert np.linalg.norm(LoadedArm(arm, 0.4).at(goal.lengths_m[0]).tip_m - point_m) < 1e-4
    assert np.linalg.norm(LoadedArm(arm).at(goal.lengths_m[0]).tip_m - point_m) > 3e-3


@pytest.mark.parametrize('payload_kg', [-0.1, np.nan, np.inf, 11.0])
def test_a_payload_that_is_no_mass_is_refused(arm, payload_kg):
    with pytest.raises(GoalError, match='give a mass from 0 to 10 kg'):
        make(arm, [[0.0, 0.0, 0.2]], payload_kg=payload_kg)


def test_given_lengths_are_taken_as_they_are_in_open_loop(arm):
    given = [0.08, 0.09, 0.1, 0.11, 0.12, 0.13]
    goal = make(arm, [arm.at(np.array(given)).tip_m + 0.002], [given], open_loop=True)
    assert goal.lengths_m[0].tolist() == given


@pytest.mark.parametrize(
    ('change', 'match'),
    [
        ({'points_m': [[np.nan, 0, 0]]}, 'finite'),
        ({'points_m': []}, 'at least 1'),
        ({'points_m': [[0.0, -1e308, 0.2]]}, 'limit 10 m'),
        ({'held': ['module_7']}, 'module_7'),
        ({'held': ['module_1', 'module_2']}, 'free'),
        ({'lengths_m': [[0.1, 0.1]]}, '6 finite lengths'),
        ({'lengths_m': [[0.1] * 5 + [0.3]]}, r'm2_b3 is 300\.00 mm, limits 70\.00 \.\. 195\.00 mm'),
        ({'points_m': [[0, 0, 0.2]] * 2, 'times_s': [1.0, 1.0]}, 'increasing'),
        ({'times_s': [0.0, 1.0]}, '1 waypoints and 2 times_s'),
    ],
)
def test_bad_requests_get_one_line(arm, change, match):
    with pytest.raises(GoalError, match=match) as error:
        make(arm, **{'points_m': [[0.0, 0.0, 0.2]], **change})
    assert '\n' not in str(error.value)


def test_a_target_outside_the_workspace_says_how_far(arm):
    longest_m = LoadedArm(arm).at(arm.length_limits_m[1]).tip_m[2]
    with pytest.raises(OutsideWorkspaceError, match=rf'stays {1e3 * (0.5 - longest_m):.0f}\.'):
        make(arm, [[0.0, 0.0, 0.5]])


def test_a_path_is_straight_between_waypoints_and_stays_at_its_ends():
    goal = Goal(
        np.array([[0, 0, 0], [1, 2, 4.0]]),
        np.zeros((2, 6)),
        np.array([1.0, 3.0]),
        np.ones(6, bool),
        1e-3,
        1.0,
    )
    assert goal.at(0.0)[0].tolist() == [0, 0, 0]
    assert goal.at(1.5)[0].tolist() == [0.25, 0.5, 1.0]
    assert goal.at(9.0)[0].tolist() == [1, 2, 4]
    assert [goal.waypoint(t) for t in (0.0, 1.5, 9.0)] == [0, 1, 1]
