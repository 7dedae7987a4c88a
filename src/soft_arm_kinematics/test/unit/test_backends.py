"""Laws of the one definition, for every kind of segment and every backend that derives from it."""

import importlib.util

import numpy as np
import pytest

from soft_arm_kinematics.backends.fast_fk import fk_batch
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.refine import twist_jacobian_batch

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


BACKENDS = {  # poses and Jacobians of an arm at q (..., n)
    'numpy': (lambda arm, x: arm.at(x).tip_pose, lambda arm, x: arm.at(x).twist_jacobian),
    'compiled': (fk_batch, twist_jacobian_batch),
} | {
    device: (
        lambda arm, x, device=device: fk_batch(arm, x, device=device),
        lambda arm, x, device=device: twist_jacobian_batch(arm, x, device),
    )
    for device in devices()
}
each_backend = pytest.mark.parametrize(
    'backend',
    [pytest.param(b, marks=needs_torch if b in ('cpu', 'cuda') else ()) for b in BACKENDS],
)


def random_q(arm, count):
    return np.random.default_rng(0).uniform(*arm.q_limits, (count, arm.n_actuators))


def central_differences(fk, q, steps):
    """Twist of the tip per unit of each coordinate, (m, 6, n), from poses alone."""
    rotation, columns = fk(q)[:, :3, :3], []
    for shift in np.diag(steps):
        rate = (fk(q + shift) - fk(q - shift)) / (2 * np.abs(shift).max())
        spin = rate[:, :3, :3] @ rotation.swapaxes(1, 2)
        columns.append([*rate[:, :3, 3].T, spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]])
    return np.transpose(columns, (2, 1, 0))


@each_backend
def test_jacobians_are_the_slopes_of_the_poses(any_arm, backend):
    fk, jacobian = BACKENDS[backend]
    q = random_q(any_arm, 20)
    steps = 1e-5 * np.diff(any_arm.q_limits, axis=0)[0]
    found = jacobian(any_arm, q)
    numeric = central_differences(lambda x: fk(any_arm, x), q, steps)
    assert np.all(np.abs(found - numeric) <= 1e-6 * np.abs(found).max(axis=(0, 1)))


@each_backend
def test_backends_agree(any_arm, backend):
    fk, jacobian = BACKENDS[backend]
    q = random_q(any_arm, 300).reshape(3, 100, -1)
    if all(segment.closing_twist for segment in any_arm.robot.segments):
        q[0, 0] = any_arm.rest_q  # straight
    assert fk(any_arm, q) == pytest.approx(any_arm.at(q).tip_pose, abs=1e-9)
    plain = any_arm.at(q).twist_jacobian
    assert jacobian(any_arm, q) == pytest.approx(plain, abs=1e-9 * np.abs(plain).max())


@each_backend
def test_poses_and_jacobians_pass_smoothly_through_the_straight_arm(paper_arm, backend):
    """Near zero curvature, both differ from the straight arm by as much as the lengths do."""
    straight_m = np.full(6, 0.12)
    bends_m = 10.0 ** np.arange(-14.0, -5.0)[:, None] * np.array([1.0, -0.4, 0.2, 0.7, -1.0, 0.1])
    for law in BACKENDS[backend]:
        at, near = law(paper_arm, straight_m[None]), law(paper_arm, straight_m + bends_m)
        assert np.all(np.isfinite(near))
        change = np.abs(near - at).max(axis=(1, 2))
        assert np.all(change <= 2e3 * np.abs(bends_m).max(axis=1) + 1e-13)


@needs_torch
@pytest.mark.parametrize('device', ['abacus', 'cuda:99'])
def test_a_device_that_is_not_there_is_said_in_one_line(paper_arm, device):
    with pytest.raises(KinematicsError, match=f"device '{device}'") as caught:
        fk_batch(paper_arm, paper_arm.rest_q, device=device)
    assert '\n' not in str(caught.value)


def test_without_torch_one_line_says_what_to_do(paper_arm, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, 'torch', None)
    monkeypatch.delitem(sys.modules, 'soft_arm_kinematics.backends.torch_batch', raising=False)
    with pytest.raises(KinematicsError, match='needs torch') as caught:
        fk_batch(paper_arm, paper_arm.rest_q, device='cpu')
    assert '\n' not in str(caught.value)
