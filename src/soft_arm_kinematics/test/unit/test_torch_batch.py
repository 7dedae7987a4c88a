"""The torch path against the compiled one; needs torch, which only training installs (requirements/train.in)."""

import importlib.util

import numpy as np
import pytest

from soft_arm_kinematics.arm import BellowsArm
from soft_arm_kinematics.backends.fast_fk import fk_batch
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.refine import refine, refine_each, twist_jacobian_batch

HAS_TORCH = importlib.util.find_spec('torch') is not None
needs_torch = pytest.mark.skipif(
    not HAS_TORCH, reason='torch is not installed: pip install -r requirements/train.in'
)


def devices():
    if not HAS_TORCH:
        return ['cpu']
    import torch

    torch.set_num_threads(1)  # small tensors: more would wait for each other
    return ['cpu', 'cuda'] if torch.cuda.is_available() else ['cpu']


@pytest.fixture(params=devices())
def device(request):
    return request.param


def random_actuation(arm, count, seed=0):
    return np.random.default_rng(seed).uniform(*arm.actuation_limits, (count, arm.n_actuators))


@needs_torch
def test_poses_and_jacobians_equal_the_compiled_ones(any_arm, device):
    actuation = random_actuation(any_arm, 300).reshape(3, 100, -1)
    if isinstance(any_arm, BellowsArm) and all(any_arm.closing_twists):
        actuation[0, 0] = any_arm.rest_actuation  # straight
    assert fk_batch(any_arm, actuation, device=device) == pytest.approx(
        fk_batch(any_arm, actuation), abs=1e-9
    )
    compiled = twist_jacobian_batch(any_arm, actuation)
    assert twist_jacobian_batch(any_arm, actuation, device=device) == pytest.approx(
        compiled, abs=1e-9 * np.abs(compiled).max()
    )


@needs_torch
def test_open_twist_and_straight_arms(arm, device):
    lengths_m = random_actuation(arm, 50)
    assert fk_batch(arm, lengths_m, device=device) == pytest.approx(arm.fk(lengths_m), abs=1e-12)
    jacobians = arm.twist_jacobian(lengths_m)
    assert twist_jacobian_batch(arm, lengths_m, device=device) == pytest.approx(
        jacobians, abs=1e-9 * np.abs(jacobians).max()
    )


@needs_torch
@pytest.mark.parametrize('with_axis', [False, True])
def test_refinement_ends_where_the_compiled_one_does(paper_arm, device, with_axis):
    low, high = paper_arm.actuation_limits
    goal = paper_arm.fk(
        low + 0.5 * (high - low) + 0.2 * (high - low) * np.array([1, -1, 0.5, -0.5, 1, 0])
    )
    starts, axis = random_actuation(paper_arm, 200, 1), goal[:3, 2] if with_axis else None
    compiled, residuals_m, _ = refine(paper_arm, starts, goal[:3, 3], axis)
    found, torch_residuals_m, axis_errors_rad = refine(paper_arm, starts, goal[:3, 3], axis, device)
    arrived = residuals_m < 1e-9
    assert arrived.mean() > 0.5 and np.array_equal(arrived, torch_residuals_m < 1e-9)
    assert paper_arm.fk(found[arrived])[:, :3, 3] == pytest.approx(
        paper_arm.fk(compiled[arrived])[:, :3, 3], abs=1e-9
    )
    apart_m = np.abs(found - compiled)[arrived].max(
        axis=1
    )  # 1e-9 of the tip's last step may be ten times that of a length
    assert np.quantile(apart_m, 0.95) <= 1e-9 and apart_m.max() <= 1e-7
    assert np.all((found >= low) & (found <= high)) and axis_errors_rad[arrived].max() < 1e-8


@needs_torch
def test_each_to_a_target_of_its_own(any_arm, device):
    goals, low_high = random_actuation(any_arm, 60, 2), any_arm.actuation_limits
    starts = np.clip(
        goals
        + 0.05 * np.diff(low_high, axis=0) * np.random.default_rng(3).standard_normal(goals.shape),
        *low_high,
    )
    targets_m = any_arm.fk(goals)[:, :3, 3]
    compiled, residuals_m = refine_each(any_arm, starts, targets_m)
    found, torch_residuals_m = refine_each(any_arm, starts, targets_m, device)
    arrived = residuals_m < 1e-9
    assert arrived.mean() > 0.5
    assert torch_residuals_m[arrived].max() < 1e-8
    assert np.linalg.norm(any_arm.fk(found)[:, :3, 3] - targets_m, axis=1) == pytest.approx(
        torch_residuals_m, abs=1e-12
    )
    ranges = np.diff(low_high, axis=0)[0]
    assert found[arrived] / ranges == pytest.approx(compiled[arrived] / ranges, abs=1e-6)


@needs_torch
@pytest.mark.parametrize('device', ['abacus', 'cuda:99'])
def test_a_device_that_is_not_there_is_said_in_one_line(paper_arm, device):
    with pytest.raises(KinematicsError, match=f"device '{device}'") as caught:
        fk_batch(paper_arm, paper_arm.rest_actuation, device=device)
    assert '\n' not in str(caught.value)


def test_without_torch_one_line_says_what_to_do(paper_arm, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, 'torch', None)
    monkeypatch.delitem(sys.modules, 'soft_arm_kinematics.backends.torch_batch', raising=False)
    with pytest.raises(KinematicsError, match='requirements/train.in') as caught:
        fk_batch(paper_arm, paper_arm.rest_actuation, device='cpu')
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    'starts, target_m',
    [
        (np.zeros(6), np.zeros(3)),
        (np.zeros((2, 5)), np.zeros(3)),
        (np.full((1, 6), 0.1), [0, 0, np.nan]),
    ],
)
def test_bad_starts_and_targets_are_refused(paper_arm, starts, target_m):
    with pytest.raises(KinematicsError):
        refine(paper_arm, starts, target_m)
