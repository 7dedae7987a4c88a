"""Jacobians of every segment kind against complex steps through an independent model."""

import numpy as np
import pytest

from soft_arm_benchmarks.kinematics.complex_model import (
    bends_and_ends,
    complex_step_twist_jacobian,
)
from soft_arm_benchmarks.kinematics.speed import complex_step_error
from soft_arm_description.robot import Robot, load_robot, shipped_robots
from soft_arm_kinematics.arm import make_arm
from soft_arm_kinematics.ik.refine import twist_jacobian_batch


def bellows_arm(segments, closing_twist, rigid_length_m, angles_deg):
    robot = load_robot('two_module_arm').model_dump(mode='json')
    first = robot['segments'][0] | {
        'closing_twist': closing_twist,
        'rigid_length_m': rigid_length_m,
    }
    robot['segments'], robot['channels'] = [], {}
    for i in range(segments):
        names = [f's{i}_b{j}' for j in range(len(angles_deg))]
        actuators = first['actuators'] | {'names': names, 'angles_deg': angles_deg}
        robot['segments'].append(first | {'name': f's{i}', 'actuators': actuators})
        robot['channels'] |= {name: len(robot['channels']) + j for j, name in enumerate(names)}
    return make_arm(Robot.model_validate(robot))


TWISTED = [(1, True, 0.0, [90, 210, 330]), (3, True, 0.02, [10, 100, 190, 280])]
LAYOUTS = [*TWISTED, (2, False, 0.012, [90, 210, 330])]


@pytest.fixture(params=sorted(shipped_robots()))
def any_arm(request):
    return make_arm(load_robot(request.param))


def random_q(arm, count, seed=0):
    return np.random.default_rng(seed).uniform(*arm.q_limits, (count, arm.n_actuators))


def test_second_model_agrees_with_every_kind(any_arm):
    q = random_q(any_arm, 40)
    bends, poses = bends_and_ends(any_arm, q)
    assert poses == pytest.approx(any_arm.at(q).tip_pose, abs=1e-13)
    assert bends == pytest.approx(any_arm.at(q).arcs[..., :2], abs=1e-13)


def test_jacobians_of_every_kind_by_complex_steps(any_arm):
    # Zero bend and its neighbourhood included; the bound asked for is 1e-6.
    assert complex_step_error(any_arm, 80) < 1e-9


@pytest.mark.parametrize('layout', LAYOUTS)
def test_jacobians_of_every_layout_by_complex_steps(layout):
    """Three and four bellows, one to three segments, both closing-twist conventions, rigid ends."""
    assert complex_step_error(bellows_arm(*layout), 80) < 1e-9


@pytest.mark.parametrize('layout', TWISTED)
def test_zero_bend_exactly(layout):
    """Only with the closing twist: without it bellows have no derivative at zero bend."""
    arm = bellows_arm(*layout)
    straight_m = np.full(arm.n_actuators, 0.11)
    reference = complex_step_twist_jacobian(arm, straight_m)
    assert arm.at(straight_m).twist_jacobian == pytest.approx(
        reference, abs=1e-13 * np.abs(reference).max()
    )
    assert twist_jacobian_batch(arm, straight_m) == pytest.approx(
        reference, abs=1e-13 * np.abs(reference).max()
    )
