import json

import pytest

from soft_arm_experiments.cli import bench_kinematics
from soft_arm_experiments.kinematics import contact, inverse, speed


def test_every_promised_figure_is_measured(monkeypatch, capsys):
    """A small run of the whole command; what it reports on a busy machine is not judged here."""
    monkeypatch.setattr(speed, 'POSES', 2000)
    monkeypatch.setattr(speed, 'NUMPY_POSES', 500)
    monkeypatch.setattr(speed, 'TABLE_POINTS', 2000)
    monkeypatch.setattr(inverse, 'table_5', lambda arm: [])
    names = (name for name in bench_kinematics.PROMISES if name.startswith('contact_'))
    told = dict.fromkeys(names, 0.0)  # test_bench_contact.py measures them
    monkeypatch.setattr(contact, 'contact_figures', lambda rng: told)
    status = bench_kinematics.main(['--json', '--targets', '100', '--exhaustive', '1'])
    figures = json.loads(capsys.readouterr().out)
    assert status in (0, 1) and set(bench_kinematics.PROMISES) <= set(figures)
    assert figures['ik_success'] == 1.0
    assert figures['modal_resolved_rate_error_m'] == pytest.approx(0.0, abs=0.0326e-3)
