"""The torch path against the compiled one; needs torch, which only training installs (requirements/train.in)."""

import importlib.util

import numpy as np
import pytest

from soft_arm_kinematics.arm import BellowsArm
from soft_arm_kinematics.backends.fast_fk import fk_batch
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.refine import refine, twist_jacobian_batch

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
