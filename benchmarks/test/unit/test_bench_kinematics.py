import json

import pytest

from soft_arm_benchmarks import bench_kinematics
from soft_arm_benchmarks.kinematics import contact, inverse, speed


def test_every_figure_with_a_limit_is_measured(monkeypatch, capsys):
    """A small run of the whole command; its figures depend on the load of the machine."""
    monkeypatch.setattr(speed, 'POSES', 2000)
    monkeypatch.setattr(speed, 'NUMPY_POSES', 500)
    monkeypatch.setattr(speed, 'TABLE_POINTS', 2000)
    monkeypatch.setattr(inverse, 'table_5', lambda arm: [])
    names = (name for name in bench_kinematics.LIMITS if name.startswith('contact_'))
    fixed = dict.fromkeys(names, 0.0)  # test_bench_contact.py measures them
    monkeypatch.setattr(contact, 'contact_figures', lambda rng: fixed)
    status = bench_kinematics.main(['--json', '--targets', '100', '--exhaustive', '1'])
    figures = json.loads(capsys.readouterr().out)
    assert status in (0, 1) and set(bench_kinematics.LIMITS) <= set(figures)
    assert figures['ik_success'] == 1.0
    assert figures['modal_resolved_rate_error_m'] == pytest.approx(0.0, abs=0.0326e-3)
