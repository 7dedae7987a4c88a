import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from soft_arm_kinematics.segments.section_fit import values_through
from soft_arm_kinematics.segments.sections import arc_sections, chain_transforms

COUNT = 10


@given(st.floats(-2.5, 2.5), st.floats(-3.1, 3.1), st.floats(0.1, 0.6))
def test_sections_through_an_arc_have_its_ends_and_its_tip(theta, phi, ell):
    poses = chain_transforms(arc_sections(theta, phi, ell, COUNT))
    values, T_end = values_through(np.eye(4), poses[1:-1, :3, 3], poses[-1])
    assert chain_transforms(values)[:, :3, 3] == pytest.approx(poses[:, :3, 3], abs=1e-9)
    assert chain_transforms(values)[-1] == pytest.approx(poses[-1], abs=1e-9)
    assert T_end == pytest.approx(poses[-1], abs=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_sections_end_at_any_points_from_any_start(seed):
    rng, start, end = np.random.default_rng(seed), np.eye(4), np.eye(4)
    start[:3, :3], start[:3, 3] = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    steps = np.column_stack([rng.normal(0.0, 0.03, (COUNT, 2)), rng.uniform(0.05, 0.1, COUNT)])
    points = start[:3, 3] + np.cumsum(steps, axis=0) @ start[:3, :3].T
    end[:3, :3], end[:3, 3] = start[:3, :3], points[-1]
    values, T_end = values_through(start, points, end)
    ends = start @ chain_transforms(values)
    assert ends[1:-1, :3, 3] == pytest.approx(points, abs=1e-9)
    assert ends[-1] == pytest.approx(T_end, abs=1e-9)
    turns = values[:-2].reshape(-1, 3)[:, 0]
    assert (np.abs(turns) <= np.pi / 2).all()
