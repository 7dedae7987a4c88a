import warnings

import pytest

from soft_arm_description.robot import load_robot
from soft_arm_experiments.vision import cylinder_bench
from soft_arm_vision.errors import VisionError


def test_no_pcl_is_null(monkeypatch, tmp_path):
    monkeypatch.setenv('PCL_ROOT', str(tmp_path))
    result = cylinder_bench.fit_alone(1, load_robot('two_module_arm').ring)
    assert result['fit_ratio_pcl'] is None and result['pcl_off_axis_mean_m'] is None
    assert 0 < result['fit_off_axis_mean_m'] < 1e-3


def test_pcl_that_does_not_compile_says_so(monkeypatch, tmp_path):
    (tmp_path / 'include/pcl-1.0').mkdir(parents=True)
    monkeypatch.setenv('PCL_ROOT', str(tmp_path))
    with pytest.raises(VisionError, match=r'pcl-1\.0 cannot be used'):
        cylinder_bench.compile_pcl(tmp_path)


def test_pcl_beside_ours(monkeypatch):
    monkeypatch.setattr(cylinder_bench, 'PYRANSAC3D_FITS', 0)
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # of a PCL that does not compile
        result = cylinder_bench.fit_alone(2, load_robot('two_module_arm').ring)
    if result['fit_ratio_pcl'] is None:
        pytest.skip('PCL or a C++ compiler is not installed')
    assert result['fit_ratio_pcl'] > result['fit_ratio_pcl_without_normals'] > 0
    assert 0 < result['pcl_off_axis_mean_m'] < 0.02


def test_bench_goes_on_without_a_pcl_that_does_not_compile(monkeypatch, tmp_path):
    (tmp_path / 'include/pcl-1.0').mkdir(parents=True)
    monkeypatch.setenv('PCL_ROOT', str(tmp_path))
    monkeypatch.setattr(cylinder_bench, 'PYRANSAC3D_FITS', 0)
    with pytest.warns(UserWarning, match='figures are left out'):
        assert (
            cylinder_bench.fit_alone(1, load_robot('two_module_arm').ring)['fit_ratio_pcl'] is None
        )
