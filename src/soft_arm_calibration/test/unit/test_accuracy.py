"""Errors normalised by their covariance have the figures of the chi-square distribution."""

import numpy as np
import pytest
from scipy import stats

from soft_arm_calibration.bags.accuracy import AxisPose, pose_errors


def test_a_right_covariance_gives_mean_and_median_of_chi_square():
    rng = np.random.default_rng(0)
    root = 1e-3 * np.tril(rng.normal(size=(6, 6)))
    poses = [
        AxisPose(1e-3 * at, np.array([0.0, 0.0, 1.0]), root @ root.T)
        for at in rng.normal(size=(4000, 3)) @ (1e3 * root[:3, :3]).T
    ]
    found = pose_errors(poses, [np.eye(4)] * len(poses)).summary()
    assert found['normalised_mean'] == pytest.approx(3.0, rel=0.05)
    assert found['normalised_median'] == pytest.approx(stats.chi2(3).median(), rel=0.05)


def test_no_pose_has_no_figures():
    assert pose_errors([], []).summary()['normalised_median'] is None
